"""A domain learnt from a table fits that table; prepared tables bring their own."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lopub.campaign.domain import Attribute, Binned, Boolean, Categorical, Domain, IntegerRange
from lopub.errors import DomainError, LopubError, StoreError
from lopub.reports.catalogue import data_directory, public_table, read_domain_file
from lopub.reports.dataset import Dataset
from lopub.reports.infer import infer_domain

SECRET = "Rumpelstilzchen"


def written(directory: Path, content: str) -> Path:
    path = directory / "table.csv"
    path.write_text(content, encoding="utf-8")
    return path


def inferred(directory: Path, column: list[str], **options: Any) -> Attribute:
    """The attribute of one column, beside another that is never empty."""
    lines = "".join(f'"{text}",{"xy"[i % 2]}\n' for i, text in enumerate(column))
    return infer_domain(written(directory, "a,other\n" + lines), **options)["a"]


# ---- kinds


def test_texts_become_categories_in_the_order_of_their_first_appearance(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["tea", "wine", "tea", "beer"]) == Categorical(
        name="a", values=("tea", "wine", "beer")
    )


def test_texts_become_categories_in_their_own_order_where_asked(tmp_path: Path) -> None:
    column = ["tea", "Wine", "éclair", "tea", "beer"]
    assert inferred(tmp_path, column, order="natural") == Categorical(
        name="a", values=("Wine", "beer", "tea", "éclair")
    )


@pytest.mark.parametrize(
    "column", [["true", "false"], ["True", "False"], ["TRUE", "true"], ["false", "false"]]
)
def test_words_for_true_and_false_become_a_boolean(tmp_path: Path, column: list[str]) -> None:
    assert inferred(tmp_path, column) == Boolean(name="a")


def test_zeros_and_ones_become_integers(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["1", "0"]) == IntegerRange(name="a", minimum=0, maximum=1)


def test_a_word_among_truths_makes_them_categories(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["true", "1"]) == Categorical(name="a", values=("true", "1"))


def test_integers_become_the_range_from_the_smallest_to_the_largest(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["7", "-3", "+4", "007"]) == IntegerRange(
        name="a", minimum=-3, maximum=7
    )


def test_a_range_of_twice_as_many_integers_as_bins_is_left_as_it_is(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["0", "31"]) == IntegerRange(name="a", minimum=0, maximum=31)
    assert inferred(tmp_path, ["5", "12"], n_bins=4) == IntegerRange(
        name="a", minimum=5, maximum=12
    )


def test_a_wider_range_of_integers_is_binned(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["0", "32"]) == Binned(
        name="a", edges=tuple(str(2 * i) for i in range(17))
    )


def test_numbers_become_bins_of_equal_width(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["-1", "0.25", "3"], n_bins=4) == Binned(
        name="a", edges=("-1", "0", "1", "2", "3")
    )


def test_a_number_among_integers_makes_them_numbers(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["0", "1", "0.5"], n_bins=2) == Binned(
        name="a", edges=("0", "0.5", "1")
    )


@pytest.mark.parametrize("word", ["nan", "inf", "NA", "1,5", "0x10", "1_000", "١"])
def test_a_word_among_numbers_makes_them_categories(tmp_path: Path, word: str) -> None:
    assert inferred(tmp_path, ["1.5", word]) == Categorical(name="a", values=("1.5", word))


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        (["x", "", "y"], Categorical(name="a", values=("x", "y"), missing=True)),
        (["", "true"], Boolean(name="a", missing=True)),
        (["1", "3", ""], IntegerRange(name="a", minimum=1, maximum=3, missing=True)),
        (["", "0.5", "1.5"], Binned(name="a", edges=("0.5", "1", "1.5"), missing=True)),
        (["x", ""], Categorical(name="a", values=("x",), missing=True)),
        (["5", ""], IntegerRange(name="a", minimum=5, maximum=5, missing=True)),
    ],
)
def test_an_empty_field_makes_missing_a_candidate_of_its_own(
    tmp_path: Path, column: list[str], attribute: Attribute
) -> None:
    assert inferred(tmp_path, column, n_bins=2) == attribute


# ---- columns


def test_all_columns_are_taken_in_their_order(tmp_path: Path) -> None:
    assert infer_domain(written(tmp_path, "b,a,c\nx,1,true\ny,2,false\n")).names == ("b", "a", "c")


def test_chosen_columns_are_taken_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,id\n1,x,u1\n2,y,u2\n")
    assert infer_domain(path, columns=["b", "a"]).names == ("b", "a")


def test_a_column_that_is_not_chosen_is_not_looked_at(tmp_path: Path) -> None:
    assert infer_domain(written(tmp_path, "a,id\n1,same\n2,same\n"), columns=["a"]).names == ("a",)


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match=r"table\.csv has no column 'wage'; its columns are a, b"):
        infer_domain(written(tmp_path, "a,b\n1,x\n"), columns=["a", "wage"])


# ---- limits


def test_as_many_values_as_the_limit_are_candidates(tmp_path: Path) -> None:
    assert inferred(tmp_path, [f"v{i}" for i in range(256)]).size == 256


def test_more_values_than_the_limit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DomainError,
        match=r"^column 'a' has 1,257 different values; at most 256 can be candidates: leave it out or bin it$",
    ):
        inferred(tmp_path, [f"v{i}" for i in range(1257)])


def test_the_limit_may_be_set(tmp_path: Path) -> None:
    assert inferred(tmp_path, [f"v{i}" for i in range(300)], most_candidates=300).size == 300
    with pytest.raises(
        DomainError, match="column 'a' has 4 different values; at most 3 can be candidates"
    ):
        inferred(tmp_path, ["p", "q", "r", "s"], most_candidates=3)


def test_a_missing_answer_does_not_count_against_the_limit(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["p", "q", ""], most_candidates=2).size == 3


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            ["x", "x"],
            "column 'a' holds a single value; there is nothing to ask: leave it out with --columns",
        ),
        (
            ["7", "7"],
            "column 'a' holds a single value; there is nothing to ask: leave it out with --columns",
        ),
        (
            ["", ""],
            "column 'a' holds a single value; there is nothing to ask: leave it out with --columns",
        ),
        (["1.5", "1.50"], "column 'a' has a single value; there is nothing to ask"),
    ],
)
def test_a_column_with_a_single_value_is_refused(
    tmp_path: Path, column: list[str], words: str
) -> None:
    with pytest.raises(DomainError, match=words):
        inferred(tmp_path, column)


def test_a_single_number_beside_missing_answers_is_asked_like_a_single_integer(
    tmp_path: Path,
) -> None:
    """As ["5", ""] and ["x", ""] are."""
    assert inferred(tmp_path, ["1.5", ""]).size == 2


def test_two_unicode_spellings_of_a_value_are_one_candidate(tmp_path: Path) -> None:
    assert inferred(tmp_path, ["é", "e\N{COMBINING ACUTE ACCENT}", "x"]) == Categorical(
        name="a", values=("é", "x")
    )


@pytest.mark.parametrize("column", [[SECRET, f"{SECRET}\t"], [SECRET, SECRET * 100], [SECRET] * 2])
def test_no_value_is_repeated_where_a_column_is_refused(tmp_path: Path, column: list[str]) -> None:
    with pytest.raises(DomainError, match="'a'") as refusal:
        inferred(tmp_path, column)
    assert (
        SECRET not in f"{refusal.value!r} {refusal.value.__context__!r} {refusal.value.__cause__!r}"
    )


@pytest.mark.parametrize("column", [["0", "1e16"], ["0", "9" * 30], ["1", "1e400"]])
def test_numbers_too_large_for_exact_bin_edges_are_refused(
    tmp_path: Path, column: list[str]
) -> None:
    with pytest.raises(
        DomainError, match="attribute 'a' has a bin edge that is not a number within 1e15 of zero"
    ):
        inferred(tmp_path, column)


fields = st.one_of(
    st.sampled_from(
        [
            "",
            "true",
            "false",
            "0",
            "1",
            "-1",
            "x",
            "y",
            "é",
            "[0, 1]",
            "1e3",
            ".5",
            "(",
            " ",
            "+0",
            "-0",
        ]
    ),
    st.integers(-50, 50).map(str),
    st.floats(-1e6, 1e6).map(repr),
)


@settings(derandomize=True, deadline=None)
@given(
    columns=st.lists(st.lists(fields, min_size=6, max_size=6), min_size=1, max_size=3),
    n_bins=st.integers(2, 20),
)
def test_an_inferred_domain_fits_the_table_that_it_was_learnt_from(
    columns: list[list[str]], n_bins: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = [
        ",".join(f"c{i}" for i in range(len(columns))),
        *(",".join(f'"{text}"' for text in row) for row in zip(*columns, strict=True)),
    ]
    path = written(tmp_path_factory.mktemp("own"), "\n".join(lines) + "\n")
    try:
        domain = infer_domain(path, n_bins=n_bins)
    except LopubError:  # a single value, or edges too near to each other
        return
    assert np.array_equal(
        Dataset.load(path, domain).codes, Dataset.load(path, domain, coded=False).codes
    )


# ---- domain files

DESCRIBED = {
    "name": "small",
    "attributes": [
        {"name": "a", "labels": ["x", 7]},
        {"name": "b", "edges": [0, 0.5, "1.0"], "kind": "binned"},
    ],
}
SMALL = Domain(
    (Categorical(name="a", values=("x", "7")), Binned(name="b", edges=("0", "0.5", "1")))
)


def described(path: Path, content: object = DESCRIBED) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_domain_file_lists_labels_or_edges(tmp_path: Path) -> None:
    assert read_domain_file(described(tmp_path / "d.json")) == SMALL


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "d.json is not valid JSON"),
        (b"\xff\xff", "d.json is not valid JSON"),
        (b"", "d.json is not valid JSON"),
        ([], "d.json must list its attributes, each with a name and either labels or edges"),
        (None, "d.json must list its attributes"),
        ({}, "d.json must list its attributes"),
        ({"attributes": None}, "d.json must list its attributes"),
        ({"attributes": ["a"]}, "d.json must list its attributes"),
        ({"attributes": [{"labels": ["x", "y"]}]}, "d.json must list its attributes"),
        ({"attributes": [{"name": "a"}]}, "d.json must list its attributes"),
        ({"attributes": [{"name": "a", "labels": 5}]}, "d.json must list its attributes"),
        (
            {"attributes": [{"name": "a", "edges": [None, 1]}]},
            "attribute 'a' has a bin edge that is not a number",
        ),
        ({"attributes": []}, "a domain needs 1 to 4,096 attributes, got 0"),
        (
            {"attributes": [{"name": "a", "labels": ["x", "x"]}]},
            "attribute 'a' lists the same candidate twice",
        ),
        (
            {"attributes": [{"name": "a", "edges": ["low", 1]}]},
            "attribute 'a' has a bin edge that is not a number",
        ),
        (
            {"attributes": [{"name": "a", "edges": [0, 1, 2]}] * 2},
            "a domain lists the same attribute twice",
        ),
    ],
)
def test_what_is_no_domain_file_is_refused_with_one_sentence(
    tmp_path: Path, content: object, words: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        read_domain_file(described(tmp_path / "d.json", content))
    assert words in str(refusal.value)


def test_a_domain_file_nested_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match=r"d\.json is not valid JSON"):
        read_domain_file(described(tmp_path / "d.json", b"[" * 100_000))


def test_a_domain_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"cannot read domain file .*d\.json: No such file or directory"
    ):
        read_domain_file(tmp_path / "d.json")


# ---- public tables


def prepared(folder: Path, name: str = "small") -> None:
    """A table of candidate numbers with its domain file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(b"b,a\n1,0\n0,1\n"))
    described(folder / f"{name}.domain.json")


