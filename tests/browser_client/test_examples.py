"""The examples for browsers run: a script tag, a bundler, and a SurveyJS survey from its JSON to a report that is counted."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contributing import Visitor, chromium, hosted, made, needs_chromium, proxied
from javascript import FOLDER, ROOT, SHIPPED, needs_node, node

from lopub import Client, MemoryStore
from lopub.errors import DomainError

pytest.importorskip("starlette")

import load
from servers import Running, running_collector

EXAMPLES = ROOT / "examples"
TWO: dict[str, Any] = {
    "name": "two",
    "schema": {"fields": [{"name": "smoker", "type": "boolean"},
                          {"name": "city", "type": "string", "categories": ["Bonn", "Oslo", "Rome"]}]},
}  # fmt: skip
SURVEY: dict[str, Any] = {
    "title": {"default": "Work", "de": "Arbeit"},
    "pages": [
        {"elements": [
            {"type": "radiogroup", "name": "fuel", "title": "Fuel?", "isRequired": True, "showOtherItem": True,
             "choices": ["gas", {"value": 2, "text": {"default": "Wood", "de": "Holz"}}]},
            {"type": "boolean", "name": "job", "isRequired": True},
            {"type": "panel", "name": "p", "elements": [
                {"type": "text", "inputType": "number", "name": "hours", "min": 0, "max": 80, "visibleIf": "{job} = true"}]},
        ]},
        {"elements": [
            {"type": "checkbox", "name": "reads", "choices": ["books", "blogs", "papers"], "showNoneItem": True,
             "maxSelectedChoices": 2},
            {"type": "dropdown", "name": "genre", "choices": ["novels", "poems"], "isRequired": True,
             "visibleIf": "{reads} contains 'books' and {fuel} anyof ['gas', '2']"},
            {"type": "rating", "name": "mood", "rateMax": 7, "isRequired": True},
            {"type": "text", "inputType": "date", "name": "moved", "min": "2024-01-01", "max": "2026-12-31"},
            {"type": "comment", "name": "anything"},
            {"type": "boolean", "name": "odd", "isRequired": True, "visibleIf": "({mood} > 3) or {job}"},
        ]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def collector(folder: Path) -> Iterator[Running]:
    address = f"sqlite:///{folder}/lopub.db"
    load.opened(address, made(TWO, folder, epsilon=2))
    with running_collector(address) as running:
        yield running


class TestInChromium:
    """With a collector of another origin."""

    pytestmark = needs_chromium

    def test_a_page_with_a_script_tag_sends_a_report(
        self, visitor: Visitor, collector: Running, folder: Path
    ):
        campaign, site = made(TWO, folder, epsilon=2), folder / "script-tag"
        shutil.copytree(EXAMPLES / "script-tag", site)
        shutil.copy(SHIPPED / "lopub.js", site)
        page = (site / "index.html").read_text()
        with proxied(collector.port) as proxy, hosted(site) as address:
            url = f"{proxy.address}/campaigns/{campaign.id}"
            (site / "index.html").write_text(
                page.replace("https://collector.example/campaigns/ID", url)
            )
            visitor.driver.get(f"{address}/")
            visitor.until_said("Epsilon is 2.000000", "#epsilon")
            visitor.run(
                "document.querySelector('[name=smoker]').click(); document.querySelector('select').value = 'Oslo';"
            )
            visitor.press("button").until_said("Sent", "[role=status]")
            assert len(proxy.reports) == 1 and b"Oslo" not in b"".join(proxy.requests)
            assert visitor.run("return location.search") == ""

    @needs_node
    def test_an_app_with_a_bundler_sends_a_report(
        self, visitor: Visitor, collector: Running, folder: Path
    ):
        campaign, site = made(TWO, folder, epsilon=2), folder / "bundler"
        site.mkdir()
        build = """import { build } from "esbuild";
          const [, , entry, outfile, lopub] = process.argv;
          await build({ entryPoints: [entry], bundle: true, format: "esm", outfile, alias: { lopub }, logLevel: "error" });"""
        script = FOLDER / "node_modules" / ".example.mjs"
        script.write_text(build)
        node(
            script, EXAMPLES / "bundler" / "take-part.mjs", site / "app.mjs", SHIPPED / "lopub.mjs"
        )
        script.unlink()
        (site / "index.html").write_text("<!doctype html><title>app</title>")
        with proxied(collector.port) as proxy, hosted(site) as address:
            visitor.driver.get(f"{address}/")
            visitor.forget()
            visitor.driver.get(f"{address}/")
            run = """const [url, answers, options, done] = arguments;
              const walk = async ({ takePart, goOn }) => [await takePart(url, answers, options), await goOn(url)];
              import("/app.mjs").then(walk).then(([said]) => done(said), (error) => done(String(error)));"""
            url, answers = (
                f"{proxy.address}/campaigns/{campaign.id}",
                {"smoker": True, "city": "Rome"},
            )
            assert visitor.driver.execute_async_script(run, url, answers, {}) == "sent"
            assert len(proxy.reports) == 1 and len(set(proxy.reports)) == 1
            assert (
                visitor.driver.execute_async_script(run, url, {}, {"epsilonCap": 1})
                == "reveals too much"
            )


def converted(folder: Path, script: str, *given: Any) -> Any:
    """What the recipe makes of something."""
    path = folder / "convert.mjs"
    recipe = json.dumps(str(EXAMPLES / "surveyjs" / "surveyjs.mjs"))
    given_and_made = (
        f"const given = JSON.parse(process.argv[2]);\nconsole.log(JSON.stringify({script}));"
    )
    path.write_text(f"import {{ draftOf, recordOf }} from {recipe};\n{given_and_made}")
    return json.loads(node(path, json.dumps(given)))


@needs_node
def test_a_surveyjs_survey_becomes_a_draft(folder: Path):
    made_of = converted(folder, "draftOf(given[0], 'work')", SURVEY)
    fields = {field["name"]: field for field in made_of["draft"]["schema"]["fields"]}
    assert list(fields) == ["fuel", "job", "hours", "reads", "genre", "mood", "moved", "odd"]
    assert fields["fuel"]["categories"] == [
        "gas",
        {"value": "2", "label": {"en": "Wood", "de": "Holz"}},
    ]
    assert fields["fuel"]["other"] is True and made_of["draft"]["title"] == {
        "en": "Work",
        "de": "Arbeit",
    }
    assert fields["hours"]["onlyIf"] == {"field": "job", "equals": True}
    assert fields["genre"]["onlyIf"] == {
        "and": [{"field": "reads", "includes": "books"}, {"field": "fuel", "oneOf": ["gas", "2"]}]
    }
    assert fields["reads"]["none"] == "none" and fields["reads"]["atMost"] == 2
    assert fields["odd"]["constraints"] == {"required": False}
    assert [note.partition(":")[0] for note in made_of["notes"]] == [
        "hours",
        "moved",
        "anything",
        "odd",
    ]
    assert made(made_of["draft"], folder, epsilon=4).domain.names[0] == "fuel"


@needs_node
def test_a_surveyjs_result_becomes_a_record_that_the_client_takes(folder: Path):
    draft = converted(folder, "draftOf(given[0], 'work')", SURVEY)["draft"]
    campaign = made(draft, folder, epsilon=4)
    result = {
        "fuel": 2,
        "job": True,
        "hours": 38.5,
        "reads": ["books"],
        "genre": "poems",
        "mood": 7,
        "moved": "2025-05-31",
    }
    record = converted(
        folder,
        "recordOf(given[0], given[1], (name) => !given[2].includes(name))",
        draft,
        result,
        [],
    )
    assert record == {**result, "fuel": "2", "odd": None}
    assert Client(campaign, store=MemoryStore()).encode(record).to_bytes()
    shown = "recordOf(given[0], given[1], (name) => !given[2].includes(name))"
    few = converted(
        folder, shown, draft, {"fuel": "other", "job": False, "mood": 1}, ["hours", "genre", "odd"]
    )
    assert few == {"fuel": "other", "job": False, "reads": None, "mood": 1, "moved": None}
    with pytest.raises(
        DomainError, match="odd"
    ):  # its visibleIf is not carried over, so the campaign asks everybody
        Client(campaign, store=MemoryStore()).encode(few)
    assert Client(campaign, store=MemoryStore()).encode({**few, "odd": None}).to_bytes()
