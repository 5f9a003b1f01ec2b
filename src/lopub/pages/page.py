"""Pages that people read: one self-contained HTML file, no network, no script, on a phone, on paper, light and dark.

Every number is a `<data>` element that carries the exact value, so that a page can be compared with the files beside it.
"""

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;
--ink:#1b1f24;--paper:#fff;--soft:#57606a;--faint:#c3cad3;--first:#1d5fbf;--second:#e4ecf8;--warn:#8a4600}
@media (prefers-color-scheme:dark){:root{
--ink:#e6e9ee;--paper:#14171c;--soft:#a3acb8;--faint:#4a525e;--first:#7fb0ff;--second:#24324a;--warn:#ffb366}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.8rem;line-height:1.2;margin:.2em 0 .4em}
h2{font-size:1.3rem;margin:2.2em 0 .5em;border-bottom:1px solid var(--faint);padding-bottom:.2em}
h3{font-size:1.05rem;margin:1.6em 0 .4em}
p,li{max-width:46rem}
.lead{font-size:1.1rem}
.soft,caption,figcaption{color:var(--soft)}
.warn{border-left:4px solid var(--warn);padding:.4em .9em;margin:1em 0;background:var(--second)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;max-width:46rem}
dt{color:var(--soft)}dd{margin:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;margin:.4rem 0 1rem}
caption{text-align:left;padding:.2rem 0 .4rem}
th,td{padding:.22rem .9rem .22rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint);overflow-wrap:normal}
thead th{border-bottom:2px solid var(--faint)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.bar{width:4rem}
.bar span{display:block;height:.55rem;margin:.12rem 0;border-radius:2px}
.bar .a{background:var(--first)}.bar .b{background:var(--faint)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(30rem,100%),1fr));gap:0 1.5rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
figure{margin:1rem 0}
svg{width:100%;height:auto;display:block}
svg text{font-family:inherit!important}
nav a{margin-right:1rem;white-space:nowrap}
a{color:var(--first)}
summary{cursor:pointer}
@media (max-width:40rem){dl{grid-template-columns:1fr}dt{margin-top:.4rem}.bar{width:3.5rem}th,td{padding-right:.6rem}}
@media print{body{max-width:none}h2,h3{break-after:avoid}figure,tr{break-inside:avoid}nav{display:none}details>*{display:block}}
"""


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


def folded(summary: str, html: str) -> str:
    """Something long that is opened on request; on paper it is open."""
    return f"<details><summary>{escape(summary)}</summary>{html}</details>"


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


def in_language(text: str, tag: str) -> str:
    """A text in a language that need not be the page's, in whichever direction it runs."""
    return f'<bdi lang="{escape(tag)}">{escape(text)}</bdi>'


def text_of(value: str) -> str:
    """An answer as a page shows it; a missing one says so."""
    return escape(value) if value else '<span class="soft">(missing)</span>'
