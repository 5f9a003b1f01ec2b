"""A publication on disk: what its files say, that they are whole or not there, and the same bytes every time."""

import csv
import errno
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from test_publication import DOMAIN, asked_directly, batch_of, people, three_way

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    IntegerRange,
    StoreError,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.publication import Publication, publish

FILES = [
    "campaign.json",
    "data/synthetic.csv",
    "data/synthetic.parquet",
    "estimates/dependence.csv",
    "estimates/marginals.csv",
    "estimates/model.json",
    "estimates/pairs.csv",
    "manifest.json",
]


@pytest.fixture(scope="module")
def publication() -> Publication:
    return publish(asked_directly(people(2000)), rows=200, most_cells=30, seed=5)


@pytest.fixture(scope="module")
def saved(publication: Publication, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "out"
    publication.save(path)
    return path


@pytest.fixture
def written(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(saved, tmp_path / "out")


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def is_whole(directory: Path) -> bool:
    """Whether the manifest names all files but itself, each with its hash."""
    found = contents(directory)
    listed = json.loads(found.pop("manifest.json"))["files"]
    return listed == {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}


# ---- what they say


def test_a_publication_has_these_files(written: Path):
    assert set(FILES) <= set(contents(written))


def test_the_manifest_holds_the_hash_of_every_other_file(written: Path):
    assert is_whole(written)


def test_a_changed_file_does_not_match_the_manifest(written: Path):
    (written / "data" / "synthetic.csv").write_bytes(b"age\n1\n")
    assert not is_whole(written)


def test_the_manifest_says_what_was_published_how_and_from_what(
    written: Path, publication: Publication
):
    manifest = json.loads((written / "manifest.json").read_text())
    assert manifest["campaign"]["id"] == publication.campaign.id
    assert manifest["campaign"]["epsilon"] == publication.campaign.epsilon
    assert manifest["reports"]["accepted"] == 2000 and manifest["reports"]["refused"] == {}
    expected = {
        "method": "shrunk",
        "structure": "calibrated",
        "phi": None,
        "pruning": None,
        "most_cells": 30,
        "rows": 200,
    }
    assert manifest["settings"].items() >= {**expected, "seed": 5}.items()


def test_the_campaign_comes_along(written: Path, publication: Publication):
    assert Campaign.load(written / "campaign.json").id == publication.campaign.id


def test_csv_and_parquet_hold_the_same_table(written: Path, publication: Publication):
    from_csv = Dataset.load(written / "data" / "synthetic.csv", DOMAIN)
    from_parquet = Dataset.from_arrow(pq.read_table(written / "data" / "synthetic.parquet"), DOMAIN)
    for table in (from_csv, from_parquet):
        np.testing.assert_array_equal(table.codes, publication.synthetic.codes)


def test_marginals_add_up_to_one_and_have_standard_errors(written: Path):
    rows = rows_of(written / "estimates" / "marginals.csv")
    for name in DOMAIN.names:
        own = [row for row in rows if row["attribute"] == name]
        assert [row["value"] for row in own] == list(DOMAIN[name].texts)
        assert sum(float(row["probability"]) for row in own) == pytest.approx(1)
        assert all(float(row["standard_error"]) > 0 for row in own)


def test_pairs_hold_every_cell_of_every_pair(written: Path):
    rows = rows_of(written / "estimates" / "pairs.csv")
    of_pairs: dict[tuple[str, str], float] = {}
    for row in rows:
        pair = row["attribute_1"], row["attribute_2"]
        of_pairs[pair] = of_pairs.get(pair, 0.0) + float(row["probability"])
    assert len(of_pairs) == 10 and all(first < second for first, second in of_pairs)
    assert list(of_pairs.values()) == pytest.approx([1] * 10)
    assert any(row["standard_error"] for row in rows)


def test_every_pair_is_told_with_its_strength_and_fate(written: Path, publication: Publication):
    rows = rows_of(written / "estimates" / "dependence.csv")
    fates = [row["edge"] for row in rows]
    assert len(rows) == 10 and {row["measure"] for row in rows} == {"held-out gain"}
    assert fates.count("dropped") == len(publication.dropped) > 0
    assert fates.count("yes") == len(publication.graph.edges) - len(publication.dropped)
    strengths = {(row["attribute_1"], row["attribute_2"]): float(row["strength"]) for row in rows}
    assert strengths["age", "work"] > strengths["age", "luck"]


def test_the_model_names_cliques_with_parents_and_separators(
    written: Path, publication: Publication
):
    model = json.loads((written / "estimates" / "model.json").read_text())
    assert model["attributes"] == sorted(DOMAIN.names)
    assert len(model["edges"]) == len(publication.graph.edges) and len(
        model["dropped_edges"]
    ) == len(publication.dropped)
    for clique in model["cliques"]:
        parent = None if clique["parent"] is None else model["cliques"][clique["parent"]]
        shared = (
            []
            if parent is None
            else [name for name in clique["attributes"] if name in parent["attributes"]]
        )
        assert clique["separator"] == shared
        assert 0 <= clique["misfit"] <= 1
        assert clique["cells"] == np.prod([DOMAIN[name].size for name in clique["attributes"]])


def test_the_model_says_which_cliques_know_more_than_pairs(tmp_path: Path):
    publish(asked_directly(three_way(), epsilon=3), rows=10).save(tmp_path / "out")
    model = json.loads((tmp_path / "out" / "estimates" / "model.json").read_text())
    assert [clique["more_than_pairs"] for clique in model["cliques"]] == [True]


def test_a_publication_without_dependence_is_whole(tmp_path: Path):
    publish(batch_of("direct-fill-jointly", copied=0.0), rows=10).save(tmp_path / "out")
    model = json.loads((tmp_path / "out" / "estimates" / "model.json").read_text())
    assert model["edges"] == [] and len(model["cliques"]) == 5 and is_whole(tmp_path / "out")


def test_counts_have_the_slots_of_their_reports_in_the_manifest(tmp_path: Path):
    batch = asked_directly(people(500))
    days = replace(batch, slots=np.arange(20_000, 20_500, dtype=np.uint32))
    publish(count(days[:100]) + count(days[100:]), rows=10).save(tmp_path / "out")
    reports = json.loads((tmp_path / "out" / "manifest.json").read_text())["reports"]
    told = {"withdrawn": 0, "simulated": True}
    assert reports == {
        "accepted": 500,
        "refused": {},
        "first_slot": 20_000,
        "last_slot": 20_499,
        **told,
    }


@pytest.mark.parametrize("numbers", ["label", "draw"])
def test_tables_do_not_depend_on_how_many_records_are_written_at_once(
    numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publication = publish(asked_directly(people(500)), rows=100, numbers=numbers)
    publication.save(tmp_path / "one")
    monkeypatch.setattr("lopub.publication.directory.LINES_AT_ONCE", 7)
    monkeypatch.setattr("lopub.publication.directory.ROW_GROUP", 30)
    publication.save(tmp_path / "other")
    one, other = tmp_path / "one" / "data", tmp_path / "other" / "data"
    assert (one / "synthetic.csv").read_bytes() == (other / "synthetic.csv").read_bytes()
    assert pq.read_table(one / "synthetic.parquet").equals(
        pq.read_table(other / "synthetic.parquet")
    )
    assert pq.read_metadata(other / "synthetic.parquet").num_row_groups == 4


# ---- same bytes


def test_the_same_reports_and_seed_give_the_same_bytes(tmp_path: Path):
    for name in ("one", "other"):
        publish(asked_directly(people(500)), rows=50).save(tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_another_seed_changes_the_table_but_not_the_model(tmp_path: Path):
    for seed in (1, 2):
        publish(asked_directly(people(500)), rows=50, seed=seed).save(tmp_path / str(seed))
    one, other = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert all(
        one[name] == other[name] for name in ("estimates/dependence.csv", "estimates/model.json")
    )
    assert all(
        one[name] != other[name]
        for name in ("data/synthetic.csv", "data/synthetic.parquet", "manifest.json")
    )


# ---- whole or not at all


def test_a_directory_that_is_not_there_is_made_with_its_parents(
    publication: Publication, tmp_path: Path
):
    publication.save(tmp_path / "deep" / "down" / "out")
    assert is_whole(tmp_path / "deep" / "down" / "out")


def test_an_existing_publication_is_refused_and_left(written: Path, publication: Publication):
    before = contents(written)
    with pytest.raises(
        StoreError, match=f"^{written} exists already; choose another name or use force=True$"
    ):
        publication.save(written)
    assert contents(written) == before and names(written.parent) == ["out"]


def test_force_replaces_a_publication_whole(written: Path, publication: Publication):
    before = contents(written)
    (written / "estimates" / "old.csv").write_text("of an older version")
    publication.save(written, force=True)
    assert contents(written) == before and is_whole(written)
    assert names(written.parent) == ["out"]


def full(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


WRITERS = [
    "lopub.publication.directory.write_csv",
    "lopub.publication.directory.write_parquet",
    "pathlib.Path.write_bytes",
    "lopub.files._sync_all",
]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("failing", "error"), [(full, StoreError), (interrupted, KeyboardInterrupt)]
)
def test_a_failure_in_the_middle_leaves_nothing(
    publication: Publication, tmp_path: Path, monkeypatch, writer, failing, error
):
    monkeypatch.setattr(writer, failing)
    with pytest.raises(error) as caught:
        publication.save(tmp_path / "out")
    if error is StoreError:
        assert str(caught.value) == f"cannot write {tmp_path}/out: No space left on device"
    assert names(tmp_path) == []


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("failing", "error"),
    [(full, StoreError), pytest.param(interrupted, KeyboardInterrupt, marks=pytest.mark.full)],
)
def test_a_failure_in_the_middle_leaves_the_old_one(
    written: Path, publication: Publication, monkeypatch, writer, failing, error
):
    before = contents(written)
    monkeypatch.setattr(writer, failing)
    with pytest.raises(error):
        publication.save(written, force=True)
    assert contents(written) == before and names(written.parent) == ["out"]


# ---- types in parquet

TYPED = Domain(
    (
        Boolean(name="works"),
        Boolean(name="smokes", missing=True),
        IntegerRange(name="year", minimum=2020, maximum=2026),
        IntegerRange(name="children", minimum=-1, maximum=3, missing=True),
        Categorical(name="city", values=("1", "true"), missing=True),
        Binned(name="income", edges=("0", "1.5", "4"), missing=True),
    )
)


@pytest.fixture(scope="module", params=["label", "draw"])
def typed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Publication, Path]:
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, size, 600) for size in TYPED.sizes], axis=1)
    campaign = make_campaign(TYPED, Terms(name="typed"), CampaignRequest(epsilon=30))
    publication = publish(simulate(Dataset(TYPED, codes), campaign, seed=1), numbers=request.param)
    path = tmp_path_factory.mktemp("typed") / "out"
    publication.save(path)
    return publication, path


