"""Records come in and go out unchanged; what is no table is refused in one sentence that repeats no answer."""

import errno
import gzip
import io
import os
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lopub.campaign.domain import Attribute, Binned, Boolean, Categorical, Domain, IntegerRange
from lopub.errors import DomainError, LopubError, StoreError
from lopub.reports.dataset import Dataset, read_texts

CITY = Categorical(
    name="city",
    values=("Århus", 'say "hi"', "a,b", "東京", "plain", " spaced ", "'", "\N{GRINNING FACE}"),
    missing=True,
)
HAPPY = Boolean(name="happy", missing=True)
AGE = IntegerRange(name="age", minimum=-2, maximum=3, missing=True)
PAY = Binned(name="pay", edges=("-1.5", "0", "0.1", "20.5"), missing=True)
SEX = Categorical(name="sex", values=("F", "M"))
KINDS = Domain((CITY, HAPPY, AGE, PAY, SEX))
"""Every kind of attribute, with a missing answer where there may be one."""

PAIR = Domain((SEX, AGE))
SECRET = "Rumpelstilzchen"
"""An answer that no message may repeat."""
SETTLED = settings(derandomize=True, deadline=None)


def every_candidate(domain: Domain, n: int = 40) -> Dataset:
    """Records in which every candidate of every attribute turns up."""
    rows = np.arange(n)[:, None] // np.arange(1, len(domain) + 1) % np.array(domain.sizes)
    return Dataset(domain, rows.astype(np.uint16))


def written(directory: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def codes_of(
    directory: Path, content: str | bytes, domain: Domain, **options: Any
) -> list[list[int]]:
    return Dataset.load(written(directory, content), domain, **options).codes.tolist()


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def everything_said(error: BaseException | None) -> str:
    """All that a log could show of an error: its words, and those of the errors behind it."""
    return (
        ""
        if error is None
        else f"{error!r} {error} {everything_said(error.__cause__)} {everything_said(error.__context__)}"
    )


# ---- csv, in and out


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.parquet"])
def test_a_table_that_is_written_and_read_has_the_same_records(tmp_path: Path, name: str) -> None:
    dataset = every_candidate(KINDS)
    dataset.save(tmp_path / name)
    assert np.array_equal(Dataset.load(tmp_path / name, KINDS).codes, dataset.codes)


def test_a_table_of_one_attribute_keeps_its_missing_answers(tmp_path: Path) -> None:
    dataset = every_candidate(Domain((AGE,)))
    dataset.save(tmp_path / "table.csv")
    assert np.array_equal(Dataset.load(tmp_path / "table.csv", dataset.domain).codes, dataset.codes)


def test_a_parquet_file_has_types_and_null_for_no_answer(tmp_path: Path) -> None:
    every_candidate(KINDS).save(tmp_path / "table.parquet")
    table = pa.parquet.read_table(tmp_path / "table.parquet")
    assert [str(table.schema.field(name).type) for name in ("happy", "age")] == ["bool", "int64"]
    assert (
        table["age"].null_count
        == int((every_candidate(KINDS).column("age") == AGE.size - 1).sum())
        > 0
    )


def test_a_parquet_file_of_candidate_numbers_is_read_as_such_where_that_is_said(
    tmp_path: Path,
) -> None:
    pa.parquet.write_table(pa.table({"sex": [1, 0], "age": [2, 6]}), tmp_path / "coded.parquet")
    assert Dataset.load(tmp_path / "coded.parquet", PAIR, coded=True).codes.tolist() == [
        [1, 2],
        [0, 6],
    ]


def test_a_parquet_file_without_a_column_of_the_domain_is_refused(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"other": [1]}), tmp_path / "other.parquet")
    with pytest.raises(DomainError, match=r"has no column 'sex', 'age'; its columns are other$"):
        Dataset.load(tmp_path / "other.parquet", PAIR)


@pytest.mark.parametrize(
    ("data", "words"), [(b"sex,age", "is not a Parquet file"), (None, "cannot read .*: No")]
)
def test_a_parquet_file_that_is_none_is_refused(
    tmp_path: Path, data: bytes | None, words: str
) -> None:
    if data is not None:
        written(tmp_path, data, "table.parquet")
    with pytest.raises(StoreError, match=words):
        Dataset.load(tmp_path / "table.parquet", PAIR)


