"""A disk that is cut off: what lies on it afterwards, of everything that a process wrote through `tests/disk/layer.c`.

What was synced is there. Of the rest any part may be there, in any order: each write as a whole, in torn sectors, or not at all.
A file that is new, or gone, may be as it was unless the directory was synced since.
"""

import random
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent / "disk" / "layer.c"
HEAD = struct.Struct("<cHqI")
SECTOR = 512


@cache
def layer(directory: Path) -> Path:
    """The layer, compiled."""
    built = directory / "layer.so"
    command = [
        "gcc",
        "-O1",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(built),
        str(SOURCE),
        "-ldl",
        "-lpthread",
    ]
    subprocess.run(command, check=True)
    return built


def environment(built: Path, disk: Path, journal: Path, fault: str = "") -> dict[str, str]:
    """For a process whose files on a disk are watched."""
    watched = {"LD_PRELOAD": str(built), "LOPUB_DISK": str(disk), "LOPUB_DISK_LOG": str(journal)}
    return watched | ({"LOPUB_DISK_FAULT": fault} if fault else {})


class Change(NamedTuple):
    """One line of the journal, and where it ends."""

    kind: str
    name: str
    offset: int
    data: bytes
    end: int


def changes(journal: Path) -> Iterator[Change]:
    """What is in a journal."""
    content, at = journal.read_bytes(), 0
    while at + HEAD.size <= len(content):
        kind, n_name, offset, n_data = HEAD.unpack_from(content, at)
        at += HEAD.size
        name = content[at : at + n_name].decode()
        data = content[at + n_name : at + n_name + n_data]
        at += n_name + n_data
        yield Change(kind.decode(), name, offset, data, at)


@dataclass
class File:
    """What is safe of a file, and what was done to it since."""

    safe: bytearray | None = None
    """None: there is no such file."""
    since: list[Change] = field(default_factory=list)
    named: bool = False
    """Whether its name is safe, too."""


class Disk:
    """The files of one directory, as far as they are safe."""

    def __init__(self, directory: Path) -> None:
        """As it is, all of it safe."""
        self.files = {
            path.name: File(bytearray(path.read_bytes()), named=True)
            for path in directory.iterdir()
            if path.is_file()
        }
        self._gone: dict[str, File] = {}

    def apply(self, change: Change) -> None:
        """One change more."""
        match change.kind:
            case "C":
                self.files[change.name] = File(bytearray())
            case "W" | "T":
                self.files[change.name].since.append(change)
            case "S":
                file = self.files[change.name]
                for earlier in file.since:
                    _do(file.safe, earlier, earlier.data)
                file.since.clear()
            case "L":
                lost = self.files[change.name]
                lost.since = [
                    earlier for earlier in lost.since if random.Random(earlier.end).random() < 0.5
                ]
            case "D":
                self._gone.clear()
                for file in self.files.values():
                    file.named = True
            case "U":
                file = self.files.pop(change.name, None)
                if file is not None and file.named:
                    self._gone[change.name] = file

    def cut(self, rng: random.Random, target: Path) -> None:
        """Write down what may be there after the power went."""
        target.mkdir()
        for name, file in self.files.items():
            if file.named or rng.random() < 0.5:
                (target / name).write_bytes(_torn(file, rng))
        for name, file in self._gone.items():
            if name not in self.files and rng.random() < 0.5:
                (target / name).write_bytes(_torn(file, rng))
        for name in [name for name in self.files if name.endswith("-wal")]:
            if rng.random() < 0.5:
                (target / f"{name[:-4]}-shm").write_bytes(rng.randbytes(32768))


def _torn(file: File, rng: random.Random) -> bytes:
    """What is safe, and any part of what came since: everything, nothing, or some of it in any order."""
    content, since = bytearray(file.safe or b""), list(file.since)
    kept = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])
    if rng.random() < 0.7:
        rng.shuffle(since)
    for change in since:
        if change.kind == "T":
            if rng.random() < kept:
                _do(content, change, b"")
        elif rng.random() < 0.5:
            if rng.random() < kept:
                _do(content, change, change.data)
        else:
            for start in range(0, len(change.data), SECTOR):
                if rng.random() < kept:
                    part = change._replace(offset=change.offset + start)
                    _do(content, part, change.data[start : start + SECTOR])
    return bytes(content)


def _do(content: bytearray | None, change: Change, data: bytes) -> None:
    assert content is not None
    if change.kind == "T":
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
        return
    if len(content) < change.offset:
        content.extend(bytes(change.offset - len(content)))
    content[change.offset : change.offset + len(data)] = data
