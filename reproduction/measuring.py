"""The run: every cell that is not kept yet is measured, on all cores; then figures and page are made of what is kept."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import ModuleType

from threadpoolctl import threadpool_limits

from lopub.errors import DomainError, StoreError
from lopub.reports.catalogue.public import data_directory
from lopub.reports.progress import Progress, silent
from reproduction import baselines, classification, estimation, identification, privacy, pruning
from reproduction.crowds import table_of
from reproduction.extent import TABLES, Scale
from reproduction.measurements import Cell, Values, keep, kept

EXPERIMENTS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (estimation, identification, pruning, classification, privacy, baselines)
}
CELLS = ".cells"


def cells_of(
    what: Sequence[str], scale: Scale, tables: Sequence[str] = tuple(TABLES)
) -> list[Cell]:
    """All cells of these experiments on these tables; those that share a sample stand together."""
    for name in what:
        if name not in EXPERIMENTS:
            raise DomainError(
                f"there is no experiment {name!r}; choose among {', '.join(EXPERIMENTS)}"
            )
    for name in tables:
        if name not in TABLES:
            raise DomainError(
                f"there is no table {name!r} in the paper's evaluation; choose among {', '.join(TABLES)}"
            )
    every = (
        cell for name in EXPERIMENTS if name in what for cell in EXPERIMENTS[name].cells(scale)
    )
    return [cell for cell in every if cell.table in tables]


def tables_there(data: Path | None) -> list[str]:
    """All tables, without the optional ones that are not in the directory."""
    directory = data_directory(data)
    return [
        name
        for name, settings in TABLES.items()
        if not settings.optional or _is_there(name, directory)
    ]


def _is_there(name: str, directory: Path) -> bool:
    try:
        table_of(name, directory)
    except StoreError:
        return False
    return True


def measure(
    cells: Sequence[Cell],
    output: Path,
    *,
    data: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
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
    for more in _measured(missing, directory, store, workers or os.cpu_count() or 1):
        found |= more
        told("measuring", len(found), len(cells))
    return {cell: found[cell] for cell in cells}


def n_kept(cells: Sequence[Cell], output: Path) -> int:
    """How many of the cells need not be measured again."""
    return sum(kept(output / CELLS, cell) is not None for cell in cells)


def _measured(
    cells: Sequence[Cell], directory: Path, store: Path, workers: int
) -> Iterator[dict[Cell, Values]]:
    if not cells:
        return
    groups = groups_of(cells)
    with _pool(min(workers, len(groups))) as pool:
        futures = [pool.submit(measured_and_kept, group, directory, store) for group in groups]
        for future in as_completed(futures):
            yield future.result()


def groups_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells of one sample and its reports, which one process makes once for all of them, with what all their pairs teach."""
    groups: dict[tuple[str, str, int, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.experiment, cell.table, cell.seed, cell.x), []).append(cell)
    return list(groups.values())


def measured_and_kept(cells: Sequence[Cell], directory: Path, store: Path) -> dict[Cell, Values]:
    """The values of some cells, each written down as soon as it is known, so that a run that is stopped loses one at most."""
    found = {}
    for cell in cells:
        found[cell] = measured(cell, directory)
        keep(store, cell, found[cell])
    return found


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
        for process in processes:
            process.join()
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
