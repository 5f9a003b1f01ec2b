"""This client as `lopub audit` runs one: `python -m lopub.cli.responding campaign.json`.

One JSON record per line in, each that of a new respondent with an empty store; one report in hexadecimal per line out. The JSON
text "again" in place of a record asks for the last respondent's report once more.
"""

import json
import sys

from lopub.campaign.campaign import Campaign
from lopub.client.client import Client
from lopub.client.store import MemoryStore


def main(path: str) -> None:
    """Answer every line of standard input."""
    campaign = Campaign.load(path)
    client, record = Client(campaign, store=MemoryStore()), {}
    for line in sys.stdin:
        if (said := json.loads(line)) != "again":
            client, record = Client(campaign, store=MemoryStore()), said
        sys.stdout.write(client.encode(record).to_bytes().hex() + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