@pytest.mark.parametrize("name", ["table", "table.txt", "table.gz"])
def test_a_table_is_not_saved_under_a_name_that_hides_what_it_is(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=r"must end in \.csv, \.csv\.gz or \.parquet"):
        every_candidate(PAIR).save(tmp_path / name)
    assert not names_in(tmp_path)


def test_a_dataset_gives_its_records_one_by_one_as_a_client_takes_them() -> None:
    dataset = every_candidate(KINDS)
    records = list(dataset)
    assert len(records) == len(dataset)
    assert [KINDS.indices(record) for record in records] == [
        tuple(row) for row in dataset.codes.tolist()
    ]


texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@SETTLED
@given(values=st.lists(texts, min_size=2, max_size=5), name=texts)
def test_any_text_that_may_be_a_value_or_a_name_survives_a_csv_file(
    values: list[str], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "table.csv"
    try:
        domain = Domain((Categorical(name=name, values=tuple(values), missing=True),))
    except LopubError:  # two spellings of one value, say: test_domain knows them
        return
    dataset = every_candidate(domain, domain.sizes[0])
    dataset.save(path)
    assert Dataset.load(path, domain).codes.tolist() == dataset.codes.tolist()


def test_gzipped_output_is_the_same_bytes_twice_whatever_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gzip would write down the hour and the file's name."""
    dataset = every_candidate(KINDS)
    dataset.save(tmp_path / "one.csv.gz")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    dataset.save(tmp_path / "other.csv.gz")
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "other.csv.gz").read_bytes()


def test_gzipped_output_is_the_plain_output_packed(tmp_path: Path) -> None:
    dataset = every_candidate(KINDS)
    dataset.save(tmp_path / "table.csv")
    dataset.save(tmp_path / "table.csv.gz")
    assert (
        gzip.decompress((tmp_path / "table.csv.gz").read_bytes())
        == (tmp_path / "table.csv").read_bytes()
    )


def test_a_gzipped_table_is_known_by_its_bytes_not_by_its_name(tmp_path: Path) -> None:
    assert codes_of(tmp_path, gzip.compress(b"sex,age\nM,3\n"), PAIR) == [[1, 5]]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert codes_of(tmp_path, b"\xef\xbb\xbfsex,age\nM,3\n", PAIR) == [[1, 5]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_no_part_of_the_last_value(tmp_path: Path, end: str) -> None:
    assert codes_of(tmp_path, end.join(["age,sex", "3,F", "-2,M", ""]), PAIR) == [[0, 5], [1, 0]]


def test_the_last_line_may_lack_its_end(tmp_path: Path) -> None:
    assert codes_of(tmp_path, "sex,age\nF,0\nM,1", PAIR) == [[0, 2], [1, 3]]


def test_line_ends_inside_quotes_end_no_record(tmp_path: Path) -> None:
    assert codes_of(tmp_path, 'sex,remark,age\nF,"one\ntwo\r\nthree",0\nM,"",1\n', PAIR) == [
        [0, 2],
        [1, 3],
    ]


def test_quotes_around_a_value_are_no_part_of_it(tmp_path: Path) -> None:
    assert codes_of(tmp_path, '"sex","age"\n"F","0"\nM,"1"\n', PAIR) == [[0, 2], [1, 3]]


def test_doubled_quotes_and_commas_inside_quotes_belong_to_the_value(tmp_path: Path) -> None:
    assert codes_of(tmp_path, 'city\n"say ""hi"""\n"a,b"\n', Domain((CITY,))) == [[1], [2]]


def test_a_value_in_another_unicode_spelling_is_the_same_value(tmp_path: Path) -> None:
    assert codes_of(tmp_path, "city\nA\N{COMBINING RING ABOVE}rhus\n", Domain((CITY,))) == [[0]]


def test_columns_may_stand_in_any_order_among_others(tmp_path: Path) -> None:
    assert codes_of(tmp_path, "age,shoe size,sex,name\n3,44,F,x\n-2,36,M,y\n", PAIR) == [
        [0, 5],
        [1, 0],
    ]


def test_an_empty_field_is_a_missing_answer(tmp_path: Path) -> None:
    missing = [[attribute.size - 1 for attribute in KINDS.attributes[:4]] + [0]]
    assert codes_of(tmp_path, "city,happy,age,pay,sex\n,,,,F\n", KINDS) == missing


def test_an_empty_line_in_a_table_of_one_column_is_a_missing_answer(tmp_path: Path) -> None:
    assert codes_of(tmp_path, "age\n3\n\n-2\n", Domain((AGE,))) == [[5], [6], [0]]


def test_numbers_are_sorted_into_their_bins_with_the_upper_edge_inside(tmp_path: Path) -> None:
    column = "pay\n-1.5\n0\n1e-9\n0.1\n.11\n+20.5\n[-1.5, 0]\n"
    assert codes_of(tmp_path, column.replace("[-1.5, 0]", '"[-1.5, 0]"'), Domain((PAY,))) == [
        [0],
        [0],
        [1],
        [1],
        [2],
        [2],
        [0],
    ]


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "1"])
def test_a_boolean_may_be_spelled_in_the_usual_ways(tmp_path: Path, text: str) -> None:
    assert codes_of(tmp_path, f"happy\n{text}\n", Domain((HAPPY,)), coded=False) == [[1]]


