"""The cells of the evaluation: one measurement each, kept in a file of its own, so that a run can be taken up again."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lopub.files import whole_file

Values = Mapping[str, float]
"""What one cell measured: name -> number."""


@dataclass(frozen=True, order=True, kw_only=True)
class Cell:
    """One measurement: of one experiment, on one table, of one method, at one place of the figure's axis, with one seed."""

    experiment: str
    table: str
    seed: int
    x: str
    """f, phi or epsilon, as it is written."""
    method: str
    k: int = 0
    """Attributes of a joint, where that matters."""
    size: int = 0
    """k-sets, pairs or records looked at: cells of a quick and of a full run are not the same."""

    @property
    def file_name(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True)
        return (
            f"{self.experiment}-{self.table}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        )


def kept(directory: Path, cell: Cell) -> Values | None:
    """What the cell measured in an earlier run; None where there is nothing, or nothing that can be read."""
    try:
        found: Any = json.loads((directory / cell.file_name).read_bytes())
        return {str(name): float(value) for name, value in found["values"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(directory: Path, cell: Cell, values: Values) -> None:
    """Write it down, whole or not at all."""
    text = json.dumps({"cell": asdict(cell), "values": dict(values)}, sort_keys=True, indent=1)
    with whole_file(directory / cell.file_name, force=True) as part:
        part.write_text(text + "\n")