def test_parquet_columns_have_the_types_that_the_schema_of_the_csv_states(
    typed: tuple[Publication, Path],
):
    _, path = typed
    table = pq.read_table(path / "data" / "synthetic.parquet")
    package = json.loads((path / "datapackage.json").read_text())
    (schema,) = (
        each["schema"] for each in package["resources"] if each["path"] == "data/synthetic.csv"
    )
    texts = pa.dictionary(pa.int32(), pa.string())
    for field, column in zip(schema["fields"], table.schema, strict=True):
        ordered = pa.dictionary(pa.int32(), pa.string(), ordered=True)
        expected = {
            "boolean": [pa.bool_()],
            "integer": [pa.int64()],
            "number": [pa.float64()],
            "string": [texts, ordered],
        }
        assert column.type in expected[field["type"]], field["name"]


def test_booleans_filter_and_integers_have_a_mean(typed: tuple[Publication, Path]):
    publication, path = typed
    table = pq.read_table(path / "data" / "synthetic.parquet")
    assert len(table.filter(table["works"])) == int(publication.synthetic.column("works").sum())
    assert pc.mean(table["year"]).as_py() == pytest.approx(
        2020 + float(publication.synthetic.column("year").mean())
    )


def test_no_answer_is_null_in_parquet_and_nothing_else_is(typed: tuple[Publication, Path]):
    publication, path = typed
    table = pq.read_table(path / "data" / "synthetic.parquet")
    for attribute in TYPED.attributes:
        missing = (
            publication.synthetic.column(attribute.name) == attribute.size - 1
            if attribute.missing
            else 0
        )
        assert table[attribute.name].null_count == np.sum(missing)


def test_a_typed_table_reads_back_as_the_same_records(typed: tuple[Publication, Path]):
    publication, path = typed
    again = Dataset.from_arrow(pq.read_table(path / "data" / "synthetic.parquet"), TYPED)
    from_csv = Dataset.load(path / "data" / "synthetic.csv", TYPED, coded=False)
    for table in (again, from_csv):
        np.testing.assert_array_equal(table.codes, publication.synthetic.codes)


def test_a_typed_table_is_the_same_bytes_again(typed: tuple[Publication, Path], tmp_path: Path):
    publication, path = typed
    publication.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(path)
