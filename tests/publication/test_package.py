"""The descriptors of a publication: valid for the tools that read them, true to the numbers, safe from any text."""

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import frictionless
import numpy as np
import pytest
import yaml
from jsonschema import Draft7Validator
from markdown_it import MarkdownIt

from environments import output_of, python_with
from lopub import (
    Binned,
    Boolean,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    IntegerRange,
    JointDistribution,
    ReportBatch,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.publication import Publication, publish
from lopub.publication.render.card import model_card, plain
from lopub.publication.render.deployment import UNKNOWN, deployment, scalar
from lopub.publication.render.package import package_files, package_licence
from lopub.publication.render.wording import day_of

SLOT = (date(2026, 5, 31) - date(1970, 1, 1)).days
DESCRIPTORS = [
    "MODEL_CARD.md",
    "croissant.json",
    "datapackage.json",
    "dp-deployment.yaml",
    "metadata.sdv.json",
]
TERMS = Terms(
    name="town.survey_1",
    title="How the town\nlives",
    description="Asked in *spring*.\n\n# no heading\n| no | table |",
    licence="CC-BY-4.0",
)
PLAIN = Domain(
    (
        Categorical(
            name="home",
            values=("rents", "owns"),
            title="Home",
            question="Do you rent?",
            labels={"rents": "I rent"},
        ),
        Boolean(name="car", missing=True),
        IntegerRange(name="rooms", minimum=1, maximum=4, missing=True),
        Binned(name="income", edges=("0", "1000", "2500.5", "9000"), missing=True),
        Categorical(name="mood", values=("bad", "fair", "good"), is_ordered=True, missing=True),
    )
)
NASTY = [
    ("no", ("yes", "no", "null", "~")),
    ("1e3", ("1", "01", "1.0", "0x1")),
    (":", ("-", "?", "a: b", "# c")),
    ("<script>alert(1)</script>", ("<b>", "&lt;", "</td>")),
    ("a|b", ("|", "||", "\\|", "\\")),
    ('say "x", please', ('"', '""', "'", ",")),
    ("# head", ("*a*", "_b_", "`c`", "[d](http://e)")),
    ("- list", ("1. one", "=1+1", "@x", "%s {0} {{x}}")),
    ("ünïcode 漢字 🦊", ("e\u0301", "\u202eabc", "a\u2028b", "\ufeffz", "x\u0085y")),
    ("$x$ ~y~ ^z^ ![i](j)", ("NaN", "inf", "None", "true")),
]
HOSTILE = Domain(tuple(Categorical(name=name, values=values) for name, values in NASTY))
TEXTS = [
    "",
    " ",
    "no",
    "1e3",
    "2026-01-01",
    ": ",
    "- ",
    "#",
    "a\nb",
    "\t",
    "\x00",
    "\x7f",
    "\u2028",
    "\ufeff",
    "\uffff",
    "🦊",
    '"\\',
    "'",
]


def answers(domain: Domain, n: int = 1500) -> Dataset:
    """Every attribute follows the one before it three times of four."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(domain.sizes[0], size=n)]
    for size in domain.sizes[1:]:
        columns.append(
            np.where(rng.random(n) < 0.75, columns[-1] % size, rng.integers(size, size=n))
        )
    return Dataset(domain, np.stack(columns, axis=1))


def batch_of(domain: Domain, terms: Terms, slot: int | None = SLOT) -> ReportBatch:
    return simulate(
        answers(domain), make_campaign(domain, terms, CampaignRequest(epsilon=7)), seed=1, slot=slot
    )


@cache
def publication_of(kind: str) -> Publication:
    if kind == "hostile":
        terms = Terms(
            name="x",
            title='<i>"no"</i> | # \u202e',
            description="---\n- a\n\x00",
            licence="free for all: see <me>",
        )
        return publish(batch_of(HOSTILE, terms), rows=60, most_cells=30, seed=2)
    if kind == "bare":
        return publish(batch_of(PLAIN, Terms(name="bare"), slot=None), rows=50)
    if kind == "counts":
        return publish(count(batch_of(PLAIN, TERMS)), rows=50)
    if kind == "paper":
        return publish(batch_of(PLAIN, TERMS), rows=50, structure="paper", method="em")
    if kind == "drawn":
        margin = JointDistribution((PLAIN["home"],), np.array([0.25, 0.75]))
        return publish(batch_of(PLAIN, TERMS), rows=50, numbers="draw", copies=3, margins=[margin])
    return publish(batch_of(PLAIN, TERMS), rows=200, most_cells=20, seed=4)


KINDS = ["ordinary", "hostile", "bare", "counts", "paper", "drawn"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of publication as a directory."""
    root = tmp_path_factory.mktemp("publications")
    for kind in KINDS:
        publication_of(kind).save(root / kind)
    return {kind: root / kind for kind in KINDS}


def read(directory: Path, name: str) -> Any:
    return json.loads((directory / name).read_text(encoding="utf-8"))


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- all of them


@pytest.mark.parametrize("kind", KINDS)
def test_descriptors_are_there_with_their_hashes_in_the_manifest(
    written: dict[str, Path], kind: str
):
    files = read(written[kind], "manifest.json")["files"]
    for name in DESCRIPTORS:
        assert files[name] == hashlib.sha256((written[kind] / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["ordinary", "hostile", "drawn"])
def test_the_same_publication_gives_the_same_bytes(written: dict[str, Path], kind: str):
    again = package_files(publication_of(kind), written[kind])
    assert sorted(again) == DESCRIPTORS
    assert again == {name: (written[kind] / name).read_bytes() for name in DESCRIPTORS}


def test_without_a_day_on_any_report_no_day_is_made_up(written: dict[str, Path]):
    assert "datePublished" not in read(written["bare"], "croissant.json")
    for name in DESCRIPTORS:
        assert not re.search(
            r"\b(19|20)\d\d-\d\d-\d\d\b", (written["bare"] / name).read_text(encoding="utf-8")
        ), name


def test_days_are_those_of_the_reports(written: dict[str, Path]):
    assert read(written["ordinary"], "croissant.json")["datePublished"] == "2026-05-31"
    assert "from 2026-05-31 to 2026-05-31" in (written["ordinary"] / "MODEL_CARD.md").read_text()


@pytest.mark.parametrize("slot", [None, 0, 2**32 - 1])
def test_a_slot_without_a_calendar_day_has_none(slot: int | None):
    assert day_of(slot) is None


# ---- datapackage.json


@pytest.mark.parametrize("kind", KINDS)
def test_frictionless_finds_nothing_wrong(written: dict[str, Path], kind: str):
    report = frictionless.validate(str(written[kind] / "datapackage.json"))
    assert report.valid, report.flatten(["name", "type", "note"])
    assert not [warning for task in report.tasks for warning in task.warnings]
    n_rows = {task.name: task.stats.get("rows") for task in report.tasks}
    assert n_rows["synthetic"] == len(publication_of(kind).synthetic)


@pytest.mark.parametrize(
    "damaged", ["data/synthetic.csv", "data/synthetic.parquet", "estimates/pairs.csv"]
)
def test_frictionless_finds_a_changed_file(tmp_path: Path, damaged: str):
    publication_of("ordinary").save(tmp_path / "out")
    with open(tmp_path / "out" / damaged, "ab") as file:
        file.write(b"\n")
    assert not frictionless.validate(str(tmp_path / "out" / "datapackage.json")).valid


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_is_a_resource_with_its_size_and_hash(written: dict[str, Path], kind: str):
    hashes = read(written[kind], "manifest.json")["files"]
    resources = {
        resource["path"]: resource
        for resource in read(written[kind], "datapackage.json")["resources"]
    }
    assert sorted(resources) == sorted(
        path for path in hashes if path.endswith((".csv", ".parquet"))
    )
    for path, resource in resources.items():
        assert resource["hash"] == f"sha256:{hashes[path]}"
        assert resource["bytes"] == (written[kind] / path).stat().st_size
        assert ("schema" in resource) == path.endswith(".csv")


def fields_of(directory: Path, resource: str = "synthetic") -> dict[str, Any]:
    found = [r for r in read(directory, "datapackage.json")["resources"] if r["name"] == resource]
    return {field["name"]: field for field in found[0]["schema"]["fields"]}


def test_fields_describe_the_table_as_it_was_published(written: dict[str, Path]):
    fields = fields_of(written["ordinary"])
    labels = ["[0, 1000]", "(1000, 2500.5]", "(2500.5, 9000]"]
    assert list(fields) == list(PLAIN.names)
    assert fields["home"]["categories"][0] == {"value": "rents", "label": "I rent"}
    assert fields["home"]["constraints"] == {"required": True, "enum": ["rents", "owns"]}
    assert (fields["car"]["type"], fields["car"]["constraints"]) == ("boolean", {"required": False})
    assert fields["rooms"]["constraints"] == {"required": False, "minimum": 1, "maximum": 4}
    assert (fields["income"]["type"], fields["income"]["constraints"]["enum"]) == ("string", labels)
    assert fields["mood"]["categoriesOrdered"] is True


def test_drawn_numbers_are_numbers(written: dict[str, Path]):
    income = fields_of(written["drawn"])["income"]
    assert income["type"] == "number"
    assert income["constraints"] == {"required": False, "minimum": 0.0, "maximum": 9000.0}
    assert "synthetic-3" in {
        resource["name"] for resource in read(written["drawn"], "datapackage.json")["resources"]
    }


@pytest.mark.parametrize("kind", ["ordinary", "drawn"])
def test_estimates_have_the_columns_that_their_schema_names(written: dict[str, Path], kind: str):
    for name in ("marginals", "pairs", "dependence", "numbers", "fit"):
        head = (written[kind] / "estimates" / f"{name}.csv").read_text().splitlines()[0].split(",")
        assert list(fields_of(written[kind], name)) == head


@pytest.mark.parametrize(
    ("licence", "named"),
    [
        ("CC-BY-4.0", {"name": "CC-BY-4.0"}),
        ("https://example.org/terms", {"path": "https://example.org/terms"}),
        ("ask\nme", {"name": "other", "title": "ask me"}),
    ],
)
def test_a_licence_is_named_by_identifier_address_or_text(licence: str, named: dict[str, str]):
    assert package_licence(licence) == named


def test_a_campaign_without_a_licence_states_none(written: dict[str, Path]):
    assert "licenses" not in read(written["bare"], "datapackage.json")
    assert "license" not in read(written["bare"], "croissant.json")
    assert "The campaign states none" in (written["bare"] / "MODEL_CARD.md").read_text()


# ---- dp-deployment.yaml

TEXT: dict[str, Any] = {"type": "string"}


def members(properties: dict[str, Any], required: str = "") -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required.split(),
    }


def one_of(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


CURATOR = {
    "type": "object",
    "required": ["data_curator_name", "data_curator_type"],
    "properties": {
        "data_curator_name": TEXT,
        "data_curator_type": one_of("Government", "Industry", "Nonprofit"),
    },
}
BASIC = {
    "name": TEXT,
    "data_curators": {"type": "array", "items": CURATOR, "minItems": 1},
    "description": TEXT,
    "intended_use": TEXT,
    "data_product_type": one_of(
        "Summary statistics",
        "Machine learning model",
        "Dataset",
        "Synthetic data",
        "Interactive API",
        "SQL queries",
    ),
    "data_product_region": TEXT,
    "data_product_sector": one_of(
        "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"
    ),
    "publication_date": {"type": "string", "format": "date"},
}
VARIANT = {
    "variant_name": one_of(
        "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
    ),
    "data_domain": TEXT,
    "unprotected_quantities": TEXT,
}
LOSS = {
    "privacy_unit": TEXT,
    "privacy_unit_details": TEXT,
    "number_of_privacy_units": {"type": "integer"},
    "privacy_parameters": members(
        {
            "epsilon": {"type": "number"},
            "delta": {"type": ["number", "string"]},
            "rho": {"type": "number"},
        }
    ),
    "privacy_parameters_details": {},
}
MODEL = {
    "model_name": one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
    "model_name_details": TEXT,
    "trust_assumptions": TEXT,
    "actors": {},
    "release_type": one_of("One release", "Many releases"),
    "release_type_details": TEXT,
    "data_source_type": one_of("Static", "Dynamic"),
    "data_source_type_details": TEXT,
    "access_type": one_of("Interactive", "Non-interactive"),
    "access_type_details": TEXT,
}
IMPLEMENTATION = {
    "preprocessing_and_hyperparameter_tuning": TEXT,
    "mechanisms": TEXT,
    "composition": TEXT,
    "post_processing": TEXT,
    "justification": TEXT,
    "utility": {},
    "additional_information": {},
}
ADMINISTRATIVE = {
    "evidence_sources": {"type": "object"},
    "status": one_of(
        "Converted",
        "Draft",
        "Pending",
        "Changes Required",
        "Approved",
        "Approved (Update Requested)",
        "Approved (Pending)",
    ),
    "registry_authors": {"type": "array", "items": TEXT, "minItems": 1},
    "tier": one_of(1, 2, 3),
}
DEPLOYMENT = {
    "basic": members(
        BASIC,
        "name data_curators description intended_use data_product_type data_product_region publication_date",
    ),
    "dp_variant": members(VARIANT),
    "privacy_loss": members(LOSS),
    "deployment_model": members(MODEL),
    "implementation": members(IMPLEMENTATION),
    "administrative": members(ADMINISTRATIVE, "status registry_authors tier"),
}
REGISTRY = members(
    {"url_slug": TEXT, "deployment": members(DEPLOYMENT, "basic administrative")},
    "url_slug deployment",
)
"""The facts of schemas/deployments-schema.yaml in https://github.com/opendp/deployments-registry-data, as of its commit 057e5d81:
names, their order, types, choices and what is required. Its check uses JSON Schema draft 7 with formats, as we do."""


def entry_in(directory: Path) -> Any:
    return yaml.safe_load((directory / "dp-deployment.yaml").read_text(encoding="utf-8"))


def mistakes(entry: Any) -> list[str]:
    validator = Draft7Validator(REGISTRY, format_checker=Draft7Validator.FORMAT_CHECKER)
    return sorted("/".join(map(str, error.path)) for error in validator.iter_errors(entry))


def filled_in(entry: Any) -> Any:
    """What a steward adds."""
    entry["deployment"]["basic"] |= {
        "data_curators": [{"data_curator_name": "The town", "data_curator_type": "Government"}],
        "data_product_region": "The town",
        "publication_date": "2026-06-15",
    }
    return entry


@pytest.mark.parametrize("kind", KINDS)
def test_the_entry_is_what_the_registry_takes_once_the_steward_filled_it_in(
    written: dict[str, Path], kind: str
):
    assert mistakes(filled_in(entry_in(written[kind]))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_registry_refuses_the_entry_until_the_curator_is_named(
    written: dict[str, Path], kind: str
):
    """No guess stands in for who published the data: that would be a false statement in a public register."""
    dates = ["deployment/basic/publication_date"] if kind == "bare" else []
    assert mistakes(entry_in(written[kind])) == [
        "deployment/basic/data_curators/0/data_curator_type",
        *dates,
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_yaml_readers_see_the_entry_that_was_meant(written: dict[str, Path], kind: str):
    assert entry_in(written[kind]) == deployment(publication_of(kind))


def test_members_stand_in_the_order_of_the_registry(written: dict[str, Path]):
    parts = entry_in(written["ordinary"])["deployment"]
    assert list(parts) == list(DEPLOYMENT)
    for name, part in parts.items():
        order = list(DEPLOYMENT[name]["properties"])
        assert [order.index(key) for key in part] == sorted(order.index(key) for key in part), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_entry_states_the_numbers_of_the_manifest(written: dict[str, Path], kind: str):
    manifest, parts = read(written[kind], "manifest.json"), entry_in(written[kind])["deployment"]
    assert parts["privacy_loss"]["privacy_parameters"] == {
        "epsilon": manifest["campaign"]["epsilon"]
    }
    assert parts["privacy_loss"]["number_of_privacy_units"] == manifest["reports"]["accepted"]
    assert (parts["deployment_model"]["model_name"], parts["dp_variant"]["variant_name"]) == (
        "Local",
        "Pure DP",
    )
    assert manifest["campaign"]["id"] in parts["implementation"]["additional_information"]


def test_every_unknown_has_a_remark(written: dict[str, Path]):
    lines = (written["bare"] / "dp-deployment.yaml").read_text().splitlines()
    unknown = [line for line in lines[1:] if UNKNOWN in line]
    assert len(unknown) == 4 and all("  # " in line for line in unknown)


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_gives_every_text_back(text: str):
    assert yaml.safe_load(f"key: {scalar(text)}  # remark") == {"key": text}


@pytest.mark.parametrize("number", [1e-05, 1e22, 0.1, 4.0, 12, 2**70])
def test_yaml_gives_every_number_back(number: float):
    assert yaml.safe_load(scalar(number)) == number


# ---- croissant.json

CROISSANT_CHECK = """
import json, sys
import mlcroissant

found = {}
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(path)
    issues = dataset.metadata.ctx.issues
    text = lambda v: v.decode() if isinstance(v, bytes) else "" if v is None or v != v else str(v)
    rows = [[text(value) for value in record.values()] for record in dataset.records("synthetic")]
    found[path] = {"errors": sorted(issues.errors), "warnings": sorted(issues.warnings), "rows": rows}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def checked(written: dict[str, Path]) -> dict[str, Any]:
    """What mlcroissant says of every kind of publication."""
    python = python_with("mlcroissant>=1.0")
    said = json.loads(
        output_of(
            python, CROISSANT_CHECK, *(str(path / "croissant.json") for path in written.values())
        )
    )
    return dict(zip(written, said.values(), strict=True))


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_mlcroissant_finds_no_error(checked: dict[str, Any], kind: str):
    recommended = {
        re.search(r"schema.org/(\w+)", warning)[1] for warning in checked[kind]["warnings"]
    }  # type: ignore[index]
    assert checked[kind]["errors"] == []
    assert recommended <= {"datePublished", "license"}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["ordinary", "counts", "drawn"])
def test_mlcroissant_loads_the_records_of_the_table(
    checked: dict[str, Any], written: dict[str, Path], kind: str
):
    def same(ours: str, theirs: str) -> bool:
        number = re.fullmatch(r"[-+.\de]+", ours)
        return (
            float(ours) == float(theirs)
            if number
            else ours == {"True": "true", "False": "false"}.get(theirs, theirs)
        )

    rows = rows_of(written[kind] / "data" / "synthetic.csv")
    for row, record in zip(rows, checked[kind]["rows"], strict=True):
        assert all(map(same, row.values(), record)), (row, record)


@pytest.mark.parametrize("kind", KINDS)
def test_croissant_names_every_file_with_its_hash(written: dict[str, Path], kind: str):
    about, hashes = (
        read(written[kind], "croissant.json"),
        read(written[kind], "manifest.json")["files"],
    )
    assert (about["conformsTo"], about["isLiveDataset"]) == (
        "http://mlcommons.org/croissant/1.0",
        False,
    )
    assert {file["contentUrl"]: file["sha256"] for file in about["distribution"]} == {
        path: digest for path, digest in hashes.items() if path.endswith((".csv", ".parquet"))
    }
    ids = [item["@id"] for item in about["distribution"]]
    for record_set in about["recordSet"]:
        ids += [record_set["@id"], *(field["@id"] for field in record_set["field"])]
    assert len(set(ids)) == len(ids)


# ---- metadata.sdv.json


def test_sdv_sees_the_columns_as_they_are(written: dict[str, Path]):
    metadata = read(written["ordinary"], "metadata.sdv.json")
    kinds = {name: column["sdtype"] for name, column in metadata["columns"].items()}
    assert metadata["METADATA_SPEC_VERSION"] == "SINGLE_TABLE_V1"
    assert kinds == {
        "home": "categorical",
        "car": "boolean",
        "rooms": "numerical",
        "income": "categorical",
        "mood": "categorical",
    }
    assert read(written["drawn"], "metadata.sdv.json")["columns"]["income"] == {
        "sdtype": "numerical"
    }


# ---- MODEL_CARD.md


def card_of(directory: Path) -> list[Any]:
    """The card as a reader of Markdown sees it: its tokens."""
    return (
        MarkdownIt("commonmark")
        .enable("table")
        .parse((directory / "MODEL_CARD.md").read_text(encoding="utf-8"))
    )


def shown(token: Any) -> str:
    return "".join(child.content for child in token.children or [])


def tables_of(directory: Path) -> list[list[list[str]]]:
    tables: list[list[list[str]]] = []
    for token in card_of(directory):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif (
            token.type == "inline"
            and tables
            and token.level > 2
            and tables[-1]
            and token.map is not None
        ):
            tables[-1][-1].append(shown(token))
    return tables


def inner_types(directory: Path) -> Iterator[tuple[str, str]]:
    for token in card_of(directory):
        yield token.type, token.content
        yield from ((child.type, child.content) for child in token.children or [])


def visible(name: str) -> str:
    return re.sub(
        "[\u202a-\u202e\u2066-\u2069\x00-\x1f\x7f-\x9f]", "\ufffd", " ".join(name.split())
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_shows_every_question(written: dict[str, Path], kind: str):
    head, *rows = tables_of(written[kind])[0]
    assert head == ["column", "question", "answers", "only if"]
    assert [row[0] for row in rows] == [
        visible(name) for name in publication_of(kind).campaign.domain.names
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_shows_every_attribute_with_its_epsilon(written: dict[str, Path], kind: str):
    publication = publication_of(kind)
    epsilons = {row[0]: float(row[1]) for row in tables_of(written[kind])[1][1:]}
    assert list(epsilons) == [visible(name) for name in publication.campaign.domain.names]
    for name, shown_as in zip(publication.campaign.domain.names, epsilons.values(), strict=True):
        assert 0 <= shown_as - publication.campaign.epsilon_of(name) < 1.01e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_states_the_errors_of_the_marginals(written: dict[str, Path], kind: str):
    errors: dict[str, list[float]] = {}
    for row in rows_of(written[kind] / "estimates" / "marginals.csv"):
        errors.setdefault(visible(row["attribute"]), []).append(
            float(row["standard_error"] or "nan")
        )
    head, *rows = tables_of(written[kind])[2]
    assert head[3:] == ["largest standard error", "values below their standard error"]
    assert {row[0]: row[3] for row in rows} == {
        name: f"{np.nanmax(own):.4g}" for name, own in errors.items()
    }
    in_doubt = read(written[kind], "estimates/summary.json")["support"]["marginal_cells_in_doubt"]
    assert sum(int(row[4]) for row in rows) == in_doubt


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_cites_the_numbers_of_manifest_and_summary(written: dict[str, Path], kind: str):
    card = (written[kind] / "MODEL_CARD.md").read_text(encoding="utf-8")
    manifest, figures = (
        read(written[kind], "manifest.json"),
        read(written[kind], "estimates/summary.json"),
    )
    dependence = figures["dependence"]
    assert (
        f"{manifest['reports']['accepted']:,} reports were used, {figures['reports']['refused']:,} refused."
        in card
    )
    assert f"Largest misfit: {dependence['largest_misfit']:.4f}," in card
    assert f"{dependence['edges']:,} edges among {dependence['pairs']:,} pairs" in card
    assert (
        f"{dependence['cliques']:,} cliques of at most {manifest['settings']['most_cells']:,} cells"
        in card
    )
    assert f"{dependence['dropped_edges']:,} edges were dropped" in card
    assert f"seed {manifest['settings']['seed']}; LoPub {manifest['lopub']}" in card
    assert manifest["campaign"]["id"] in card
    if kind != "paper":
        assert f"For {figures['support']['independent_pairs']:,} of them independence" in card


def test_a_card_says_where_to_take_a_number_from():
    ordinary = publication_of("ordinary")
    assert ordinary.counts is not None
    assert "Where a number matters, ask for it, with `lopub query`" in model_card(ordinary)
    without = model_card(replace(ordinary, counts=None))
    assert (
        "Where a number matters, take it from `estimates/`" in without
        and "ask for it" not in without
    )


def test_descriptors_tell_shrunk_figures_from_others(written: dict[str, Path]):
    resources = {
        one["name"]: one for one in read(written["ordinary"], "datapackage.json")["resources"]
    }
    told = {
        (name, field["name"]): field.get("description", "")
        for name in resources
        for field in resources[name].get("schema", {}).get("fields", [])
    }
    assert all("may be shrunk" in told[name, "probability"] for name in ("marginals", "pairs"))
    assert "not shrunk" in told["numbers", "value"]
    assert told["findings", "stated"].startswith("Only what says yes may be quoted.")


def test_dropped_edges_are_named(written: dict[str, Path]):
    publication = publication_of("ordinary")
    assert publication.dropped
    card = (written["ordinary"] / "MODEL_CARD.md").read_text()
    for a, b in publication.dropped:
        assert (
            f"- {publication.names[a]} – {publication.names[b]}: " in card.split("Dropped edges")[1]
        )


def test_public_margins_are_named_where_there_were_any(written: dict[str, Path]):
    assert "Public margins took the place of estimates, and the rest was raked to them: home." in (
        written["drawn"] / "MODEL_CARD.md"
    ).read_text(encoding="utf-8")
    assert (
        "raked to them: home."
        in entry_in(written["drawn"])["deployment"]["implementation"]["post_processing"]
    )
    assert "Public margins" not in (written["ordinary"] / "MODEL_CARD.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_campaign_becomes_markup(written: dict[str, Path], kind: str):
    tables = {f"estimates/{name}.csv" for name in ("dependence", "marginals", "numbers", "pairs")}
    ours = {
        "data/",
        "estimates/",
        "campaign.json",
        "manifest.json",
        "lopub query",
        "lopub.open_study",
    } | tables
    headings = [token for token in card_of(written[kind]) if token.type == "heading_open"]
    for name, content in inner_types(written[kind]):
        assert name not in (
            "html_block",
            "html_inline",
            "link_open",
            "image",
            "hr",
            "fence",
            "code_block",
            "ordered_list_open",
        )
        assert name != "code_inline" or content in ours
    assert len(headings) == 11
    assert len(tables_of(written[kind])) == 3


@pytest.mark.parametrize(
    "text",
    [
        "# a",
        "- a",
        "1. a",
        "+ a",
        "=== ",
        "***",
        "<b>",
        "[a](b)",
        "a|b",
        "`a`",
        "&lt;",
        "~~a~~",
        "12) a",
        "a_b_c",
    ],
)
def test_plain_shows_a_text_as_it_is(text: str):
    paragraph, inline, _ = (
        MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(plain(text))
    )
    assert (paragraph.type, shown(inline)) == ("paragraph_open", text.strip())


def test_a_high_epsilon_is_called_so(written: dict[str, Path]):
    assert "Beware: epsilon" not in (written["ordinary"] / "MODEL_CARD.md").read_text()
    batch = simulate(
        answers(PLAIN), make_campaign(PLAIN, TERMS, CampaignRequest(epsilon=12)), seed=1
    )
    high = publish(batch, rows=10)
    assert "Beware: epsilon" in package_files(high, Path("nowhere"))["MODEL_CARD.md"].decode()
    assert (
        json.loads(package_files(replace(high), Path("nowhere"))["datapackage.json"])["resources"]
        == []
    )