@pytest.mark.parametrize("folder", ["small", "."])
def test_a_public_table_lies_in_a_folder_of_its_name_or_beside_others(
    tmp_path: Path, folder: str
) -> None:
    prepared(tmp_path / folder)
    table = public_table("small", tmp_path)
    assert table.domain == SMALL and table.codes.tolist() == [[0, 1], [1, 0]]


def test_a_public_table_holds_candidate_numbers_even_where_they_could_be_values(
    tmp_path: Path,
) -> None:
    prepared(tmp_path)
    described(
        tmp_path / "small.domain.json",
        {"attributes": [{"name": "a", "labels": [1, 0]}, {"name": "b", "labels": [1, 0]}]},
    )
    assert public_table("small", tmp_path).codes.tolist() == [[0, 1], [1, 0]]


def test_a_public_table_is_found_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path)
    monkeypatch.setenv("LOPUB_DATA", str(tmp_path))
    assert len(public_table("small")) == 2


def test_a_directory_that_is_given_comes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOPUB_DATA", "/nowhere")
    assert data_directory(tmp_path) == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_without_a_directory_of_tables_the_message_says_how_to_name_one(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOPUB_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("LOPUB_DATA", value)
    with pytest.raises(
        StoreError, match="no directory of public tables: set LOPUB_DATA or use --data DIR"
    ):
        public_table("small")


def test_a_table_that_is_not_there_is_refused_with_the_place_where_it_should_be(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        StoreError, match=r"there is no table 'small' in .*; it should be .*small/small\.csv\.gz"
    ):
        public_table("small", tmp_path)


def test_a_public_table_without_its_domain_file_is_refused(tmp_path: Path) -> None:
    prepared(tmp_path)
    (tmp_path / "small.domain.json").unlink()
    with pytest.raises(StoreError, match=r"cannot read domain file .*small\.domain\.json"):
        public_table("small", tmp_path)


@pytest.mark.full
@pytest.mark.skipif(
    not os.environ.get("LOPUB_DATA"), reason="LOPUB_DATA names no directory of public tables"
)
@pytest.mark.parametrize(
    ("name", "shape"), [("adult", (45_222, 15)), ("retail", (27_522, 16)), ("tpce", (40_000, 24))]
)
def test_a_public_table_has_the_papers_shape(name: str, shape: tuple[int, int]) -> None:
    table = public_table(name)
    assert table.codes.shape == shape
    assert all(
        len(np.unique(table.column(attribute.name))) > 1 for attribute in table.domain.attributes
    )


@pytest.mark.full
@pytest.mark.skipif(
    not os.environ.get("LOPUB_DATA"), reason="LOPUB_DATA names no directory of public tables"
)
@pytest.mark.parametrize("name", ["adult", "retail", "tpce"])
def test_a_public_table_that_is_written_as_values_is_read_back_as_values(
    name: str, tmp_path: Path
) -> None:
    table = public_table(name)[:2000]
    table.save(tmp_path / "values.csv")
    assert np.array_equal(Dataset.load(tmp_path / "values.csv", table.domain).codes, table.codes)
