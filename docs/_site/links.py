"""Links to the files beside docs/ that are pages of the site, too: they read well on disk and on the site."""

import re
from pathlib import Path

from sphinx.application import Sphinx

PAGES = {
    "README.md": "index.md",
    "PRIVACY.md": "privacy.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""What lies beside docs/, and the page of the site that includes it."""


def _point_into_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = _without_folders(source[0], Path(app.srcdir), name)
    up = "../" * name.count("/")
    for outside, inside in PAGES.items():
        source[0] = re.sub(
            rf"\]\((?:\.\./)+{outside}(#[\w-]+)?\)", rf"]({up}{inside}\1)", source[0]
        )


def _without_folders(text: str, docs: Path, name: str) -> str:
    """A folder is no page of the site: where a link leads to one, its name in the repository stands instead."""

    def named(link: re.Match[str]) -> str:
        folder = (docs / name).parent / link[2]
        return f"`{folder.relative_to(docs.parent)}`" if folder.is_dir() else link[0]

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([\w/-]+)\)", named, text)


def _point_out_of_docs(_app: Sphinx, _path: object, _parent: str, source: list[str]) -> None:
    """In a file that is included from beside docs/: what it calls docs/x.md is x.md here."""
    source[0] = re.sub(r"\]\(docs/", "](", source[0])
    for outside, inside in PAGES.items():
        source[0] = source[0].replace(f"]({outside}", f"]({inside}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _point_into_the_site)
    app.connect("include-read", _point_out_of_docs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
