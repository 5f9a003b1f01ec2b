"""A long run: mixed traffic, withdrawals and retention for an hour, and whether memory, handles and counts stay as they should.

`python tests/long_run.py [--minutes M] [--database URL]`; not part of any gate. Prints one line per minute, and at the end
the slope of memory and handles after the first sixth of the time, and whether the counts are exact. Exits with 1 if not.
"""

import argparse
import hashlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import load
from lopub.contract.report import base64url, unframed
from servers import Running, running_collector

CAMPAIGN = load.campaign("long-run")
PER_ROUND = 20_000


def memory(collector: Running) -> float:
    """In megabytes."""
    lines = Path(f"/proc/{collector.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def handles(collector: Running) -> int:
    return len(os.listdir(f"/proc/{collector.process.pid}/fd"))


def withdraw_one(collector: Running, body: bytes) -> bytes:
    """The name of a report that was withdrawn."""
    report = next(iter(unframed(body)))
    said = f'{{"id": "{base64url(report[9:25])}"}}'
    answer = collector.ask("POST", f"/campaigns/{CAMPAIGN.id}/withdrawals", said, Content_Type="application/json")
    assert answer.status == 204, answer
    return hashlib.sha256(report[9:25]).digest()


def slope(values: list[float]) -> float:
    """By the minute, after the first sixth."""
    late = values[len(values) // 6 :]
    return statistics.linear_regression(range(len(late)), late).slope if len(late) > 2 else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--database")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        database = asked.database or f"sqlite:///{directory}/lopub.db"
        load.opened(database, CAMPAIGN)
        sizes, open_files, sent, withdrawn = list[float](), list[float](), 0, set[bytes]()
        with running_collector(database) as collector:
            until, seed = time.monotonic() + 60 * asked.minutes, 0
            next_line = 0.0
            while time.monotonic() < until:
                seed += 1
                bodies = load.bodies_of(load.population(CAMPAIGN, PER_ROUND, seed=seed))
                load.uploaded(collector.port, CAMPAIGN, [*bodies, *bodies[:5]])  # some of them twice
                collector.ask("POST", f"/campaigns/{CAMPAIGN.id}/reports", b"nonsense", Content_Type=load.FRAMED_TYPE)
                withdrawn.add(withdraw_one(collector, bodies[0]))
                sent += PER_ROUND
                if time.monotonic() >= next_line:
                    next_line = time.monotonic() + min(60, 6 * asked.minutes)
                    sizes.append(memory(collector))
                    open_files.append(handles(collector))
                    print(f"{sent:,} reports, {sizes[-1]:.1f} MB, {open_files[-1]:.0f} handles", flush=True)
            errors = [line for line in collector.errors if '"level": "error"' in line]
        kept = len(load.kept_rows(database, CAMPAIGN))
    print(f"slopes: {slope(sizes):+.3f} MB and {slope(open_files):+.3f} handles per line; {len(errors)} errors in the log")
    print(f"{sent:,} sent, {len(withdrawn):,} withdrawn, {kept:,} kept")
    return 0 if kept == sent - len(withdrawn) and not errors else 1


if __name__ == "__main__":
    sys.exit(main())
