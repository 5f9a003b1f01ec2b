"""All rounds as files: two tables, a page with the trends, what was published from what."""

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lopub import __version__
from lopub.contract.budget import decimal_up
from lopub.contract.schedule import day_of
from lopub.files import sha256_of, whole_directory
from lopub.pages.page import between, facts, figure, number, page, paragraph, share, table, text_of
from lopub.release.render.tables import as_json
from lopub.release.rounds import Change, Level, Rounds, rounds_of

MARK = "rounds.json"
"""The file by which a directory of rounds is known."""
FORMAT = 1
WIDTH, HEIGHT, EDGE = 320, 90, 6
SHARED = (
    "Every device keeps one noisy answer from its first round on, so these are the answers that people gave at the start: what"
    " somebody answers later does not show. A change says that other people took part, not that people changed. The noise of the"
    " answers that are kept is the same in two rounds as far as the same devices took part, and nobody can tell how many did: the"
    " interval is right if none stayed, and too wide otherwise; if all stayed, the narrow one is right."
)
APART = "Every report has noise of its own, so that the noise of two rounds is independent."


def save_rounds(rounds: Rounds, path: str | Path, *, force: bool = False) -> None:
    """Write all files; the same reports give the same bytes."""
    with whole_directory(Path(path), mark=MARK, force=force) as directory:
        (directory / "levels.csv").write_bytes(_levels(rounds))
        (directory / "changes.csv").write_bytes(_changes(rounds.changes))
        (directory / "campaign.json").write_bytes(rounds.campaign.canonical_bytes)
        (directory / "report.html").write_bytes(rounds_html(rounds).encode())
        files = {one.name: sha256_of(one) for one in sorted(directory.iterdir())}
        (directory / MARK).write_bytes(as_json(_manifest(rounds) | {"files": files}))


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
        "rounds": [{"first_day": str(day_of(slot)), "reports": n} for slot, n in rounds.n_reports.items()],
        "too_few_reports": [str(day_of(slot)) for slot in rounds.left_out],
        "too_many_candidates": list(rounds.too_large),
        "smoothing": {name: {"step": one.step, "gain": one.gain} for name, one in rounds.smoothing.items()},
    }


def _levels(rounds: Rounds) -> bytes:
    head = ("round", "attribute", "value", "share", "standard_error", "low", "high", "n_reports", "smoothed")
    rows = (
        (
            *(day_of(one.slot), one.attribute, one.value, one.share, one.standard_error, one.low, one.high, one.n_reports),
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


def rounds_html(rounds: Rounds) -> str:
    """Trends for people: a picture and a table for every attribute."""
    campaign = rounds.campaign
    _, repeat = rounds_of(campaign)
    names = list(dict.fromkeys(level.attribute for level in rounds.levels))
    sections = [
        ("about", "What this is", _about(rounds)),
        *((f"q{i}", name, _attribute(rounds, name)) for i, name in enumerate(names)),
    ]
    lead = paragraph(f"{number(len(rounds.n_reports), 'd')} rounds. {escape(SHARED if repeat.is_permanent else APART)}", "lead")
    return page(campaign.terms.title or campaign.terms.name, sections, lead=lead)


def _about(rounds: Rounds) -> str:
    campaign = rounds.campaign
    _, repeat = rounds_of(campaign)
    told = [
        ("rounds", ", ".join(f"{day_of(slot)}: {number(n, ',')} reports" for slot, n in rounds.n_reports.items())),
        ("mode", f"{repeat.mode}: a device takes part in {number(repeat.take_part, 'd')} of {number(repeat.rounds, 'd')} rounds"),
        (
            "epsilon",
            f"{decimal_up(campaign.loss, 3)} of one report, {decimal_up(campaign.lifetime_loss, 3)} of everything a device sends",
        ),
    ]
    if rounds.left_out:
        told.append(("too few reports", ", ".join(str(day_of(slot)) for slot in rounds.left_out)))
    if rounds.too_large:
        told.append(("too many answers to show", escape(", ".join(rounds.too_large))))
    return facts(told)


def _attribute(rounds: Rounds, name: str) -> str:
    own = [level for level in rounds.levels if level.attribute == name]
    values = list(dict.fromkeys(level.value for level in own))
    trends = {value: [level for level in own if level.value == value] for value in values}
    pictures = "".join(figure(_trend(levels), f"{name}: {value or 'no answer'}") for value, levels in trends.items())
    rows = [
        (f"{day_of(one.slot)}, {text_of(one.value)}", share(one.share), between(one.low, one.high), share(rounds.smooth[one]))
        for one in own
    ]
    levels = table(f"Shares of {name} by round", ("round", "share", "95 %", "smoothed"), rows, numeric=(1, 2, 3))
    changed = [
        (f"{day_of(one.second)}, {text_of(one.value)}", share(one.change), between(*one.interval), between(*one.narrow_interval))
        for one in rounds.changes
        if one.attribute == name
    ]
    heads = ("to round", "change", "95 %", "95 % if the same people took part")
    changes = table(f"Changes of {name} from round to round", heads, changed, numeric=(1, 2, 3)) if changed else ""
    return f'<div class="cards">{pictures}</div>{_said_of_smoothing(rounds, name)}{levels}{changes}'


def _said_of_smoothing(rounds: Rounds, name: str) -> str:
    found = rounds.smoothing.get(name)
    if found is None or found.step is None:
        return paragraph("Smoothing over the rounds does not pay here.", "soft")
    gain = f"it explains held-out noise better by {number(found.gain, '.1f')} nats"
    return paragraph(f"Smoothed over the rounds, {gain}; a change that comes at once is then seen late.", "soft")


def _trend(levels: Sequence[Level]) -> str:
    """A line over the rounds, and the band of its intervals."""
    top = max(0.01, *(level.high for level in levels))
    across = [EDGE + (WIDTH - 2 * EDGE) * i / max(len(levels) - 1, 1) for i in range(len(levels))]

    def points(heights: Sequence[float]) -> list[str]:
        return [
            f"{x:.1f},{HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * max(y, 0.0) / top:.1f}" for x, y in zip(across, heights, strict=True)
        ]

    band = points([one.high for one in levels]) + points([one.low for one in levels])[::-1]
    line = points([one.share for one in levels])
    told = "; ".join(f"{day_of(one.slot)}: {100 * one.share:.1f} %" for one in levels)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}">'
        f'<polygon points="{" ".join(band)}" fill="var(--second)"/>'
        f'<polyline points="{" ".join(line)}" fill="none" stroke="var(--first)" stroke-width="2"/></svg>'
    )
