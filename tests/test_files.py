"""Files appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from lopub.errors import LopubError, StoreError
from lopub.files import whole_file, write_whole


def full(*arguments: object, **options: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def forbidden(*arguments: object, **options: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def write_half(path: Path, error: type[BaseException]) -> None:
    with whole_file(path, force=True) as part:
        part.write_bytes(b"half")
        raise error


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_holds_what_was_written_and_nothing_lies_beside_it(tmp_path):
    write_whole(tmp_path / "a", b"\x00whole")
    assert (tmp_path / "a").read_bytes() == b"\x00whole"
    assert names(tmp_path) == ["a"]


def test_a_file_that_exists_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(StoreError, match=f"^{tmp_path}/a exists already; choose another name or use --force$"):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_refused_file_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr("os.open", full)
    with pytest.raises(StoreError, match="exists already"):
        write_whole(tmp_path / "a", b"new")


def test_force_replaces_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    write_whole(tmp_path / "a", b"new", force=True)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_file_that_appears_in_the_meantime_is_refused(tmp_path):
    with pytest.raises(StoreError, match=f"^{tmp_path}/a exists already"), whole_file(tmp_path / "a"):
        (tmp_path / "a").write_bytes(b"theirs")
    assert (tmp_path / "a").read_bytes() == b"theirs"
    assert names(tmp_path) == ["a"]


def test_nothing_has_the_wanted_name_before_all_is_written(tmp_path):
    with whole_file(tmp_path / "a") as part:
        part.write_bytes(b"half")
        assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_writer_that_fails_leaves_nothing(tmp_path, error):
    with pytest.raises(error):
        write_half(tmp_path / "a", error)
    assert names(tmp_path) == []


def test_a_writer_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "a", ZeroDivisionError)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["os.open", "os.fsync", "pathlib.Path.write_bytes"])
def test_a_full_disk_is_told_in_one_sentence_and_leaves_nothing(tmp_path, monkeypatch, call):
    monkeypatch.setattr(call, full)
    with pytest.raises(StoreError, match=f"^cannot write {tmp_path}/a: No space left on device$"):
        write_whole(tmp_path / "a", b"new")
    monkeypatch.undo()
    assert names(tmp_path) == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        write_whole(tmp_path / "a", b"new", force=True)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_file_system_without_hard_links_serves_too(tmp_path, monkeypatch):
    monkeypatch.setattr("os.link", forbidden)
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_directory_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*/nowhere/a: No such file or directory"):
        write_whole(tmp_path / "nowhere" / "a", b"new")


def test_a_file_in_place_of_the_directory_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"cannot write .*/file/a: Not a directory"):
        write_whole(tmp_path / "file" / "a", b"new")


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_file_is_no_more_open_than_asked(tmp_path, mode):
    umask = os.umask(0o022)
    try:
        write_whole(tmp_path / "a", b"new", mode=mode)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode & ~0o022


def test_the_unfinished_file_is_no_more_open_than_the_finished(tmp_path):
    with whole_file(tmp_path / "a", mode=0o600) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_a_name_as_long_as_the_file_system_takes_is_written(tmp_path):
    write_whole(tmp_path / ("a" * 255), b"new")
    assert names(tmp_path) == ["a" * 255]


def test_a_name_of_long_letters_is_written(tmp_path):
    write_whole(tmp_path / ("中" * 85), b"new")
    assert names(tmp_path) == ["中" * 85]


def test_a_name_that_is_too_long_is_told(tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*: File name too long"):
        write_whole(tmp_path / ("a" * 256), b"new")


def test_a_store_error_is_ours_as_well_as_the_systems():
    assert issubclass(StoreError, LopubError) and issubclass(StoreError, OSError)
