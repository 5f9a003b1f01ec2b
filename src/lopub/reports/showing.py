"""What all public results share: Arrow, pandas, polars and notebooks read them without a word from anybody."""

from abc import ABC, abstractmethod
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lopub.campaign.texts import html_table, one_line
from lopub.errors import DomainError

if TYPE_CHECKING:
    import pandas
    import polars

MOST_SHOWN = 20
"""Rows of a table in a notebook."""


class Shown(ABC):
    """A result that is a table at heart: `to_arrow` is all that it has to bring."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The result as an Arrow table."""

    def to_pandas(self) -> "pandas.DataFrame":
        """The result as a pandas frame."""
        _needed("pandas")
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> "polars.DataFrame":
        """The result as a polars frame."""
        frame: polars.DataFrame = _needed("polars").from_arrow(self.to_arrow())
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C interface: any library that knows Arrow takes the result as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        table = self.to_arrow()
        rows = (
            [_cell(value) for value in row.values()]
            for row in table.slice(0, MOST_SHOWN).to_pylist()
        )
        more = (
            f"<p>… and {len(table) - MOST_SHOWN:,} more rows</p>" if len(table) > MOST_SHOWN else ""
        )
        return html_table(table.column_names, rows) + more


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise DomainError(f"this needs {name}; install it with: pip install {name}") from None


def changed_fields(options: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, by name."""
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    return {
        field.name: given[field.name]
        for field in fields(options)
        if given[field.name] != field.default
    }


def options_repr(options: object) -> str:
    """The repr of a dataclass of options: those that differ from their defaults."""
    return one_line(
        options, *(f"{name}={value!r}" for name, value in changed_fields(options).items())
    )
