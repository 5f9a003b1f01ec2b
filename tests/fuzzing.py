"""Fuzzing of everything that reads what strangers wrote: no crash, no hang, none but LoPub's own refusals.

`python tests/fuzzing.py TARGET … [--runs N] [--corpus DIRECTORY]` (or `all`); `pip install 'lopub[fuzz]'` first. An input that
takes more than a second is a failure, as is any exception but LopubError. With a corpus that is kept, the next run goes on where
the last one ended. `costly` needs no fuzzer: it takes valid campaigns and makes every number
in them huge and every list long, which a fuzzer of bytes does not find. Part of `make test-full`.
"""

import argparse
import contextlib
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
if __name__ == "__main__":  # not where a test run merely looks for examples in this file
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # what is watched cannot be compiled

READERS = [
    *(
        "lopub.campaign",
        "lopub.questionnaire.xlsform",
        "lopub.questionnaire.xlsx",
        "lopub.questionnaire.relevant",
        "lopub.queries.expressions",
    ),
    *(
        "lopub.reports.batch.report_files",
        "lopub.reports.batch.framed",
        "lopub.reports.counts.count_files",
    ),
]
"""What is watched."""
try:
    import atheris

    watched: Any = atheris.instrument_imports(include=READERS)
except ImportError:  # `costly` needs none
    watched = contextlib.nullcontext()

with contextlib.suppress(ImportError):
    import openpyxl  # noqa: F401  # or the first form would pay for it

with watched:
    import fakes
    import hostile_xlsx
    from lopub import Campaign, LopubError, Report, ReportBatch
    from lopub.campaign.report import unframed
    from lopub.queries.expressions import parsed
    from lopub.questionnaire.xlsform import draft_from_xlsform
    from lopub.reports.batch.report_files import framed_bytes, load_reports
    from lopub.reports.counts.count_files import load_counts

CAMPAIGN = fakes.campaign("unary, sample:2, jointly")
SLOW_SECONDS = 1
"""Of the processor's time: a busy machine makes everything slow."""
ENDLESS_SECONDS = 10
"""By the clock: what waits instead of computing."""
EXTREMES = (0, 1, -1, 2**31, 2**53, 2**63, 10**30, 0.5, "x" * 100_000, None, [], {})


def _frames(data: bytes) -> None:
    for report in unframed(data):
        Report.from_bytes(report, CAMPAIGN)


def _from_file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Whoever reads files, fed with bytes."""
    path = Path(tempfile.mkdtemp()) / f"input{suffix}"

    def fed(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return fed


def _sheet(rows: bytes, path: Path) -> Path:
    """A workbook whose sheet has these rows: bytes of a packed file hardly ever get past its checksums."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, part in hostile_xlsx.book(rows).items():
            packed.writestr(name, part)
    return path


FORM = (
    hostile_xlsx.head(5)
    + hostile_xlsx.inline("select_one yes_no", "q", "Is it?")
    + hostile_xlsx.inline("integer", "n", "How many?")
)
SHEET = Path(tempfile.mkdtemp()) / "sheet.xlsx"
TARGETS: dict[str, tuple[Callable[[bytes], Any], int]] = {
    "report": (lambda data: Report.from_bytes(data, CAMPAIGN), 10_000_000),
    "frames": (_frames, 10_000_000),
    "twin": (lambda data: Report.from_json(data, CAMPAIGN), 10_000_000),
    "campaign": (lambda data: Campaign.from_bytes(data), 100_000),
    "framed file": (_from_file(".bin", lambda path: load_reports(path, CAMPAIGN)), 100_000),
    "parquet": (_from_file(".parquet", lambda path: load_reports(path, CAMPAIGN)), 100_000),
    "counts": (_from_file(".counts", lambda path: load_counts(path, CAMPAIGN)), 100_000),
    "query": (lambda data: parsed(data.decode("utf-8", "replace")), 100_000),
    "xlsform": (_from_file(".xlsx", draft_from_xlsform), 100_000),
    "xlsform sheet": (lambda data: draft_from_xlsform(_sheet(data, SHEET)), 100_000),
}


def _counted(batch: ReportBatch, path: Path) -> None:
    """The counts of reports, by a process that may compile what counts."""
    with tempfile.TemporaryDirectory() as directory:
        batch.save(Path(directory) / "reports.parquet")
        command = [
            sys.executable,
            "-m",
            "lopub",
            "count",
            f"{directory}/reports.parquet",
            "-o",
            str(path.with_suffix(".parquet")),
            "--force",
        ]
        subprocess.run(
            command, check=True, capture_output=True, env=os.environ | {"NUMBA_DISABLE_JIT": "0"}
        )


