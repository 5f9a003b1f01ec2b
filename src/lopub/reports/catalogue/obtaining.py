"""A public table, from its originals to its place: DIR/<name>/<name>.csv.gz and DIR/<name>/<name>.domain.json."""

import contextlib
import gzip
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lopub.errors import StoreError
from lopub.files import exists, whole_file
from lopub.reports.catalogue.fetching import fetch, forget
from lopub.reports.catalogue.originals import Original, PublicSource
from lopub.reports.catalogue.preparation import Prepared
from lopub.reports.progress import Progress


@dataclass(frozen=True)
class Place:
    """Where `public_table` finds the two files of a table."""

    directory: Path
    name: str

    @property
    def folder(self) -> Path:
        """The directory of the table."""
        return self.directory / self.name

    @property
    def table(self) -> Path:
        """The records."""
        return self.folder / f"{self.name}.csv.gz"

    @property
    def domain(self) -> Path:
        """The description of the attributes."""
        return self.folder / f"{self.name}.domain.json"


def bring(
    source: PublicSource, place: Place, files: Sequence[Path], *, force: bool = False
) -> Prepared:
    """Prepare a table from files that are there already, or directories that hold them, and put it in its place."""
    return _put(source, place, lambda: brought(source, files), force=force)


def download(
    source: PublicSource,
    place: Place,
    *,
    base: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Prepared:
    """Prepare a table from originals that are downloaded, and put it in its place. progress: told in bytes."""
    if base is None and source.instead:
        raise StoreError(source.instead)
    prepared = _put(
        source,
        place,
        lambda: [
            fetch(original, place.folder, base=base, progress=progress)
            for original in source.originals
        ],
        force=force,
    )
    for original in source.originals:
        forget(original, place.folder)
    return prepared


def brought(source: PublicSource, files: Sequence[Path]) -> list[bytes]:
    """The contents of all originals, told by what is in the files; their names matter within directories only."""
    contents: dict[str, bytes] = {}
    for path in _within(source, files):
        contents.update(_recognised(source, path))
    missing = [original.name for original in source.originals if original.name not in contents]
    if missing:
        raise StoreError(
            f"{missing[0]} is not among the files given; add it with --from, as it is or packed with gzip"
        )
    return [contents[original.name] for original in source.originals]


def _within(source: PublicSource, files: Sequence[Path]) -> Iterator[Path]:
    """Files as they are; of a directory those that are named like an original."""
    for path in files:
        if path.is_dir():
            names = [
                name
                for original in source.originals
                for name in (original.name, f"{original.name}.gz")
            ]
            yield from (path / name for name in names if (path / name).is_file())
        else:
            yield path


def _recognised(source: PublicSource, path: Path) -> dict[str, bytes]:
    for original in source.originals:
        if (content := original.content(_read(path, original))) is not None:
            return {original.name: content}
    names = " nor ".join(original.name for original in source.originals)
    raise StoreError(f"{path} is not {names}: its SHA-256 is another one, see docs/datasets.md")


def _read(path: Path, original: Original) -> bytes:
    """So much of a file that a copy of the original would be whole, and a larger one is not taken for it."""
    try:
        with open(path, "rb") as file:
            return file.read(original.most_bytes + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None


def _put(
    source: PublicSource, place: Place, contents: Callable[[], Sequence[bytes]], *, force: bool
) -> Prepared:
    """Refuse a place that is taken before any work is done; leave no directory behind that holds nothing."""
    for path in (place.table, place.domain):
        if path.exists() and not force:
            raise exists(path)
    with _made(place.folder):
        prepared = source.prepare(*contents())
        _check(source, prepared)
        _write(prepared, place, force=force)
    return prepared


def _check(source: PublicSource, prepared: Prepared) -> None:
    """What came out must be what everybody else has, or no two people's figures could be compared."""
    for content, expected in (
        (prepared.csv, source.csv_sha256),
        (prepared.domain, source.domain_sha256),
    ):
        if hashlib.sha256(content).hexdigest() != expected:
            raise StoreError(
                f"{source.name} was prepared, but its SHA-256 is not {expected}, so nothing was written"
            )


def _write(prepared: Prepared, place: Place, *, force: bool) -> None:
    """Both or none: the table, by which `public_table` knows that there is one, appears last. Same table, same bytes."""
    with (
        whole_file(place.table, force=force) as table_part,
        whole_file(place.domain, force=force) as domain_part,
    ):
        with (
            open(table_part, "wb") as raw,
            gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed,
        ):
            packed.write(prepared.csv)
        domain_part.write_bytes(prepared.domain)


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder, with its parents; those that were made for it are gone again where nothing came to lie in them."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make directory {folder}: {error.strerror}") from None
    try:
        yield
    finally:
        for path in new:
            with contextlib.suppress(OSError):
                path.rmdir()
