"""Pictures as SVG without a style or a script, so that a strict policy forbids nothing: bars and QR
codes."""

from collections.abc import Sequence
from functools import lru_cache

import segno
from markupsafe import Markup, escape

WIDTH, HEIGHT, FOOT = 640, 160, 18
WIDEST = 80
"""Of a bar with the space beside it."""
QUIET = 4
"""Modules around a QR code that stay white."""


def bars(values: Sequence[tuple[str, int]]) -> Markup:
    """One bar for each value, the first and the last named; a page has the numbers in a table
    beside."""
    if not values:
        return Markup("")
    most = max(n for _, n in values)
    step = min(WIDTH / len(values), WIDEST)
    drawn = "".join(
        f'<rect x="{step * i + 0.1 * step:.1f}" y="{HEIGHT * (1 - n / most):.1f}" width="{0.8 * step:.1f}"'
        f' height="{HEIGHT * n / most:.1f}"><title>{escape(name)}: {n:,}</title></rect>'
        for i, (name, n) in enumerate(values)
    )
    ends = f'<text x="0" y="{HEIGHT + FOOT - 4}">{escape(values[0][0])}</text>'
    if len(values) > 1:
        right = max(step * len(values), 2 * WIDEST)
        ends += f'<text x="{right:.0f}" y="{HEIGHT + FOOT - 4}" text-anchor="end">{escape(values[-1][0])}</text>'
    return Markup(  # noqa: S704 (names are escaped)
        f'<svg class="bars" viewBox="0 0 {WIDTH} {HEIGHT + FOOT}" aria-hidden="true">{drawn}{ends}</svg>'
    )


@lru_cache(maxsize=64)
def qr_code(text: str) -> Markup:
    """A QR code of a text, which is also what it says to those who cannot see it."""
    code = segno.make_qr(text, error="m")
    drawn = code.svg_inline(
        border=QUIET, light="#fff", svgclass="qr", lineclass=None, omitsize=True, title=text
    )
    return Markup(drawn.replace("<svg", '<svg role="img" shape-rendering="crispEdges"', 1))  # noqa: S704 (segno escapes the title)
