"""An app that takes part in a campaign. The standard library and lopub's client; no other package.

python app.py URL, where URL is what `lopub collect open` prints, at a collector.
"""

import sys

from lopub import Campaign, Client, FileStore, LopubError

EPSILON_CAP, LIFETIME_CAP = 4, 10
"""What the app's users agreed to: of one campaign, and of all together."""


def settings() -> dict[str, object]:
    """What the app knows about its user."""
    return {"theme": "dark", "crashed": False}


def main(url: str) -> str:
    try:
        client = Client(
            Campaign.load(
                "campaign.json"
            ),  # shipped; fetch_campaign(url) gets it from the collector
            epsilon_cap=EPSILON_CAP,
            lifetime_cap=LIFETIME_CAP,
            store=FileStore("reports"),
        )
        outcome = client.contribute(settings(), url, patience=5)  # drawn once, whatever comes later
    except LopubError as error:  # one sentence; of a DomainError for the user alone, and for no log
        return str(error)
    if outcome.fate == "waiting":
        return "the report is kept; it will be sent another time"
    return f"{outcome.fate} {outcome.why}".strip()


if __name__ == "__main__":
    print(main(sys.argv[1]))