def test_a_table_larger_than_a_reading_block_is_read_whole(tmp_path: Path) -> None:
    """pyarrow reads blocks of a megabyte; a quoted line end may fall on their border."""
    n = 90_000
    lines = "".join(f'{"FM"[i % 2]},"{"x" * 10}\n{i}",{i % 6 - 2}\n' for i in range(n))
    dataset = Dataset.load(written(tmp_path, "sex,remark,age\n" + lines), PAIR)
    assert np.array_equal(dataset.codes, np.stack([np.arange(n) % 2, np.arange(n) % 6], axis=1))


# ---- values or candidate numbers

DIGITS = Domain(
    (IntegerRange(name="a", minimum=0, maximum=3), Categorical(name="b", values=("0", "1")))
)
"""Whose candidate numbers could be values too."""
LETTERS = Domain(
    (IntegerRange(name="a", minimum=1, maximum=4), Categorical(name="b", values=("x", "y")))
)


def test_candidate_numbers_are_read_as_such_where_asked(tmp_path: Path) -> None:
    assert codes_of(tmp_path, "a,b\n3,1\n0,0\n", LETTERS, coded=True) == [[3, 1], [0, 0]]


def test_numbers_that_could_be_values_are_values(tmp_path: Path) -> None:
    """With values 1 to 4, the value 1 is candidate 0."""
    domain = Domain((LETTERS["a"],))
    assert codes_of(tmp_path, "a\n1\n2\n", domain) == [[0], [1]]
    assert codes_of(tmp_path, "a\n1\n2\n", domain, coded=True) == [[1], [2]]


def test_one_column_that_holds_no_values_makes_all_columns_candidate_numbers(
    tmp_path: Path,
) -> None:
    assert codes_of(tmp_path, "a,b\n1,1\n2,0\n", LETTERS) == [[1, 1], [2, 0]]


def test_one_column_that_holds_no_candidate_numbers_makes_all_columns_values(
    tmp_path: Path,
) -> None:
    assert codes_of(tmp_path, "a,b\n1,x\n2,y\n", LETTERS) == [[0, 0], [1, 1]]


def test_a_table_that_is_neither_is_refused_as_one_of_values(tmp_path: Path) -> None:
    with pytest.raises(
        DomainError, match=r"^record 2: attribute 'b' does not list this value \(2 candidates\)"
    ):
        codes_of(tmp_path, "a,b\n1,x\n2,1\n", LETTERS)


def test_a_single_value_outside_makes_no_table_of_candidate_numbers(tmp_path: Path) -> None:
    """Were the rule softer, one typing error would shift every answer by one."""
    with pytest.raises(
        DomainError,
        match=r"^record 3: attribute 'a' takes integers from 1 to 4; this one is outside$",
    ):
        codes_of(tmp_path, "a\n1\n4\n5\n", Domain((LETTERS["a"],)))


