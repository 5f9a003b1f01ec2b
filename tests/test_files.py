"""Files appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from lopub.errors import LopubError, StoreError
from lopub.files import refuse_taken, whole_directory, whole_file, write_whole


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
    with pytest.raises(
        StoreError, match=f"^{tmp_path}/a exists already; choose another name or use force=True$"
    ):
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
    with (
        pytest.raises(StoreError, match=f"^{tmp_path}/a exists already"),
        whole_file(tmp_path / "a"),
    ):
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


# ---- directories


def fill(
    path: Path, content: bytes, *, force: bool = False, error: type[BaseException] | None = None
) -> None:
    with whole_directory(path, mark="inner/a", force=force) as part:
        (part / "inner").mkdir()
        (part / "inner" / "a").write_bytes(content)
        if error:
            raise error


def test_a_directory_holds_what_was_written_and_nothing_lies_beside_it(tmp_path):
    fill(tmp_path / "out", b"new")
    assert (tmp_path / "out" / "inner" / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_no_directory_has_the_wanted_name_before_all_is_written(tmp_path):
    with whole_directory(tmp_path / "out", mark="inner/a") as part:
        assert part.parent == tmp_path and not (tmp_path / "out").exists()


def test_an_empty_directory_is_as_good_as_none(tmp_path):
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out", b"new")
    assert names(tmp_path / "out") == ["inner"] and names(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_a_name_that_is_taken_is_refused(tmp_path, kind):
    path = tmp_path / "out"
    if kind == "directory":
        path.mkdir()
        (path / "theirs").write_bytes(b"old")
    elif kind == "file":
        path.write_bytes(b"old")
    else:
        path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(
        StoreError, match=f"^{path} exists already; choose another name or use force=True$"
    ):
        fill(path, b"new")
    assert names(tmp_path) == ["out"]


def test_a_directory_that_is_filled_in_the_meantime_is_refused(tmp_path):
    with (
        pytest.raises(StoreError, match="exists already"),
        whole_directory(tmp_path / "out", mark="inner/a"),
    ):
        fill(tmp_path / "out", b"theirs")
    assert (tmp_path / "out" / "inner" / "a").read_bytes() == b"theirs"
    assert names(tmp_path) == ["out"]


def test_force_replaces_a_directory_whole(tmp_path):
    fill(tmp_path / "out", b"old")
    (tmp_path / "out" / "more").write_bytes(b"old")
    fill(tmp_path / "out", b"new", force=True)
    assert names(tmp_path / "out") == ["inner"] and names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "inner" / "a").read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_force_replaces_nothing_but_its_own_kind(tmp_path, kind):
    """`-o . --force` in the wrong place must not take a folder of somebody's files with it."""
    path = tmp_path / "out"
    if kind == "directory":
        path.mkdir()
        (path / "theirs").write_bytes(b"old")
    elif kind == "file":
        path.write_bytes(b"old")
    else:
        fill(tmp_path / "theirs", b"old")
        path.symlink_to(tmp_path / "theirs")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        StoreError,
        match=r"out exists and has no inner/a, so force=True does not replace it; choose another",
    ):
        fill(path, b"new", force=True)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_filler_that_fails_leaves_nothing(tmp_path, error):
    with pytest.raises(error):
        fill(tmp_path / "out", b"new", error=error)
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_filler_that_fails_leaves_the_old_directory(tmp_path, error):
    fill(tmp_path / "out", b"old")
    with pytest.raises(error):
        fill(tmp_path / "out", b"new", force=True, error=error)
    assert (tmp_path / "out" / "inner" / "a").read_bytes() == b"old" and names(tmp_path) == ["out"]


def test_a_failure_between_old_and_new_brings_the_old_directory_back(tmp_path, monkeypatch):
    """The old one is put aside just before the new one takes its name: that is the moment to fail."""
    fill(tmp_path / "out", b"old")
    rename = Path.rename

    def fails_for_the_new_one(path, target):
        if path.name.endswith(".part"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(StoreError, match=f"^cannot write {tmp_path}/out: Input/output error$"):
        fill(tmp_path / "out", b"new", force=True)
    assert (tmp_path / "out" / "inner" / "a").read_bytes() == b"old" and names(tmp_path) == ["out"]


def test_every_file_of_a_directory_reaches_the_disk_before_its_name_does(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        "lopub.files.sync", lambda path: synced.append((path.name, (tmp_path / "out").exists()))
    )
    fill(tmp_path / "out", b"new")
    assert synced[:2] == [("inner", False), ("a", False)]
    assert synced[-1] == (tmp_path.name, True)


def test_a_file_in_place_of_a_parent_directory_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        StoreError, match=r"cannot write .*/file/out: (Not a directory|File exists)"
    ):
        fill(tmp_path / "file" / "out", b"new")


def test_a_directory_name_that_is_too_long_is_told(tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*: File name too long"):
        fill(tmp_path / ("a" * 256), b"new")


def test_asking_whether_a_name_that_is_too_long_is_taken_is_told(tmp_path):
    with pytest.raises(StoreError, match="File name too long"):
        refuse_taken(tmp_path / ("a" * 256), mark="inner/a", force=False)


@pytest.mark.parametrize("name", [".", "/"])
def test_a_directory_that_has_no_name_is_told(tmp_path, monkeypatch, name):
    (tmp_path / "mine").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError):
        fill(Path(name), b"new", force=True)
    assert names(tmp_path) == ["mine"]


# ---- what others left behind


def aged(path: Path, seconds: int) -> None:
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - seconds))


def test_what_a_killed_process_left_behind_goes_at_the_next_run(tmp_path: Path):
    left = [tmp_path / f".{digit * 16}.part" for digit in "abc"]
    left[0].write_bytes(b"half")
    left[1].mkdir()
    (left[1] / "inner").write_bytes(b"half")
    beside = tmp_path / f".{'d' * 16}.part-wal"
    beside.write_bytes(b"half")
    for path in left[:2]:
        aged(path, 120)
    write_whole(tmp_path / "a", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


def test_what_somebody_still_writes_or_has_just_begun_stays(tmp_path: Path):
    with whole_file(tmp_path / "a") as part:
        part.write_bytes(b"slow")
        aged(part, 3600)
        fresh = tmp_path / f".{'e' * 16}.part"
        fresh.write_bytes(b"new")
        write_whole(tmp_path / "b", b"whole")
        assert part.exists() and fresh.exists()
    assert (tmp_path / "a").read_bytes() == b"slow"


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_finished_but_not_yet_named_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """Another command sweeps while the finished part is on its way to the disk."""
    synced = []

    def swept(path: Path) -> None:
        if path.name.endswith(".part") and not synced:
            synced.append(path)
            aged(path, 3600)
            write_whole(tmp_path / "b", b"other")

    monkeypatch.setattr("lopub.files.sync", swept)
    write_whole(tmp_path / "a", b"mine") if kind == "file" else fill(tmp_path / "a", b"mine")
    assert synced and names(tmp_path) == ["a", "b"]


def test_other_hidden_files_are_left_alone(tmp_path: Path):
    mine = [tmp_path / ".mine.part", tmp_path / ".0123.part", tmp_path / f".{'a' * 16}.old"]
    for path in mine:
        path.write_bytes(b"mine")
        aged(path, 3600)
    write_whole(tmp_path / "a", b"whole")
    assert all(path.exists() for path in mine)
