"""`lopub page`: the page on which people take part, as files that can be hosted anywhere."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import tell
from lopub.cli.options import OUTPUT, AsJson, CampaignFile, Force
from lopub.cli.outputs import check_directory
from lopub.contract.campaign import Campaign
from lopub.files import whole_directory
from lopub.pages.contribution import hosted_files, integrity

MARK = "page.js"


def page(
    campaign_file: CampaignFile,
    out: Annotated[Path, typer.Option(*OUTPUT, metavar="DIR", help="The directory to write.", show_default=False)],
    collector: Annotated[
        str,
        typer.Option("--collector", metavar="URL", help="The collector that takes reports: https://HOST.", show_default=False),
    ],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the page on which people take part, to be hosted on any web server; a collector itself has it at /c/ID.

    The directory holds the page, its script and styles, the client, and the campaign's bytes: nothing is fetched from elsewhere,
    and reports go to the collector alone.

    Example: `lopub page campaign.json -o site --collector https://collector.example`

    More: docs/taking-part.md
    """
    check_directory(out, mark=MARK, force=force)
    campaign = Campaign.load(campaign_file)
    files = hosted_files(campaign, collector)
    with whole_directory(out, mark=MARK, force=force) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
    hashes = {name: integrity(name) for name in ("lopub.js", "page.js", "page.css")}
    lines = [f"{name}  {value}" for name, value in hashes.items()]
    told = {"campaign": campaign.id, "files": sorted(files), "integrity": hashes}
    tell(told, f"written: {out}, to be served over https by any web server", *lines, as_json=as_json)
