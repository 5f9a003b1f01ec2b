"""An app that takes part in a campaign. The standard library and lopub's client; no other package.

python app.py URL, where URL is what `lopub collect open` prints, at a collector.
"""

import sys

from lopub import Campaign, Client, CollectorError, FileStore, Patience, ReportRejected, TryLater

EPSILON_CAP, LIFETIME_CAP = (
    4,
    10,
)  # what the app's users agreed to: of one campaign, and of all together


def settings() -> dict[str, object]:
    """What the app knows about its user."""
    return {"theme": "dark", "crashed": False}


def main(url: str) -> str:
    campaign = Campaign.load(
        "campaign.json"
    )  # shipped with the app; fetch_campaign(url) gets it from the collector
    client = Client(
        campaign, epsilon_cap=EPSILON_CAP, lifetime_cap=LIFETIME_CAP, store=FileStore("reports")
    )
    client.encode(
        settings()
    )  # drawn once; afterwards the kept report, whatever the settings are then
    try:
        client.send(url, patience=Patience(seconds=5))
    except TryLater:  # a CollectorError, so it comes first
        return "the report is kept; it will be sent another time"
    except ReportRejected as refusal:
        return f"the collector refuses the report: {refusal.reason}"
    except CollectorError:
        return "the collector refuses the request; is the campaign still open?"
    return "sent"


if __name__ == "__main__":
    print(main(sys.argv[1]))
