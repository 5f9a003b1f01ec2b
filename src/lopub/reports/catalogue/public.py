"""Public tables: `<name>.csv.gz` of candidate numbers beside `<name>.domain.json`, in a directory of the user's."""

import json
import os
from pathlib import Path
from typing import Any

from lopub.campaign.canonical import decimal_text
from lopub.campaign.domain import Attribute, Binned, Categorical, Domain
from lopub.errors import DomainError, StoreError
from lopub.reports.dataset import Dataset

VARIABLE = "LOPUB_DATA"


def data_directory(directory: str | Path | None = None) -> Path:
    """Where public tables lie: the given directory, or the one that LOPUB_DATA names."""
    named = directory or os.environ.get(VARIABLE)
    if not named:
        raise StoreError(f"no directory of public tables: set {VARIABLE} or use --data DIR")
    return Path(named)


def public_table(name: str, directory: str | Path | None = None) -> Dataset:
    """A prepared table: DIR/<name>/<name>.csv.gz, or DIR/<name>.csv.gz."""
    root = data_directory(directory)
    for folder in (root / name, root):
        table = folder / f"{name}.csv.gz"
        if table.is_file():
            return Dataset.load(table, read_domain_file(folder / f"{name}.domain.json"), coded=True)
    raise StoreError(
        f"there is no table {name!r} in {root}; it should be {root / name / name}.csv.gz"
    )


def read_domain_file(path: str | Path) -> Domain:
    """The domain of a prepared table: per attribute its name and either `labels` or `edges`."""
    try:
        described = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read domain file {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DomainError(f"{path} is not valid JSON") from None
    try:
        return Domain(tuple(_attribute(item) for item in described["attributes"]))
    except (KeyError, TypeError):
        raise DomainError(
            f"{path} must list its attributes, each with a name and either labels or edges"
        ) from None


def _attribute(item: dict[str, Any]) -> Attribute:
    name = str(item["name"])
    if "edges" in item:
        return Binned(name=name, edges=tuple(decimal_text(edge, name) for edge in item["edges"]))
    return Categorical(name=name, values=tuple(str(label) for label in item["labels"]))
