"""The page on which a person takes part: the same few files from a collector, or hosted anywhere.

Its script and styles are built from clients/js/page and lie in `contribute/`; the client that draws lies in `client/`. Nothing
here looks at a mechanism: the script does, on the person's device.
"""

import base64
import hashlib
import html
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

from lopub.campaign.campaign import Campaign
from lopub.pages.wording import Wording

HERE = Path(__file__).parent
RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".map": "application/json"}


@cache
def assets() -> Mapping[str, bytes]:
    """The files that all such pages share, by name."""
    made, client = HERE / "contribute", HERE / "client"
    return {
        **{name: (made / name).read_bytes() for name in ("page.js", "page.js.map")},
        **{name: (client / name).read_bytes() for name in ("lopub.js", "lopub.js.map")},
        "page.css": _tokens() + (made / "page.css").read_bytes(),
    }


def _tokens() -> bytes:
    """The colours of all pages of ours, which stand at the top of their common style sheet."""
    return (HERE / "templates" / "style.css").read_text().partition("*{")[0].encode()


@cache
def integrity(name: str) -> str:
    """The Subresource-Integrity hash of one of the files."""
    return f"sha384-{base64.b64encode(hashlib.sha384(assets()[name]).digest()).decode()}"


def policy(*places: str, framed: bool = False, sites: str = "") -> str:
    """The Content-Security-Policy of the page. places: what it may connect to, beside where it comes from; framed: as a header,
    which alone can say who may frame it. sites: who may, beside its own, apart by spaces."""
    connect = " ".join(("'self'", *places))
    rules = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", f"connect-src {connect}", "img-src data:",
        "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
    ]  # fmt: skip
    return "; ".join(
        [*rules, " ".join(("frame-ancestors 'self'", *sites.split()))] if framed else rules
    )


HEADERS = {
    "Content-Security-Policy": policy(framed=True),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""With which a collector serves the page."""


def contribution_page(
    campaign: Campaign,
    *,
    questions: str,
    collector: str,
    preview: bool = False,
    closed: bool = False,
    folder: str = "",
    meta_policy: str = "",
) -> bytes:
    """The page of a campaign.

    questions: where its bytes are; collector: its address at a collector, https://host/campaigns/ID. Both may be relative to the
    page. preview: shows examples only, keeps nothing and sends nothing. closed: nothing is asked
    any more. folder: where the shared files are, relative to the page. meta_policy: the policy of a page that is hosted as
    files, without headers; as it cannot say who may frame it, it does not start in the frame of another site.
    """
    wording, terms = Wording.of(campaign), campaign.terms
    policy_tag = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(meta_policy)}">\n'
        if meta_policy
        else ""
    )
    texts = {
        "language": terms.language,
        "direction": "rtl" if terms.language.lower().split("-")[0] in RIGHT_TO_LEFT else "ltr",
        "title": wording.title,
        "description": wording.description,
        "id": campaign.id,
        "questions": questions,
        "collector": "" if preview else collector,
        "preview": "yes" if preview else "",
        "closed": "yes" if closed else "",
        "hosted": "yes" if meta_policy else "",
        "folder": folder,
        "script_hash": integrity("page.js"),
        "client_hash": integrity("lopub.js"),
        "style_hash": integrity("page.css"),
    }
    filled = {name: html.escape(text) for name, text in texts.items()}
    return _template("index.html").substitute(filled, policy=policy_tag).encode()


def missing_page(sentence: str, *, folder: str = "") -> bytes:
    """A page that says why there is none, in one sentence."""
    texts = {"sentence": sentence, "folder": folder, "style_hash": integrity("page.css")}
    return (
        _template("missing.html")
        .substitute({name: html.escape(text) for name, text in texts.items()})
        .encode()
    )


@cache
def _template(name: str) -> Template:
    return Template((HERE / "contribute" / name).read_text(encoding="utf-8"))


def hosted_files(campaign: Campaign, origin: str, path: str = "") -> dict[str, bytes]:
    """All files of a page that is hosted anywhere, by name. origin: of the collector, https://host; path: before its routes."""
    address = f"{origin}{path}/campaigns/{campaign.id}"
    page = contribution_page(
        campaign, questions="campaign.json", collector=address, meta_policy=policy(origin)
    )
    return {**assets(), "campaign.json": campaign.canonical_bytes, "index.html": page}
