"""`lopub evaluate` as a user meets it."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import lopub, refused

from lopub.reports.catalogue import ALUMNI

QUICK = ("--no-classifiers", "--most-sets", "20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two tables of one population, as values and as candidate numbers, and their campaign."""
    path = tmp_path_factory.mktemp("evaluated")
    for name, seed in (("real", 1), ("synthetic", 2)):
        people = ALUMNI.people(800, seed=seed)
        people.save(path / f"{name}.csv")
        rows = [people.domain.names, *people.codes.tolist()]
        (path / f"{name}-codes.csv").write_text(
            "\n".join(",".join(map(str, row)) for row in rows) + "\n"
        )
    attributes = [
        {"name": a.name, "labels": list(a.texts)} for a in ALUMNI.domain.attributes if not a.missing
    ]
    (path / "alumni.domain.json").write_text(json.dumps({"attributes": attributes}))
    made = lopub(
        "campaign",
        "infer",
        "real.csv",
        "-o",
        "campaign.json",
        "--epsilon",
        "8",
        "--columns",
        "gender,home",
        cwd=path,
    )
    assert made.returncode == 0
    return path


def evaluate(folder: Path, *options: str, real: str = "real.csv", synthetic: str = "synthetic.csv"):
    return lopub("evaluate", real, synthetic, *options, cwd=folder)


def scores(folder: Path, *options: str, **tables: str) -> dict:
    result = evaluate(folder, "--json", *options, **tables)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_tables_begin_with_a_plain_sentence(folder: Path):
    shown = evaluate(folder).stdout
    assert shown.startswith("Two-way tables of the synthetic data are off by 0.")
    assert "independence would be off by 0." in shown.splitlines()[0]
    for words in (
        "one-way",
        "20",
        "worst pairs",
        "age x ",
        "found",
        "added",
        "lost",
        "from synthetic",
        "random forest",
    ):
        assert words in shown


def test_json_holds_every_score(folder: Path):
    shown = scores(folder, "--most-sets", "20")
    assert [len(shown["avd"][k]["sets"]) for k in "123"] == [12, 66, 20]
    assert 0 < shown["avd"]["2"]["mean"] < shown["avd"]["2"]["largest"] < 1
    assert len(shown["classifiers"]) == 6


def test_a_file_gets_what_json_shows(folder: Path, tmp_path: Path):
    path = tmp_path / "scores.json"
    assert evaluate(folder, *QUICK, "-o", str(path)).stdout.endswith(f"written: {path}\n")
    assert json.loads(path.read_text()) == scores(folder, *QUICK)


def test_force_overwrites(folder: Path, tmp_path: Path):
    path = tmp_path / "scores.json"
    path.write_text("old")
    assert evaluate(folder, *QUICK, "-o", str(path), "--force").returncode == 0
    assert json.loads(path.read_text())["n_real"] == 800


def test_only_the_campaigns_attributes_are_compared(folder: Path):
    shown = scores(folder, "--no-classifiers", "--campaign", "campaign.json")
    assert [score["names"] for score in shown["avd"]["2"]["sets"]] == [["gender", "home"]]


def test_candidate_numbers_are_as_good_as_values(folder: Path):
    options = (*QUICK, "--domain", "alumni.domain.json")
    assert scores(folder, *options) == scores(
        folder, *options, real="real-codes.csv", synthetic="synthetic-codes.csv"
    )


def test_the_order_of_columns_changes_nothing(folder: Path):
    with open(folder / "synthetic.csv", newline="") as file:
        rows = [row[::-1] for row in csv.reader(file)]
    with open(folder / "turned.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert scores(folder, "--most-sets", "20") == scores(
        folder, "--most-sets", "20", synthetic="turned.csv"
    )


def test_targets_are_what_is_predicted(folder: Path):
    assert {
        score["target"] for score in scores(folder, "--targets", "home, gender")["classifiers"]
    } == {"home", "gender"}


def test_the_seed_decides_which_triples_are_drawn(folder: Path):
    first, again, other = (
        scores(folder, *QUICK, "--seed", seed)["avd"]["3"] for seed in ("1", "1", "2")
    )
    assert first == again != other


def test_a_column_of_one_table_only_is_left_out_with_a_note(folder: Path, tmp_path: Path):
    (tmp_path / "real.csv").write_text("a,b,id\n0,1,7\n1,0,8\n")
    (tmp_path / "synthetic.csv").write_text("b,a\n0,1\n1,1\n")
    result = evaluate(tmp_path, "--json")
    assert "note: column 'id' is in one table only" in result.stderr
    assert [score["names"] for score in json.loads(result.stdout)["avd"]["2"]["sets"]] == [
        ["a", "b"]
    ]


def test_a_constant_column_is_left_out_with_a_note(tmp_path: Path):
    (tmp_path / "real.csv").write_text("a,b\nx,1\nx,0\n")
    (tmp_path / "synthetic.csv").write_text("a,b\nx,1\nx,1\n")
    result = evaluate(tmp_path)
    assert "column 'a' has a single value" in result.stderr
    assert result.stdout.startswith(
        "One-way tables of the synthetic data are off by 0.500 on average. "
    )


