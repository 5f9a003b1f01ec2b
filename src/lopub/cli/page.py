"""`lopub page`: the page on which people take part, as files that can be hosted anywhere."""

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from lopub.campaign.campaign import Campaign
from lopub.cli.console import tell
from lopub.cli.options import OUTPUT, AsJson, CampaignFile, Force
from lopub.cli.outputs import check_directory
from lopub.errors import DomainError
from lopub.files import whole_directory
from lopub.pages.contribution import hosted_files, integrity

MARK = "page.js"


def page(
    campaign_file: CampaignFile,
    out: Annotated[
        Path,
        typer.Option(*OUTPUT, metavar="DIR", help="The directory to write.", show_default=False),
    ],
    collector: Annotated[
        str,
        typer.Option(
            "--collector",
            metavar="URL",
            help="The collector that takes reports: https://HOST, or http://127.0.0.1:PORT to try it.",
            show_default=False,
        ),
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
    files = hosted_files(campaign, *_place(campaign, collector))
    with whole_directory(out, mark=MARK, force=force) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
    hashes = {name: integrity(name) for name in ("lopub.js", "page.js", "page.css")}
    lines = [f"{name}  {value}" for name, value in hashes.items()]
    told = {
        "campaign": campaign.id,
        "files": sorted(files),
        "integrity": hashes,
        "output": str(out),
    }
    tell(
        told, f"written: {out}, to be served over https by any web server", *lines, as_json=as_json
    )


def _place(campaign: Campaign, collector: str) -> tuple[str, str]:
    """The collector's origin, and the path before its routes; the campaign's own address will do, too."""
    try:
        parts = urlsplit(collector.rstrip("/"))
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        raise DomainError("--collector must look like https://HOST") from None
    is_local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    path = parts.path.removesuffix(f"/campaigns/{campaign.id}")
    if (
        not parts.hostname
        or parts.query
        or parts.fragment
        or parts.username
        or not (parts.scheme == "https" or is_local)
    ):
        raise DomainError(
            "--collector must look like https://HOST, without a name, a query or a fragment"
        )
    if "/campaigns/" in path or not re.fullmatch(r"(/[\w.~-]+)*", path, re.ASCII):
        raise DomainError(
            "--collector must be the address of a collector, or of this campaign there"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}", path
