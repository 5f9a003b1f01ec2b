"""What `lopub` without arguments shows: the three commands that are most likely to come next, by what lies in this directory."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from lopub.campaign.budget import SUGGESTED_EPSILON

Steps = tuple[tuple[str, str], ...]

ASK: Steps = (
    ('lopub query publication "EXPRESSION"', "ask the publication something, and get an interval"),
    ("lopub query -h", "what can be asked"),
    (
        "lopub evaluate people.csv publication/data/synthetic.csv --campaign campaign.json",
        "in experiments: how far is it off?",
    ),
)
COLLECT: Steps = (
    (
        "lopub collect open campaign.json --database sqlite:///lopub.db",
        "take reports for this campaign",
    ),
    (
        "lopub serve --database sqlite:///lopub.db",
        "the collector, the page on which people take part, and the console",
    ),
    (
        "lopub encode campaign.json people.csv -o reports.parquet",
        "in experiments: one simulated client per record",
    ),
)
SERVE: Steps = (
    (
        "lopub serve --database sqlite:///lopub.db",
        "the collector, the page on which people take part, and the console",
    ),
    (
        "lopub collect list --database sqlite:///lopub.db",
        "which campaigns are open, and how many reports they have",
    ),
    (
        "lopub encode campaign.json people.csv -o reports.parquet",
        "in experiments: one simulated client per record",
    ),
)
PLAN: Steps = (
    ("lopub draft check draft.json", "is anything wrong with the questions?"),
    (f"lopub plan draft.json --people 5000 --epsilon {SUGGESTED_EPSILON}", "what would come out?"),
    (
        f"lopub campaign make draft.json -o campaign.json --people 5000 --epsilon {SUGGESTED_EPSILON}",
        "a campaign, which people can answer",
    ),
)
SHOWN: Steps = (
    (
        "lopub query demo/publication donates",
        "ask the demo's publication something, and get an interval",
    ),
    ("lopub draft new -o draft.json", "questions of your own: a draft to edit"),
    (
        "lopub serve --demo",
        "the console and the page on which people take part, with made-up campaigns",
    ),
)
BEGIN: Steps = (
    ("lopub demo", "the whole way on made-up people, in half a minute"),
    ("lopub draft new -o draft.json", "questions of your own: a draft to edit"),
    ("lopub serve --database sqlite:///lopub.db", "a collector, and a console in the browser"),
)


def next_steps(folder: Path) -> Steps:
    """The steps that follow from what is there, the furthest first."""
    stages: tuple[tuple[str, Callable[[Path], Steps]], ...] = (
        ("publication/manifest.json", lambda _: ASK),
        ("reports.parquet", _publish),
        ("lopub.db", lambda database: _publish(database) if _has_reports(database) else SERVE),
        ("campaign.json", lambda _: COLLECT),
        ("draft.json", lambda _: PLAN),
        ("demo/publication/manifest.json", lambda _: SHOWN),
    )
    return next((steps(folder / name) for name, steps in stages if (folder / name).exists()), BEGIN)


def opening_step(campaign_file: Path, people: int) -> str:
    """How a campaign that was planned for so many people is opened: its file, which all people get, does not say how many."""
    return f"next: lopub collect open {campaign_file} --people {people}, so that the console knows the goal"


def _has_reports(database: Path) -> bool:
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(database))}?mode=rw", uri=True)
        ) as connection:
            return connection.execute("SELECT 1 FROM reports LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return False


def _publish(source: Path) -> Steps:
    named = source.name if source.suffix == ".parquet" else f"sqlite:///{source.name}"
    return (
        (
            f"lopub publish campaign.json {named} -o publication",
            "a synthetic table, its report and all estimates",
        ),
        (f'lopub query {named} "EXPRESSION"', "ask something, and get an interval"),
        (f"lopub count {named} -o counts.parquet", "integers that add up over days and machines"),
    )
