"""What the theme leaves out for those who listen to a page: names of its side bars, levels of captions, the search's heading."""

from pathlib import Path

from sphinx.application import Sphinx

MENDED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<div id="search-results"></div>': '<h1>Search</h1>\n<div id="search-results"></div>',
    "<pre>": '<pre tabindex="0">',  # what scrolls must be reached without a mouse
    '<table class="docutils align-default">': '<table class="docutils align-default" tabindex="0">',
}


def _mend(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            for left, right in MENDED.items():
                text = text.replace(left, right)
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
