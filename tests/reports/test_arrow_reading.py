"""What is said where Arrow cannot read a file."""

from pathlib import Path

import pyarrow as pa
import pytest

from lopub.errors import StoreError
from lopub.reports.reading import reading


def test_no_memory_is_no_damage():
    """`publish` called a whole file damaged, where 700 MB of address space were all that it had."""
    with pytest.raises(MemoryError), reading("reports.parquet", "reports.parquet is damaged"):
        raise pa.ArrowMemoryError("malloc of size 64 failed")


def test_what_the_system_says_is_said(tmp_path: Path):
    path = tmp_path / "nowhere"
    with (
        pytest.raises(StoreError, match=r"^cannot read .*/nowhere: No such file or directory$"),
        reading(path, "damaged"),
    ):
        path.open()


@pytest.mark.parametrize(
    "error", [pa.ArrowInvalid("?"), OSError("?"), UnicodeDecodeError("utf-8", b"", 0, 0, "?")]
)
def test_anything_else_is_the_file(error):
    with pytest.raises(StoreError, match=r"^damaged$"), reading("file", "damaged"):
        raise error


def test_a_refusal_of_ours_stays_what_it_is():
    with pytest.raises(StoreError, match=r"^another campaign's$"), reading("file", "damaged"):
        raise StoreError("another campaign's")