def seeds(target: str, directory: Path) -> None:
    """Something valid to begin with."""
    batch = fakes.honest(CAMPAIGN, 5, seed=1)
    one = batch.report(0)
    valid: dict[str, Callable[[Path], object]] = {
        "report": lambda path: path.write_bytes(one.to_bytes()),
        "frames": lambda path: path.write_bytes(framed_bytes(batch)),
        "twin": lambda path: path.write_text(one.to_json()),
        "campaign": lambda path: path.write_bytes(CAMPAIGN.canonical_bytes),
        "framed file": lambda path: path.write_bytes(framed_bytes(batch)),
        "parquet": lambda path: batch.save(path.with_suffix(".parquet"), force=True),
        "counts": lambda path: _counted(batch, path),
        "query": lambda path: path.write_text("q0 = 1 and (q1 < 2 or not q2 in (1, 2))"),
        "xlsform": lambda path: _sheet(FORM, path),
        "xlsform sheet": lambda path: path.write_bytes(FORM),
    }
    valid[target](directory / "seed")


def fuzz(target: str, runs: int, corpus: Path | None) -> int:
    """In this process, which ends with the fuzzer. corpus: where what it has learnt is kept."""
    read, _ = TARGETS[target]

    def one(data: bytes) -> None:
        started = time.process_time()
        with contextlib.suppress(LopubError):
            read(data)
        if time.process_time() - started > SLOW_SECONDS:
            raise TimeoutError(f"{len(data)} bytes took more than {SLOW_SECONDS} s")

    with tempfile.TemporaryDirectory() as temporary:
        home = corpus / target if corpus else Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        seeds(target, home)
        options = [f"-runs={runs}", f"-timeout={ENDLESS_SECONDS}", "-max_len=8192", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, str(home)], one)
        atheris.Fuzz()
    return 0


# ---- costly campaigns


def changed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in a document, with what could stand there instead."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        yield from changed(each, (*path, key))
    if isinstance(value, list) and value:
        yield from ((path, value * n) for n in (100, 3_000))
    yield from ((path, extreme) for extreme in EXTREMES)


def costly() -> int:
    """How many changed campaigns are neither read nor refused within a second."""
    n_slow = n = 0
    for design in fakes.DESIGNS:
        document = json.loads(fakes.campaign(design).canonical_bytes)
        for path, value in changed(document):
            other = copy.deepcopy(document)
            if path:
                place = other
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
            data = json.dumps(
                other, separators=(",", ":"), sort_keys=True, ensure_ascii=False
            ).encode()
            started = time.process_time()
            with contextlib.suppress(LopubError):
                Campaign.from_bytes(data)
            n += 1
            if time.process_time() - started > SLOW_SECONDS:
                n_slow += 1
                print(f"slow: {design}, {path} = {str(value)[:40]}", file=sys.stderr)
    print(f"{n:,} campaigns, {n_slow} slow")
    return n_slow


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", choices=["all", "costly", *TARGETS], metavar="TARGET")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument(
        "--here", action="store_true", help="in this process, which ends with the fuzzer"
    )
    asked = parser.parse_args()
    if asked.here:
        (target,) = asked.targets
        return min(costly(), 1) if target == "costly" else fuzz(target, asked.runs, asked.corpus)
    targets = [*TARGETS, "costly"] if "all" in asked.targets else asked.targets
    failed = [target for target in targets if not is_green(target, asked.runs, asked.corpus)]
    print("failed:", ", ".join(failed) or "none")
    return min(len(failed), 1)


def is_green(target: str, runs: int | None, corpus: Path | None) -> bool:
    """Whether a target stands all runs, in a process of its own."""
    from load import note_figures  # loads what the fuzzer has to watch from the beginning

    usual = 0 if target == "costly" else TARGETS[target][1]
    runs = min(runs, usual) if runs else usual
    started = time.monotonic()
    kept = ["--corpus", str(corpus)] if corpus else []
    done = subprocess.run(
        [sys.executable, __file__, target, "--here", "--runs", str(runs), *kept], check=False
    )
    if done.returncode == 0 and runs and runs == usual:  # fewer are not worth noting
        note_figures("fuzzing", target, runs=runs, failures=0, seconds=time.monotonic() - started)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
