"""All rounds as files: two tables, a page with the trends, what was published from what."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from lopub import __version__
from lopub.campaign.domain import ListOption
from lopub.campaign.schedule import Repeat, day_of, days_in_short
from lopub.files import sha256_of, whole_directory
from lopub.pages.templating import page_language, rendered
from lopub.pages.translation import catalogue
from lopub.pages.wording import Wording
from lopub.publication.render.questions import Spoken
from lopub.publication.render.tables import as_json
from lopub.publication.rounds import Change, Level, Rounds, rounds_of

MARK = "rounds.json"
"""The file by which a directory of rounds is known."""
FORMAT = 1
ROUNDS = "rounds"
"""Where the publication of one round has all of them."""
WIDTH, HEIGHT, EDGE = 320, 90, 6
TEMPLATES = Path(__file__).parent / "templates"


def save_rounds(
    rounds: Rounds, path: str | Path, *, language: str = "", force: bool = False
) -> None:
    """Write all files; the same reports give the same bytes. language: of the page."""
    with whole_directory(Path(path), mark=MARK, force=force) as directory:
        (directory / "levels.csv").write_bytes(_levels(rounds))
        (directory / "changes.csv").write_bytes(_changes(rounds.changes))
        (directory / "campaign.json").write_bytes(rounds.campaign.canonical_bytes)
        (directory / "report.html").write_bytes(rounds_html(rounds, language))
        files = {one.name: sha256_of(one) for one in sorted(directory.iterdir())}
        (directory / MARK).write_bytes(as_json(_manifest(rounds) | {"files": files}))


def rounds_beside(rounds: Rounds, language: str) -> dict[str, bytes]:
    """Name -> content of the files of all rounds beside the publication of one."""
    page = rounds_html(rounds, language, stands_alone=False)
    files = {
        "levels.csv": _levels(rounds),
        "changes.csv": _changes(rounds.changes),
        "report.html": page,
    }
    return {f"{ROUNDS}/{name}": content for name, content in files.items()}


def _manifest(rounds: Rounds) -> dict[str, object]:
    campaign = rounds.campaign
    return {
        "format": FORMAT,
        "lopub": __version__,
        "campaign": {
            "id": campaign.id,
            "name": campaign.terms.name,
            "epsilon": campaign.epsilon,
            "lifetime_epsilon": campaign.lifetime_epsilon,
        },
        "simulated": rounds.origin.is_simulated,
        "rounds": [
            {"first_day": str(day_of(slot)), "reports": n} for slot, n in rounds.n_reports.items()
        ],
        "too_few_reports": [str(day_of(slot)) for slot in rounds.left_out],
        "too_many_candidates": list(rounds.too_large),
        "smoothing": {
            name: {"step": one.step, "gain": one.gain} for name, one in rounds.smoothing.items()
        },
    }


def _levels(rounds: Rounds) -> bytes:
    head = (
        "round",
        "attribute",
        "value",
        "share",
        "standard_error",
        "low",
        "high",
        "n_reports",
        "smoothed",
    )
    rows = (
        (
            *(
                day_of(one.slot),
                one.attribute,
                one.value,
                one.share,
                one.standard_error,
                one.low,
                one.high,
                one.n_reports,
            ),
            rounds.smooth[one],
        )
        for one in rounds.levels
    )
    return _csv(head, rows)


def _changes(changes: Iterable[Change]) -> bytes:
    head = (
        "from",
        "to",
        "attribute",
        "value",
        "change",
        "standard_error",
        "low",
        "high",
        "least_error",
        "narrow_low",
        "narrow_high",
    )
    rows = (
        (
            *(day_of(one.first), day_of(one.second), one.attribute, one.value, one.change),
            *(one.standard_error, *one.interval, one.least_error, *one.narrow_interval),
        )
        for one in changes
    )
    return _csv(head, rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()


# ---- the page


def rounds_html(rounds: Rounds, language: str = "", *, stands_alone: bool = True) -> bytes:
    """Trends for people: a picture and a table for every question. language: of the campaign's texts and of the page's own words,
    as far as there are any. stands_alone: whether it is the page of a directory of its own, or one beside a publication."""
    own = page_language([language] if language else [])
    wording = Wording.of(rounds.campaign, [language] if language else [])
    return rendered(
        "rounds.html", TEMPLATES, own, page=RoundsPage(rounds, wording, own, stands_alone)
    )


@dataclass(frozen=True)
class LevelShown:
    """A share in one round."""

    day: date
    label: str
    share: float
    low: float
    high: float
    smoothed: float


@dataclass(frozen=True)
class ChangeShown:
    """A change of a share between two rounds."""

    first: date
    second: date
    label: str
    value: float
    interval: tuple[float, float]
    narrow: tuple[float, float]


@dataclass(frozen=True)
class TrendShown:
    """The share of one answer over the rounds, as a picture."""

    label: str
    levels: tuple[Level, ...]
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def first(self) -> Level:
        """Its share in the first round."""
        return self.levels[0]

    @property
    def last(self) -> Level:
        """Its share in the last round."""
        return self.levels[-1]

    @property
    def first_day(self) -> date:
        """The first round."""
        return day_of(self.levels[0].slot)

    @property
    def last_day(self) -> date:
        """The last round."""
        return day_of(self.levels[-1].slot)

    @property
    def top(self) -> float:
        """The share that is as high as the picture."""
        return max(0.01, *(level.high for level in self.levels))

    @property
    def band(self) -> str:
        """The corners of the band of intervals."""
        return " ".join(
            self._points([one.high for one in self.levels])
            + self._points([one.low for one in self.levels])[::-1]
        )

    @property
    def line(self) -> str:
        """The points of the line; that of a single round is level."""
        points = self._points([one.share for one in self.levels])
        return " ".join(
            points
            if len(points) > 1
            else [points[0], points[0].replace(f"{EDGE:.1f},", f"{WIDTH - EDGE:.1f},")]
        )

    @property
    def description(self) -> str:
        """Read aloud by screen readers."""
        return "; ".join(f"{day_of(one.slot)}: {100 * one.share:.1f} %" for one in self.levels)

    def _points(self, heights: Sequence[float]) -> list[str]:
        across = [
            EDGE + (WIDTH - 2 * EDGE) * i / max(len(heights) - 1, 1) for i in range(len(heights))
        ]
        ups = [
            HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * max(height, 0.0) / self.top for height in heights
        ]
        return [f"{x:.1f},{y:.1f}" for x, y in zip(across, ups, strict=True)]


@dataclass(frozen=True)
class QuestionOverRounds:
    """A question, or an option of a list, round by round."""

    id: str
    title: str
    text: str
    language: str
    trends: tuple[TrendShown, ...]
    levels: tuple[LevelShown, ...]
    changes: tuple[ChangeShown, ...]
    is_smoothed: bool


@dataclass(frozen=True, eq=False)
class RoundsPage:
    """What the page is made of."""

    rounds: Rounds
    wording: Wording
    language: str
    """Of its own words."""
    stands_alone: bool = True

    @cached_property
    def spoken(self) -> Spoken:
        """The questionnaire in the reader's language."""
        return Spoken(self.rounds.campaign, self.wording, self.language)

    @property
    def repeat(self) -> Repeat:
        """How often the campaign repeats."""
        return rounds_of(self.rounds.campaign)[1]

    @property
    def days(self) -> list[tuple[date, int]]:
        """The first day of each round, and its reports."""
        return [(day_of(slot), n) for slot, n in self.rounds.n_reports.items()]

    @property
    def left_out(self) -> str:
        """The first days of rounds with too few reports, as many as a sentence takes."""
        return days_in_short([day_of(slot) for slot in self.rounds.left_out])

    @property
    def campaign_file(self) -> str:
        """Where the questionnaire is."""
        return "campaign.json" if self.stands_alone else "../campaign.json"

    @property
    def links(self) -> list[tuple[str, str]]:
        """The questions."""
        return [(one.id, one.title) for one in self.questions]

    @cached_property
    def questions(self) -> tuple[QuestionOverRounds, ...]:
        """In the order in which they were asked."""
        known = {level.attribute for level in self.rounds.levels}
        names = [name for name in self.rounds.campaign.domain.names if name in known]
        return tuple(self._question(f"q{place}", name) for place, name in enumerate(names))

    def _question(self, place: str, name: str) -> QuestionOverRounds:
        rounds, attribute = self.rounds, self.rounds.campaign.domain[name]
        own = [level for level in rounds.levels if level.attribute == name]
        labels = {level.value: self.spoken.label(attribute, level.value) for level in own}
        smoothing = rounds.smoothing.get(name)
        asked = attribute.of_list if isinstance(attribute, ListOption) else attribute
        text = self.wording.question(asked)
        changes = [one for one in rounds.changes if one.attribute == name]
        return QuestionOverRounds(
            id=place,
            title=self.spoken.title(name),
            text=text,
            language=self.wording.spoken(text, self.wording.own.question(asked)),
            trends=tuple(TrendShown(label, _of(own, value)) for value, label in labels.items()),
            levels=tuple(
                LevelShown(
                    day_of(one.slot),
                    labels[one.value],
                    one.share,
                    one.low,
                    one.high,
                    rounds.smooth[one],
                )
                for one in own
            ),
            changes=tuple(
                ChangeShown(
                    *(
                        day_of(one.first),
                        day_of(one.second),
                        labels[one.value],
                        one.change,
                        one.interval,
                        one.narrow_interval,
                    )
                )
                for one in changes
            ),
            is_smoothed=smoothing is not None and smoothing.step is not None,
        )

    def level_columns(self, one: QuestionOverRounds) -> list[tuple[str, str]]:
        """The head of a table of shares."""
        _ = catalogue(self.language).gettext
        smoothed = [_("smoothed")] if one.is_smoothed else []
        return _heads([_("round"), _("answer")], [_("share"), _("95 %% interval"), *smoothed])

    @property
    def change_columns(self) -> list[tuple[str, str]]:
        """The head of a table of changes."""
        _ = catalogue(self.language).gettext
        narrow = [_("if the same people took part")] if self.repeat.is_permanent else []
        return _heads([_("rounds"), _("answer")], [_("change"), _("95 %% interval"), *narrow])


def _heads(texts: Sequence[str], numbers: Sequence[str]) -> list[tuple[str, str]]:
    """Columns of texts, then of numbers. %% is a per cent sign, as it is in templates."""
    heads = [(text, "") for text in texts] + [(text, "n") for text in numbers]
    return [(text.replace("%%", "%"), kind) for text, kind in heads]


def _of(levels: Sequence[Level], value: str) -> tuple[Level, ...]:
    return tuple(level for level in levels if level.value == value)
