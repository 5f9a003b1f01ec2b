"""Take the pictures of the contributor's page and of the report, of the survey in docs/tutorials/survey.md.

`python tests/documentation/make_screenshots.py`, with Chromium. They differ from run to run: the page draws real noise.
"""

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / name) for name in ("", "cli", "clients")]

from contributing import Visitor, chromium, hosted
from documents import ROOT, Shell, blocks_of
from PIL import Image

PAGE = ROOT / "docs" / "tutorials" / "survey.md"
PICTURES = ROOT / "docs" / "pictures"
ANSWERS = {
    "How do you live?": "couple",
    "Does your household have a car?": "No",
    "How loud is it at night?": "loud",
    "Do you think of moving away?": "Yes",
}
COLOURS = 64
"""Enough for text and bars; a picture is then a few dozen kilobytes."""


def made(folder: Path) -> None:
    """The survey's page and its publication."""
    for block in blocks_of(PAGE):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    with chdir(folder), Shell() as shell:
        shell.run("lopub campaign make draft.json -o campaign.json --epsilon 2 --people 3000")
        shell.run("lopub page campaign.json -o site --collector https://collector.example")
        shell.run("python neighbours.py")
        shell.run("lopub publish campaign.json reports.parquet -o publication")


def took_part(visitor: Visitor, address: str) -> None:
    """Somebody of whose examples some name another answer than their own, which shows best what noise does."""
    visitor.open(address).answer(ANSWERS).look()
    for _ in range(20):
        text = visitor.text(".examples")
        if "This is not your own answer" in text and "By chance this is" in text:
            return
        first = visitor.text(".example h3")
        number = int(first.split()[-1]) + 3
        visitor.press("button.again").until_said(f"Example {number}", ".examples")


def kept(picture: bytes, name: str) -> None:
    path = PICTURES / name
    path.write_bytes(picture)
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder)
        with hosted(folder) as address, chromium(folder / "profile") as visitor:
            took_part(visitor.size(820, 912), f"{address}/site/index.html")
            visitor.run("document.querySelector('.leaving').scrollIntoView(); scrollBy(0, -16)")
            kept(visitor.driver.get_screenshot_as_png(), "taking-part.png")
            visitor.size(900, 1000).driver.get(f"{address}/publication/report.html")
            kept(visitor.driver.get_screenshot_as_png(), "report-top.png")
            visitor.size(800, 1000).run(
                "[...document.querySelectorAll('h2')].find(e => e.textContent.startsWith('What people')).scrollIntoView()"
            )
            kept(visitor.driver.get_screenshot_as_png(), "report.png")
            visitor.run("scrollTo(0, 0)")
            visitor.size(390, 800)
            kept(visitor.driver.get_screenshot_as_png(), "phone.png")


if __name__ == "__main__":
    main()
