"""An engine by its name. The packages of a cluster are loaded only where one is asked for."""

from collections.abc import Callable
from importlib import import_module

from lopub.errors import DomainError, EngineError
from lopub.reports.engines.base import Engine
from lopub.reports.engines.local import LocalEngine


def _local(address: str | None) -> Engine:
    if address is not None:
        raise DomainError(
            "engine local has no address; leave it out, or choose engine dask or spark"
        )
    return LocalEngine()


def _dask(address: str | None) -> Engine:
    _need("distributed", "dask")
    from lopub.reports.engines.dask_engine import DaskEngine

    return DaskEngine.at(address)


def _spark(address: str | None) -> Engine:
    _need("pyspark", "spark")
    from lopub.reports.engines.spark_engine import SparkEngine

    return SparkEngine.at(address)


def _need(package: str, name: str) -> None:
    try:
        import_module(package)
    except ImportError:
        raise EngineError(
            f"engine {name} is not installed; install it with: pip install 'lopub[{name}]'"
        ) from None


ENGINES: dict[str, Callable[[str | None], Engine]] = {
    "local": _local,
    "dask": _dask,
    "spark": _spark,
}


def engine_of(name: str, address: str | None = None) -> Engine:
    """The engine of a name: on the cluster at an address, or on one that is started here and closed with it."""
    if name not in ENGINES:
        raise DomainError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")
    return ENGINES[name](address)
