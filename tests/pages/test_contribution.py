"""The files of the contributor's page: built from their sources, small, named by their hashes, and safe with hostile texts."""

import base64
import gzip
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from commands import done, lopub
from javascript import FOLDER, ROOT, needs_node, node

import people
from lopub import CampaignRequest, Domain, Terms, make_campaign
from lopub.campaign.domain import Boolean
from lopub.pages.contribution import assets, contribution_page, hosted_files, integrity, policy

BUILT = ROOT / "src" / "lopub" / "pages" / "contribute"
MOST_GZIPPED = 60_000
CAMPAIGN = people.campaign(scheduled=True)


@needs_node
def test_the_committed_page_is_what_the_sources_give(tmp_path: Path):
    node("page/build.mjs", "--out", tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["page.css", "page.js", "page.js.map"]
    assert all((tmp_path / name).read_bytes() == (BUILT / name).read_bytes() for name in names), (
        "run `npm run build` in clients/js"
    )


@needs_node
def test_the_sources_of_the_page_have_the_types_that_they_say():
    found = subprocess.run(
        ["npx", "tsc", "--noEmit", "-p", "page"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout


def test_the_whole_page_is_small():
    files = hosted_files(CAMPAIGN, "https://collector.example")
    needed = [content for name, content in files.items() if not name.endswith(".map")]
    assert sum(len(gzip.compress(content, 9)) for content in needed) <= MOST_GZIPPED


def test_the_page_has_no_inline_script_or_style_and_names_every_file_by_its_hash():
    page = contribution_page(CAMPAIGN, questions="q", collector="c").decode()
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == ["", ""]
    assert "<style" not in page and "style=" not in page and not re.search(r"\son\w+=", page)
    for name in ("page.css", "lopub.js", "page.js"):
        digest = base64.b64encode(hashlib.sha384(assets()[name]).digest()).decode()
        assert (
            integrity(name) == f"sha384-{digest}" and f'{name}" integrity="sha384-{digest}"' in page
        )


def test_the_client_is_the_one_that_is_published():
    told = json.loads((ROOT / "src" / "lopub" / "pages" / "client" / "integrity.json").read_text())
    assert integrity("lopub.js") == told["lopub.js"]


def test_no_file_names_another_place():
    for name in ("page.js", "page.css", "index.html"):
        found = set(
            re.findall(
                r"https?://[^\s\"'`)]+",
                (hosted_files(CAMPAIGN, "https://c.example")[name]).decode(),
            )
        )
        assert found <= {f"https://c.example/campaigns/{CAMPAIGN.id}", "https://c.example;"}, name


def test_nothing_is_drawn_by_the_page_itself():
    text = (BUILT / "page.js").read_text()
    assert not re.search(
        r"Math\.random|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|console\.|sessionStorage",
        text,
    )
    assert len(re.findall("getRandomValues", text)) == 1  # whether there is one


def test_the_colours_are_those_of_all_pages():
    css = assets()["page.css"].decode()
    assert (
        css.startswith(":root{color-scheme:light dark;")
        and "--first:" in css
        and "prefers-color-scheme:dark" in css
    )


def test_hostile_texts_stay_texts():
    terms = Terms(
        name="x",
        title='<script>alert("1")</script>$id',
        description="'\"><img src=x>${id}",
        language="ar",
    )
    campaign = make_campaign(Domain((Boolean(name="a"),)), terms, CampaignRequest(epsilon=1))
    page = contribution_page(campaign, questions="q", collector='"><b>').decode()
    assert "<script>alert" not in page and "<img" not in page and "<b>" not in page
    assert '<html lang="ar" dir="rtl">' in page and "$id" in page and "${id}" in page


def test_a_policy_permits_one_place_beside_its_own():
    assert "connect-src 'self' https://c.example;" in policy("https://c.example")
    assert "frame-ancestors" not in policy() and policy(framed=True).endswith(
        "frame-ancestors 'self'"
    )
    assert policy(framed=True, sites="https://a.example  https://b.example").endswith(
        "'self' https://a.example https://b.example"
    )


# ---- lopub page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    CAMPAIGN.save(tmp_path / "campaign.json")
    return tmp_path


def written(folder: Path, collector: str, *more: str) -> str:
    return done(
        lopub("page", "campaign.json", "-o", "site", "--collector", collector, *more, cwd=folder)
    ).stdout


def test_the_command_writes_all_files_and_says_their_hashes(folder: Path):
    said = written(folder, "https://c.example/in/")
    names = {
        "index.html",
        "page.js",
        "page.js.map",
        "page.css",
        "lopub.js",
        "lopub.js.map",
        "campaign.json",
    }
    assert {path.name for path in (folder / "site").iterdir()} == names
    assert (folder / "site" / "campaign.json").read_bytes() == CAMPAIGN.canonical_bytes
    page = (folder / "site" / "index.html").read_text()
    assert f'data-collector="https://c.example/in/campaigns/{CAMPAIGN.id}"' in page
    assert "connect-src &#x27;self&#x27; https://c.example;" in page
    assert integrity("lopub.js") in said
    refused = lopub(
        "page", "campaign.json", "-o", "site", "--collector", "https://c.example", cwd=folder
    )
    assert refused.returncode == 1 and "--force" in refused.stderr
    told = json.loads(
        written(folder, f"https://c.example/campaigns/{CAMPAIGN.id}", "--force", "--json")
    )
    assert set(told["files"]) == names and told["campaign"] == CAMPAIGN.id


FOREIGN = (
    "http://c.example", "c.example", "https://c.example/?who=me", "https://me@c.example", "https://c.example/#x", "https://c:99999",
    f"https://c.example/campaigns/{'0' * 64}", "https://c.example/a b", "https://c.example/';",
)  # fmt: skip


def test_the_command_refuses_an_address_that_is_not_a_collectors(folder: Path):
    for address in FOREIGN:
        refused = lopub("page", "campaign.json", "-o", "site", "--collector", address, cwd=folder)
        assert refused.returncode == 1, address
        assert refused.stderr.startswith("lopub: --collector must "), address
        assert not (folder / "site").exists(), address


def test_no_text_for_people_says_that_only_noise_is_sent():
    """A report at epsilon 4 names the true answer most of the time: what is sent is a randomized version of the answers."""
    texts = [
        path
        for folder in (ROOT / "src" / "lopub", FOLDER / "page", ROOT / "docs", ROOT / "examples")
        for path in folder.rglob("*")
        if path.suffix in {".html", ".py", ".json", ".po", ".ts", ".js", ".md"}
        and "node_modules" not in path.parts
    ]
    assert len(texts) > 200
    wrong = re.compile(r"only noise is|noise only|keeps only noise|nur rauschen", re.IGNORECASE)
    assert [path.name for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_a_page_of_files_knows_that_no_header_says_who_may_frame_it():
    files = hosted_files(CAMPAIGN, "https://c.example")
    assert 'data-hosted="yes"' in files["index.html"].decode()
    assert 'data-hosted=""' in contribution_page(CAMPAIGN, questions="q", collector="c").decode()
