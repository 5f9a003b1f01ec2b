"""Time and memory of a publication of 1,000,000 `subset` reports of Adult at epsilon 4, in every way that leads to it.

Each way is a process of its own: from a file of reports to all files of the publication, as many records as reports, what was
loaded included. The files are the same bytes. `python benchmarks/publishing.py [--keep DIRECTORY]`; needs LOPUB_DATA. Results:
benchmarks/results/publishing.csv. What pandas takes is in it where pandas is installed, because pyarrow then loads it.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from lopub import CampaignRequest, Dataset, Terms, make_campaign, simulate
from lopub.reports.catalogue import public_table

N_REPORTS, EPSILON, MOST_MB = 1_000_000, 4, 500
RESULTS = Path(__file__).parent / "results" / "publishing.csv"
WAYS = {
    "Python, all reports in memory": """
from lopub import ReportBatch, publish
publish(ReportBatch.load(reports)).save(out)
""",
    "Python, counted in parts": """
from lopub import publish
from lopub.reports.engines import FileSource, LocalEngine, count_source
publish(count_source(FileSource([Path(reports)]), LocalEngine())).save(out)
""",
    "command line": """
from lopub.cli import run
sys.argv = ["lopub", "publish", reports, "-o", out]
try:
    run()
except SystemExit as end:
    assert not end.code
""",
}
MEASURED = """
import json, resource, sys, time
from pathlib import Path
reports, out = sys.argv[1:]
{work}
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(dict(wall=time.perf_counter() - BEGAN, cpu=own.ru_utime + own.ru_stime, mb=own.ru_maxrss / 1024)))
"""


def write_reports(path: Path) -> None:
    table = public_table("adult")
    people = Dataset(
        table.domain, table.codes[np.random.default_rng(1).integers(0, len(table), N_REPORTS)]
    )
    request = CampaignRequest(epsilon=EPSILON, mechanism="subset")
    simulate(people, make_campaign(people.domain, Terms(name="accuracy"), request), seed=1).save(
        path
    )


def measured(work: str, reports: Path, out: Path) -> dict[str, float | str]:
    script = "import time\nBEGAN = time.perf_counter()\n" + MEASURED.format(work=work)
    command = [sys.executable, "-c", script, str(reports), str(out)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    manifest = hashlib.sha256(
        (out / "manifest.json").read_bytes()
    ).hexdigest()  # which has the hashes of all other files
    return json.loads(done.stdout.splitlines()[-1]) | {"manifest": manifest}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reports = (asked.keep or Path(folder)) / "publishing.parquet"
        if not reports.exists():
            write_reports(reports)
        rows = [
            {"way": way} | measured(work, reports, Path(folder) / way) for way, work in WAYS.items()
        ]
    print(
        f"{N_REPORTS:,} subset reports of Adult, epsilon {EPSILON}, to all files (asked: at most {MOST_MB} MB)"
    )
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["way", "reports", "rows", "wall_s", "processor_s", "peak_mb"])
        for row in rows:
            same = row["manifest"] == rows[0]["manifest"]
            wall, cpu, peak = f"{row['wall']:.1f}", f"{row['cpu']:.1f}", f"{row['mb']:.0f}"
            print(
                f"  {row['way']:>30}: {wall} s, {cpu} s of processor, {peak} MB, the same files: {same}",
                flush=True,
            )
            writer.writerow([row["way"], N_REPORTS, N_REPORTS, wall, cpu, peak])


if __name__ == "__main__":
    main()