def test_candidate_numbers_are_refused_where_values_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="record 1: attribute 'b' does not list this value"):
        codes_of(tmp_path, "a,b\n1,1\n", LETTERS, coded=False)


@pytest.mark.parametrize("text", ["2", "-1", "+1", "1.0", " 1", "１", "00000001", "x", "", "²"])
def test_what_is_no_candidate_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        DomainError,
        match=r"^record 2: attribute 'b' takes candidate numbers below 2; this text is not one$",
    ):
        codes_of(tmp_path, f"b,c\n1,0\n{text},0\n", Domain((DIGITS["b"],)), coded=True)


# ---- Arrow


class Frame:
    """What a pandas or polars frame shows of itself to others."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def arrow_codes(
    values: Any, attribute: Attribute, arrow_type: pa.DataType | None = None
) -> list[int]:
    column = (
        values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, arrow_type)
    )
    return (
        Dataset.from_arrow(pa.table({attribute.name: column}), Domain((attribute,)))
        .codes[:, 0]
        .tolist()
    )


def test_any_object_with_the_arrow_interface_is_a_table() -> None:
    frame = Frame(pa.table({"age": [3, None], "shoe": [44, 45], "sex": ["F", "M"]}))
    assert Dataset.from_arrow(frame, PAIR).codes.tolist() == [[0, 5], [1, 6]]


def test_an_object_without_the_arrow_interface_is_refused() -> None:
    with pytest.raises(DomainError, match="this object offers no Arrow table"):
        Dataset.from_arrow(object(), PAIR)


def test_an_arrow_table_without_a_column_of_the_domain_is_refused() -> None:
    with pytest.raises(DomainError, match=r"^the table has no column 'age'$"):
        Dataset.from_arrow(pa.table({"sex": ["F"]}), PAIR)


@pytest.mark.parametrize("attribute", [CITY, HAPPY, AGE, PAY], ids=lambda attribute: attribute.name)
def test_a_null_is_a_missing_answer(attribute: Attribute) -> None:
    assert arrow_codes(pa.nulls(2), attribute) == [attribute.size - 1] * 2


def test_a_null_is_refused_where_no_answer_may_be_missing() -> None:
    with pytest.raises(DomainError, match=r"^record 2: attribute 'sex' has no answer"):
        arrow_codes(["F", None], SEX)


@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_may_stand_in_any_arrow_type_of_texts(arrow_type: pa.DataType) -> None:
    assert arrow_codes(["東京", None, "a,b"], CITY, arrow_type) == [3, 8, 2]


@pytest.mark.parametrize(
    "arrow_type", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string()], ids=str
)
def test_integers_may_stand_in_any_arrow_type_of_numbers(arrow_type: pa.DataType) -> None:
    """A pandas column of integers with a gap is one of floats."""
    assert arrow_codes(pa.array([0, 3, None]).cast(arrow_type), AGE) == [2, 5, 6]


@pytest.mark.parametrize("arrow_type", [pa.float64(), pa.string()], ids=str)
def test_numbers_may_stand_as_floats_or_texts(arrow_type: pa.DataType) -> None:
    assert arrow_codes(pa.array([-1.5, 0.05, None]).cast(arrow_type), PAY) == [0, 1, 3]


@pytest.mark.parametrize("arrow_type", [pa.bool_(), pa.string()], ids=str)
def test_booleans_may_stand_as_booleans_or_texts(arrow_type: pa.DataType) -> None:
    assert arrow_codes(pa.array([True, False, None]).cast(arrow_type), HAPPY) == [1, 0, 2]


def test_numbers_may_stand_for_texts() -> None:
    assert arrow_codes([5, 7], Categorical(name="a", values=("7", "5"))) == [1, 0]


@pytest.mark.parametrize("fraction", [0.5, float("nan"), float("inf")])
def test_a_float_that_is_no_integer_is_none(fraction: float) -> None:
    with pytest.raises(
        DomainError, match=r"^record 2: attribute 'age' takes an integer, got float$"
    ):
        arrow_codes([1.0, fraction], AGE)


def test_a_column_may_come_in_chunks() -> None:
    assert arrow_codes(pa.chunked_array([["F"], [], ["M", "F"]]), SEX) == [0, 1, 0]


@pytest.mark.parametrize("chunks", [[], [[]]])
def test_a_table_without_records_is_a_dataset_without_records(chunks: list[list[str]]) -> None:
    assert arrow_codes(pa.chunked_array(chunks, pa.string()), SEX) == []


DICTIONARY = "dataset._coded_column: DictionaryArray.dictionary_encode takes no null_encoding (pandas and polars categoricals)"


def test_a_dictionary_column_is_read_with_its_nulls() -> None:
    assert arrow_codes(
        pa.array(["M", None, "F", "M"]).dictionary_encode(),
        Categorical(name="sex", values=("F", "M"), missing=True),
    ) == [1, 2, 0, 1]


def test_a_category_that_no_record_uses_is_no_mistake() -> None:
    categories = pa.DictionaryArray.from_arrays(
        pa.array([2, 1], pa.int8()), pa.array(["neither", "F", "M"])
    )
    assert arrow_codes(categories, SEX) == [1, 0]


def test_chunks_may_bring_dictionaries_of_their_own() -> None:
    chunks = [pa.array(["M", "F"]).dictionary_encode(), pa.array(["F"]).dictionary_encode()]
    assert arrow_codes(pa.chunked_array(chunks), SEX) == [1, 0, 0]


def test_an_arrow_table_that_is_made_and_read_has_the_same_records() -> None:
    dataset = every_candidate(KINDS)
    assert np.array_equal(Dataset.from_arrow(dataset.to_arrow(), KINDS).codes, dataset.codes)


def test_a_column_of_lists_is_refused() -> None:
    with pytest.raises(DomainError, match="attribute 'sex'"):
        arrow_codes([["F"], ["M"]], SEX)


def test_an_arrow_table_holds_texts_with_nulls_for_missing_answers() -> None:
    dataset = Dataset(KINDS, np.array([[1, 1, 5, 2, 0], [8, 2, 6, 3, 1]], dtype=np.uint16))
    assert dataset.to_arrow().to_pylist() == [
        {"city": 'say "hi"', "happy": "true", "age": "3", "pay": "(0.1, 20.5]", "sex": "F"},
        {"city": None, "happy": None, "age": None, "pay": None, "sex": "M"},
    ]


def test_an_arrow_column_says_whether_its_order_means_something() -> None:
    ordered = {
        name: field.type.ordered
        for name, field in zip(KINDS.names, every_candidate(KINDS).to_arrow().schema, strict=True)
    }
    assert ordered == {"city": False, "happy": False, "age": True, "pay": True, "sex": False}


# ---- counts


@SETTLED
@given(
    sizes=st.lists(st.integers(2, 4), min_size=1, max_size=4),
    n=st.integers(0, 30),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_counts_are_those_of_a_plain_loop(
    sizes: list[int], n: int, seed: int, data: st.DataObject
) -> None:
    domain = Domain(
        tuple(IntegerRange(name=f"a{i}", minimum=1, maximum=size) for i, size in enumerate(sizes))
    )
    dataset = Dataset(
        domain,
        np.random.default_rng(seed).integers(0, sizes, size=(n, len(sizes))).astype(np.uint16),
    )
    chosen = data.draw(st.permutations(domain.names))[: data.draw(st.integers(1, len(sizes)))]
    plain = Counter(tuple(int(dataset.column(name)[i]) for name in chosen) for i in range(n))
    counts = dataset.counts(chosen)
    assert counts.shape == tuple(domain[name].size for name in chosen)
    assert all(
        counts[cell] == plain[cell] for cell in product(*(range(size) for size in counts.shape))
    )


def test_counts_of_an_unknown_attribute_are_refused() -> None:
    with pytest.raises(
        DomainError, match="there is no attribute 'wage'; the 2 attributes are sex, age"
    ):
        every_candidate(PAIR).counts(["wage"])


# ---- a dataset checks itself


def test_a_dataset_needs_one_column_for_each_attribute() -> None:
    with pytest.raises(
        DomainError, match=r"^codes must have 2 columns, one per attribute, got shape \(5, 3\)$"
    ):
        Dataset(PAIR, np.zeros((5, 3), dtype=np.uint16))


def test_a_dataset_refuses_a_candidate_that_is_not_there() -> None:
    with pytest.raises(
        DomainError, match=r"^attribute 'sex' has 2 candidates; a record names another one$"
    ):
        Dataset(PAIR, np.array([[0, 0], [2, 0]], dtype=np.uint16))


@pytest.mark.parametrize("code", [65_536, -65_535, 0.9])
def test_a_dataset_refuses_a_number_that_no_candidate_has(code: float) -> None:
    with pytest.raises(DomainError):
        Dataset(PAIR, np.array([[0, 0], [code, 0]]))


def test_records_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        every_candidate(PAIR).codes[0, 0] = 1


def test_the_array_that_was_handed_in_still_belongs_to_its_owner() -> None:
    mine = np.zeros((3, 2), dtype=np.uint16, order="F")
    Dataset(PAIR, mine)
    mine[0, 0] = 1


def test_a_slice_holds_the_records_at_its_places() -> None:
    dataset = every_candidate(KINDS)
    assert dataset[3:7].codes.tolist() == dataset.codes[3:7].tolist()
    assert dataset[np.array([5, 0])].codes.tolist() == [
        dataset.codes[5].tolist(),
        dataset.codes[0].tolist(),
    ]


# ---- bad tables


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        ("sex,age\n", "has a header but no records"),
        ("sex,sex,age\nF,F,1\n", "has two columns named 'sex'"),
        ("sex,,age\nF,F,1\n", "has a column without a name"),
        ("sex,wage\nF,1\n", "has no column 'age'; its columns are sex, wage"),
        ("sex,age\nF,1\nM\n", "line 3 has 1 fields, the header has 2"),
        ("sex,age\nF,1,2\n", "line 2 has 3 fields, the header has 2"),
        (
            b"sex,age\nF,1\nM,\xff\n",
            "is not UTF-8 text: line 3 has a byte that is not; save it as UTF-8",
        ),
        ("sex,age\nF,1\n".encode("utf-16"), "is not UTF-8 text: line 1"),
    ],
)
def test_what_is_no_table_is_refused_with_one_sentence(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        codes_of(tmp_path, content, PAIR)
    assert str(refusal.value).startswith(f"{tmp_path / 'table.csv'}") and words in str(
        refusal.value
    )
    assert "\n" not in str(refusal.value)


def test_a_header_without_a_line_end_is_a_header_without_records(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="has a header but no records"):
        codes_of(tmp_path, "sex,age", PAIR)


def test_the_line_of_a_ragged_row_is_right_far_down_in_a_large_file(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="line 200002 has 1 fields, the header has 2"):
        codes_of(tmp_path, "sex,remark\n" + "F,one of many\n" * 200_000 + "M\n", PAIR)


@pytest.mark.parametrize("before", ["\n\n", '"one\ntwo\nthree",1\n'])
def test_the_line_of_a_ragged_row_is_the_one_that_an_editor_shows(
    tmp_path: Path, before: str
) -> None:
    lines = ("sex,age\n" + before).count("\n")
    with pytest.raises(DomainError, match=f"line {lines + 1} has 1 fields"):
        codes_of(tmp_path, f"sex,age\n{before}M\n", PAIR)


def test_a_quotation_mark_left_open_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match=r"table\.csv"):
        codes_of(tmp_path, 'sex,age\n"F,1\nM,2\n', PAIR)


def damaged_gzips() -> list[bytes]:
    """Cut off, with a wrong checksum, with a torn header, and with bytes changed in between."""
    noise = np.random.default_rng(1).choice(list(b"FM"), size=4000).astype(np.uint8)
    whole = gzip.compress(b"sex\n" + b"\n".join(bytes([letter]) for letter in noise), mtime=0)
    changed = [bytes([*whole[:at], whole[at] ^ 0xFF, *whole[at + 1 :]]) for at in range(10, 60, 7)]
    return [whole[:-20], whole[:-8] + bytes(8), whole[:5], whole + b"more", *changed]


def unpacking_fails_with(data: bytes) -> type[Exception]:
    try:
        gzip.decompress(data)
    except Exception as error:  # noqa: BLE001, RUF100
        return type(error)
    raise AssertionError("this file is whole")


@pytest.mark.parametrize(
    "wanted",
    [
        "EOFError",
        "BadGzipFile",
        "error",
    ],
)
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, wanted: str) -> None:
    """Damage shows as any of three errors, one of them zlib's own."""
    damaged = [data for data in damaged_gzips() if unpacking_fails_with(data).__name__ == wanted]
    assert damaged
    for data in damaged:
        with pytest.raises(StoreError, match=r"table\.csv\.gz is a damaged gzip file"):
            Dataset.load(written(tmp_path, data, "table.csv.gz"), PAIR)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*nothing.csv: No such file or directory"):
        Dataset.load(tmp_path / "nothing.csv", PAIR)


