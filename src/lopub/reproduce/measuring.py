"""The run: every cell that is not kept yet is measured, on all cores; then figures and page are made of what is kept."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import ModuleType

from threadpoolctl import threadpool_limits

from lopub.collection.catalogue.public import data_directory
from lopub.collection.progress import Progress, silent
from lopub.errors import DomainError, StoreError
from lopub.reproduce import baselines, classification, estimation, identification, privacy, pruning
from lopub.reproduce.crowds import table_of
from lopub.reproduce.extent import TABLES, Scale
from lopub.reproduce.measurements import Cell, Values, keep, kept

EXPERIMENTS: dict[str, ModuleType] = {
    module.NAME: module for module in (estimation, identification, pruning, classification, privacy, baselines)
}
CELLS = ".cells"


def cells_of(what: Sequence[str], scale: Scale, tables: Sequence[str] = tuple(TABLES)) -> list[Cell]:
    """All cells of these experiments on these tables; those that share a sample stand together."""
    for name in what:
        if name not in EXPERIMENTS:
            raise DomainError(f"there is no experiment {name!r}; choose among {', '.join(EXPERIMENTS)}")
    for name in tables:
        if name not in TABLES:
            raise DomainError(f"there is no table {name!r} in the paper's evaluation; choose among {', '.join(TABLES)}")
    every = (cell for name in EXPERIMENTS if name in what for cell in EXPERIMENTS[name].cells(scale))
    return [cell for cell in every if cell.table in tables]


def tables_there(data: Path | None) -> list[str]:
    """All tables, without the optional ones that are not in the directory."""
    directory = data_directory(data)
    return [name for name, settings in TABLES.items() if not settings.optional or _is_there(name, directory)]


def _is_there(name: str, directory: Path) -> bool:
    try:
        table_of(name, directory)
    except StoreError:
        return False
    return True


def measure(
    cells: Sequence[Cell], output: Path, *, data: Path | None = None, workers: int | None = None, progress: Progress | None = None
) -> dict[Cell, Values]:
    """The values of all cells: those kept in `output`, the others measured and kept there, one file each. progress: told in
    cells."""
    directory = data_directory(data)
    for name in sorted({cell.table for cell in cells}):
        table_of(name, directory)  # refuse before hours of work, if a table is missing
    store = output / CELLS
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {store}: {error.strerror}") from None
    found = {cell: values for cell in cells if (values := kept(store, cell)) is not None}
    missing = [cell for cell in cells if cell not in found]
    told = progress or silent
    told("measuring", len(found), len(cells))
    for cell, values in _measured(missing, directory, workers or os.cpu_count() or 1):
        keep(store, cell, values)
        found[cell] = values
        told("measuring", len(found), len(cells))
    return {cell: found[cell] for cell in cells}


def _measured(cells: Sequence[Cell], directory: Path, workers: int) -> Iterator[tuple[Cell, Values]]:
    if not cells:
        return
    with _pool(min(workers, len(cells))) as pool:
        futures: Mapping[Future[Values], Cell] = {pool.submit(measured, cell, directory): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that leave Ctrl-C to this one, which then drops what is not begun and ends those that are at work."""
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_alone)
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


def _alone() -> None:
    """Each process is one core: what libraries run in parallel by themselves would only get in the way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process whose run was killed would wait for work for ever."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


def measured(cell: Cell, directory: Path) -> Values:
    """What one cell measures; same cell, same values, but for seconds."""
    values: Values = EXPERIMENTS[cell.experiment].measured(cell, directory)
    return values
