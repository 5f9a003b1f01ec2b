"""SHA-256 in lanes against the standard library's, and the loops that read strings against their plain twins."""

import hashlib

import numpy as np
import pytest

from lopub.bulk import records
from lopub.bulk.folds import digests_of, hashes_of
from lopub.bulk.hashing import FIRST, LANES, ROUND
from lopub.bulk.packed import Packed
from lopub.bulk.records import distinct_keys, distinct_rows, packed_masks


@pytest.mark.parametrize("n", [0, 1, LANES - 1, LANES, LANES + 1, 1000])
def test_hashes_of_ids_are_those_of_hashlib(n: int):
    ids = np.random.default_rng(n).integers(0, 256, (n, 16), dtype=np.uint8)
    expected = [hashlib.sha256(row.tobytes()).digest() for row in ids]
    assert [row.tobytes() for row in hashes_of(ids)] == expected
    assert digests_of(ids).tolist() == [int.from_bytes(hash_[:8]) for hash_ in expected]


@pytest.mark.parametrize("byte", [0x00, 0x7F, 0x80, 0xFF])
def test_hashes_of_ids_of_one_byte_over_and_over_are_those_of_hashlib(byte: int):
    ids = np.full((1, 16), byte, dtype=np.uint8)
    assert hashes_of(ids)[0].tobytes() == hashlib.sha256(bytes([byte] * 16)).digest()


def test_ids_that_do_not_lie_side_by_side_are_hashed_alike():
    wide = np.random.default_rng(1).integers(0, 256, (40, 31), dtype=np.uint8)
    np.testing.assert_array_equal(hashes_of(wide[:, 9:25]), hashes_of(wide[:, 9:25].copy()))


def test_the_constants_are_those_of_the_standard():
    assert (FIRST[0], FIRST[7]) == (0x6A09E667, 0x5BE0CD19)
    assert (ROUND[0], ROUND[1], ROUND[63]) == (0x428A2F98, 0x71374491, 0xC67178F2)


def test_numbers_are_read_as_big_endian():
    strings = [b"", b"\x01", b"\x01\x00", b"\xff" * 8, b"\x00\x00\x02"]
    packed = Packed.from_lengths(
        np.frombuffer(b"".join(strings), np.uint8), np.array(list(map(len, strings)))
    )
    assert packed.numbers().tolist() == [int.from_bytes(string) for string in strings]


@pytest.mark.parametrize(
    "rows", [slice(1, 3), slice(2, 2), slice(3, 1), slice(None, None, -1), slice(-2, None)]
)
def test_a_run_of_strings_is_that_of_a_list(rows: slice):
    strings = [b"a", b"", b"bcd", b"ef"]
    packed = Packed.from_lengths(
        np.frombuffer(b"".join(strings), np.uint8), np.array(list(map(len, strings)))
    )
    part = packed[rows]
    assert [part.string(i) for i in range(len(part))] == strings[rows]


@pytest.mark.parametrize("most", [1, 4, 4096], ids=["sorted", "just too many", "numbered"])
def test_distinct_keys_are_what_numpy_finds(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(records, "MOST_MET", most)
    keys = np.random.default_rng(2).integers(0, 6, 500, dtype=np.uint64) << np.uint64(40)
    distinct, places = np.unique(keys, return_inverse=True)
    found, mine = distinct_keys(keys)
    assert found.tolist() == distinct.tolist()
    assert mine.tolist() == places.tolist()


@pytest.mark.parametrize("largest", [1, 2**16 - 1, 2**16, 2**16 + 1])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_keys_below_and_above_the_table_are_what_numpy_finds(n: int, largest: int):
    keys = np.random.default_rng(2).integers(0, largest, n, dtype=np.uint64, endpoint=True)
    keys[-1:] = largest
    for found, wanted in zip(
        distinct_keys(keys), np.unique(keys, return_inverse=True), strict=True
    ):
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


@pytest.mark.parametrize("width", [0, 1, 3, 8, 9])
def test_distinct_rows_are_in_order_with_the_place_of_each(width: int):
    rows = np.random.default_rng(3).integers(0, 2, (60, width), dtype=np.uint8)
    distinct, places = distinct_rows(rows)
    np.testing.assert_array_equal(distinct[places], rows)
    assert len({row.tobytes() for row in rows}) == len(distinct)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 15, 64, 65])
def test_masks_are_packed_as_numpy_packs_them(width: int):
    mask = np.random.default_rng(width).random((50, width)) < 0.5
    np.testing.assert_array_equal(packed_masks(mask), np.packbits(mask, axis=1, bitorder="little"))