def test_a_directory_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*: Is a directory"):
        Dataset.load(tmp_path, PAIR)


# ---- no answer is ever repeated

OUTSIDE: list[tuple[Attribute, str, str]] = [
    (SEX, SECRET, "attribute 'sex' does not list this value (2 candidates)"),
    (CITY, SECRET, "attribute 'city' does not list this value (9 candidates)"),
    (HAPPY, SECRET, "attribute 'happy' does not list this value (3 candidates)"),
    (AGE, SECRET, "attribute 'age' takes an integer; this text is not one"),
    (AGE, "20471142", "attribute 'age' takes integers from -2 to 3; this one is outside"),
    (PAY, SECRET, "attribute 'pay' takes a number; this text is not one"),
    (PAY, "20471142", "attribute 'pay' takes numbers from -1.5 to 20.5; this one is outside"),
    (PAY, "[20471142", "attribute 'pay' takes a number or one of its bins, got str"),
    (SEX, "", "attribute 'sex' has no answer, and the campaign does not take a missing one"),
]


@pytest.mark.parametrize(("attribute", "answer", "words"), OUTSIDE)
def test_an_answer_outside_the_domain_is_told_by_record_and_attribute_alone(
    tmp_path: Path, attribute: Attribute, answer: str, words: str
) -> None:
    rows = [attribute.texts[0].replace('"', '""')] * 1233 + [answer]
    content = f"{attribute.name},more\n" + "".join(f'"{row}",1\n' for row in rows)
    with pytest.raises(DomainError) as refusal:
        codes_of(tmp_path, content, Domain((attribute,)), coded=False)
    assert str(refusal.value).startswith(f"record 1,234: {words}")
    assert not answer or answer.strip("[") not in everything_said(refusal.value)


