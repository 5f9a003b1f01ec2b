"""How many records a second the browser client encodes, in Node on one core: the campaigns of benchmarks/client.py."""

import json
import subprocess
import tempfile
from pathlib import Path

from client import SIZES, adult_shaped
from lopub import CampaignRequest, Terms, make_campaign

SCRIPT = Path(__file__).parents[1] / "clients" / "js" / "test" / "bench.mjs"
N_RECORDS = 3_000
REQUESTS = {
    "the default for epsilon 4": CampaignRequest(epsilon=4),
    "bloom, m=128 h=4 f=0.5, all attributes": CampaignRequest(flip_probability=0.5),
    "direct, fill, jointly, epsilon 8": CampaignRequest(epsilon=8),
    "unary (optimized), sample:2, jointly, epsilon 4": CampaignRequest(epsilon=4, mechanism="unary"),
}


def main() -> None:
    record = {f"a{i}": f"v{n // 2}" for i, n in enumerate(SIZES)}
    print(f"browser client: records encoded a second on one core ({N_RECORDS:,} records, best of 3; asked: 2,000 by default)")
    with tempfile.TemporaryDirectory() as folder:
        for name, request in REQUESTS.items():
            path = Path(folder) / "campaign.json"
            path.write_bytes(make_campaign(adult_shaped(), Terms(name="bench"), request).canonical_bytes)
            done = subprocess.run(
                ["node", SCRIPT, str(N_RECORDS), path], input=json.dumps(record), capture_output=True, text=True, check=True
            )
            print(f"  {name:<50} {float(done.stdout):>10,.0f}")


if __name__ == "__main__":
    main()