def test_a_name_that_looks_like_markup_is_printed_as_it_is(tmp_path: Path):
    for name in ("real.csv", "synthetic.csv"):
        (tmp_path / name).write_text("a[/b],[red]\n1,1\n0,0\n")
    assert "[red] x a[/b]" in evaluate(tmp_path).stdout


def test_a_value_in_one_table_only_counts_as_a_candidate(tmp_path: Path):
    (tmp_path / "real.csv").write_text("a,b\nx,1\ny,0\n")
    (tmp_path / "synthetic.csv").write_text("a,b\nx,1\nz,0\n")
    assert [score["avd"] for score in scores(tmp_path)["avd"]["1"]["sets"]] == [0.5, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--targets", "height"], "there is no attribute 'height'"),
        (["--targets", ","], "targets must name at least one attribute"),
        (["-o", "campaign.json"], "campaign.json exists already"),
        (["--campaign", "nothing.json"], "nothing.json"),
        (["--domain", "nothing.json"], "cannot read domain file nothing.json"),
    ],
)
def test_a_mistake_gets_one_sentence(folder: Path, options: list[str], words: str):
    assert words in refused(evaluate(folder, *options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--phi", "2"], "--phi"),
        (["--most-sets", "0"], "--most-sets"),
        (["--seed", "-1"], "--seed"),
        (["--campaign", "campaign.json", "--domain", "alumni.domain.json"], "not both"),
        (["--targets", "home", "--no-classifiers"], "has no use"),
    ],
)
def test_wrong_usage_exits_with_two(folder: Path, options: list[str], words: str):
    result = evaluate(folder, *options)
    assert result.returncode == 2 and words in result.stderr and "Traceback" not in result.stderr


def test_tables_that_share_no_value_are_told_what_to_give(folder: Path):
    words = refused(evaluate(folder, real="real-codes.csv"))
    assert "has no value in common in the two tables; give --campaign or --domain" in words


def test_too_many_values_are_told_what_to_give(tmp_path: Path):
    texts = "\n".join(f"t{i},{i % 2}" for i in range(300))
    for name in ("real.csv", "synthetic.csv"):
        (tmp_path / name).write_text(f"a,b\n{texts}\n")
    assert "column 'a' has 300 different values" in refused(evaluate(tmp_path))


@pytest.mark.parametrize(
    ("real", "words"),
    [
        ("", "is empty"),
        ("a,b\n", "has a header but no records"),
        ("c\n1\n", "no column in common"),
        ("a\n1\n", "single value"),
    ],
)
def test_a_table_that_cannot_be_compared_is_refused(tmp_path: Path, real: str, words: str):
    (tmp_path / "real.csv").write_text(real)
    (tmp_path / "synthetic.csv").write_text("a,b\n1,2\n")
    result = evaluate(tmp_path)
    assert result.returncode == 1 and words in result.stderr and "Traceback" not in result.stderr


def test_a_table_that_is_not_there_is_named(folder: Path):
    assert "cannot read nothing.csv" in refused(evaluate(folder, real="nothing.csv"))


# ---- Parquet


@pytest.fixture(scope="module")
def in_parquet(folder: Path) -> Path:
    """The same tables as Parquet: as a publication has them, with types of their own, and with missing answers."""
    for name, seed in (("real", 1), ("synthetic", 2)):
        people = ALUMNI.people(800, seed=seed)
        pq.write_table(people.to_arrow(), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(
    "options", [(), ("--campaign", "campaign.json")], ids=["learnt", "campaign"]
)
def test_parquet_gives_the_scores_of_csv(in_parquet: Path, options: tuple[str, ...]):
    of_csv = scores(in_parquet, *QUICK, *options)
    assert (
        scores(in_parquet, *QUICK, *options, real="real.parquet", synthetic="synthetic.parquet")
        == of_csv
    )
    assert scores(in_parquet, *QUICK, *options, synthetic="synthetic.parquet") == of_csv


def test_columns_of_numbers_and_booleans_compare_with_their_texts(tmp_path: Path):
    pq.write_table(
        pa.table({"n": [1, 2, None, 2], "b": [True, False, True, None]}), tmp_path / "a.parquet"
    )
    (tmp_path / "b.csv").write_text("n,b\n1,true\n2,false\n,true\n2,\n")
    shown = scores(tmp_path, *QUICK, real="a.parquet", synthetic="b.csv")
    assert shown["avd"]["1"]["mean"] == 0 and shown["avd"]["2"]["mean"] == 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"gender": ["F"]}), "bad.parquet: the table has no column 'home'"),
        (
            pa.table({"gender": [["F"]], "home": ["x"]}),
            "bad.parquet: column 'gender' of list<element: string> cannot be compared",
        ),
        (None, "bad.parquet is a damaged or cut-off Parquet file"),
    ],
    ids=["column", "type", "damaged"],
)
def test_a_parquet_file_that_cannot_be_compared_is_named(
    folder: Path, tmp_path: Path, table: pa.Table | None, words: str
):
    path = tmp_path / "bad.parquet"
    if table is None:
        path.write_bytes(b"PAR1 and no more")
    else:
        pq.write_table(table, path)
    assert words in refused(evaluate(folder, "--campaign", "campaign.json", synthetic=str(path)))