@pytest.mark.parametrize(("attribute", "answer", "words"), OUTSIDE[:-1])
def test_an_answer_outside_the_domain_is_never_repeated_from_an_arrow_table(
    attribute: Attribute, answer: str, words: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        arrow_codes([attribute.texts[0], answer], attribute)
    assert str(refusal.value).startswith(f"record 2: {words}")
    assert answer.strip("[") not in everything_said(refusal.value)


@pytest.mark.parametrize("value", [20471142, 20471142.5, b"20471142", True])
def test_a_typed_answer_outside_the_domain_is_never_repeated(value: object) -> None:
    with pytest.raises(DomainError, match=r"^record 1: attribute 'pay' takes") as refusal:
        arrow_codes([value], PAY)
    assert "20471142" not in everything_said(refusal.value)


def test_all_mistakes_of_a_table_are_told_at_once_by_attribute_and_record(tmp_path: Path) -> None:
    domain = Domain(
        (
            Categorical(name="drink", values=("tea", "wine")),
            IntegerRange(name="age", minimum=1, maximum=4),
        )
    )
    rows = ["tea,1", f"{SECRET},2", "wine,x", *[f"{SECRET}{i},9" for i in range(6)], "wine,7"]
    (tmp_path / "table.csv").write_text("drink,age\n" + "\n".join(rows) + "\n")
    with pytest.raises(DomainError) as refusal:
        Dataset.load(tmp_path / "table.csv", domain, coded=False)
    assert str(refusal.value).splitlines() == [
        f"{tmp_path / 'table.csv'} has 3 mistakes:",
        "- records 2, 4, 5 and 4 more: attribute 'drink' does not list this value (2 candidates): it takes tea, wine",
        "- record 3: attribute 'age' takes an integer; this text is not one",
        "- records 4, 5, 6 and 4 more: attribute 'age' takes integers from 1 to 4; this one is outside",
    ]


@pytest.mark.parametrize("coded", [None, True])
def test_a_text_that_is_no_candidate_number_is_never_repeated(
    tmp_path: Path, coded: bool | None
) -> None:
    with pytest.raises(DomainError, match=r"^records? 1( and 2)?: attribute 'sex'") as refusal:
        codes_of(tmp_path, f"sex\n{SECRET}\n1\n", Domain((SEX,)), coded=coded)
    assert SECRET not in everything_said(refusal.value)


@pytest.mark.parametrize("line", [f"{SECRET}", f"{SECRET},1,2", f'"{SECRET},1'])
def test_a_ragged_row_is_never_repeated(tmp_path: Path, line: str) -> None:
    with pytest.raises(DomainError) as refusal:
        codes_of(tmp_path, f"sex,age\nF,1\n{line}\n", PAIR)
    assert SECRET not in everything_said(refusal.value)


def test_a_file_that_is_no_text_is_never_repeated(tmp_path: Path) -> None:
    """`from None` hides an error from the traceback; loggers that walk __context__ still print it, whole file and all."""
    with pytest.raises(DomainError) as refusal:
        codes_of(tmp_path, f"sex,age\nF,1\n{SECRET},".encode() + b"\xff\n", PAIR)
    assert SECRET not in everything_said(refusal.value)


def test_a_dataset_that_refuses_its_codes_repeats_none() -> None:
    with pytest.raises(DomainError) as refusal:
        Dataset(PAIR, np.array([[20_471, 0]], dtype=np.uint16))
    assert "20471" not in everything_said(refusal.value)


# ---- output appears whole or not at all


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def half_a_table(target: io.RawIOBase, *rest: object) -> None:
    target.write(b"half of it")
    full_disk()


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_output_that_exists_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("theirs")
    with pytest.raises(
        StoreError, match=f"{name} exists already; choose another name or use force=True"
    ):
        every_candidate(PAIR).save(tmp_path / name)
    assert (tmp_path / name).read_text() == "theirs"


def test_output_that_exists_is_replaced_where_forced(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("theirs")
    every_candidate(PAIR).save(tmp_path / "table.csv", force=True)
    assert len(Dataset.load(tmp_path / "table.csv", PAIR)) == 40


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
@pytest.mark.parametrize(
    ("broken", "by"),
    [("lopub.files.os.fsync", full_disk), ("lopub.reports.dataset.write_csv", half_a_table)],
)
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, broken: str, by: object
) -> None:
    monkeypatch.setattr(broken, by)
    with pytest.raises(StoreError, match=f"cannot write .*{name}: No space left on device"):
        every_candidate(PAIR).save(tmp_path / name)
    assert names_in(tmp_path) == []


def test_a_full_disk_leaves_the_old_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table.csv").write_text("theirs")
    monkeypatch.setattr("lopub.reports.dataset.write_csv", half_a_table)
    with pytest.raises(StoreError, match="No space left on device"):
        every_candidate(PAIR).save(tmp_path / "table.csv", force=True)
    assert names_in(tmp_path) == ["table.csv"]
    assert (tmp_path / "table.csv").read_text() == "theirs"


def test_reading_texts_leaves_every_column_a_text(tmp_path: Path) -> None:
    """Were pyarrow to guess, 007 would lose its zeros and NA its letters."""
    table = read_texts(written(tmp_path, "a,b,c,d\n007,NA,null,2020-01-01\n"))
    assert table.to_pylist() == [{"a": "007", "b": "NA", "c": "null", "d": "2020-01-01"}]


def test_a_table_without_a_header_is_refused_without_its_first_record(tmp_path: Path):
    """The first line is then somebody's answers."""
    path = tmp_path / "people.csv"
    path.write_text("CANARY,7,true\ny,2,false\n")
    domain = Domain((Categorical(name="a", values=("x", "y")), Boolean(name="b")))
    with pytest.raises(DomainError, match="its first line must name the attributes") as refusal:
        Dataset.load(path, domain)
    assert "CANARY" not in str(refusal.value)
