"""Pages that people read: one self-contained HTML file, no network, no script, on a phone, on paper, light and dark.

Every number is a `<data>` element that carries the exact value, so that a page can be compared with the files beside it.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

STYLE = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")


def page(title: str, sections: Iterable[tuple[str, str, str]], *, lead: str) -> str:
    """A whole page. sections: (id, heading, body)."""
    parts = list(sections)
    links = "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in parts)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(heading)}</h2>{inner}</section>'
        for name, heading, inner in parts
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f'<body><header><h1>{escape(title)}</h1>{lead}<nav aria-label="On this page">{links}</nav></header>'
        f"<main>{body}</main></body></html>\n"
    )


def number(value: float, form: str = ".3f") -> str:
    """A number as people read it, with the exact value behind it."""
    return f'<data value="{value!r}">{value:{form}}</data>'


def share(value: float) -> str:
    """A share in per cent, with the exact share behind it."""
    return f'<data value="{value!r}">{100 * value:.1f}&nbsp;%</data>'


def between(low: float, high: float) -> str:
    """Two shares in per cent, as an interval."""
    return f'<data value="{low!r}">{100 * low:.1f}</data> – <data value="{high!r}">{100 * high:.1f}&nbsp;%</data>'


def paragraph(html: str, kind: str = "") -> str:
    """A paragraph of HTML. kind: its class."""
    return f'<p class="{kind}">{html}</p>' if kind else f"<p>{html}</p>"


def listed(items: Iterable[str]) -> str:
    """A bulleted list of pieces of HTML."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def facts(items: Iterable[tuple[str, str]]) -> str:
    """Names and what they are, one below the other. The second is HTML."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{html}</dd>" for name, html in items) + "</dl>"


def figure(svg: str, caption: str) -> str:
    """A picture with its caption, which is plain text."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Sequence[int] = (), unseen: bool = False
) -> str:
    """A table with a caption and headed columns and rows. Cells are HTML; the first of a row is its head.

    numeric: which columns hold numbers. unseen: the caption is only read aloud, because a heading says the same. A column without
    a name is for the eye alone.
    """
    kinds = ['class="n" ' if i in numeric else "" for i in range(len(columns))]
    heads = zip(kinds, columns, strict=True)
    head = "".join(f'<th {kind}scope="col">{escape(column)}</th>' if column else "<td></td>" for kind, column in heads)
    body = ""
    for first, *rest in rows:
        cells = "".join(f"<td {kind}>{cell}</td>" for kind, cell in zip(kinds[1:], rest, strict=True))
        body += f'<tr><th scope="row">{first}</th>{cells}</tr>'
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        ""
        f"<caption{' class=unseen' if unseen else ''}>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bars(first: float, second: float, most: float) -> str:
    """Two bars, one over the other, for the eye alone: the numbers stand in the columns beside them."""
    widths = [100 * value / most if most > 0 else 0.0 for value in (first, second)]
    return f'<span class="a" style="width:{widths[0]:.1f}%"></span><span class="b" style="width:{widths[1]:.1f}%"></span>'


def text_of(value: str) -> str:
    """An answer as a page shows it; a missing one says so."""
    return escape(value) if value else '<span class="soft">(missing)</span>'
