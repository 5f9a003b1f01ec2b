"""The numbers that a page shows, and those in the files beside it."""

import csv
import json
import re
from pathlib import Path
from typing import Any


def numbers_in(directory: Path) -> set[float]:
    """Every number in a csv or JSON file."""
    found: set[float] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
            found.add(float(len(value)))  # how many there are can be counted
        elif isinstance(value, int | float):
            found.add(float(value))

    for path in directory.rglob("*.json"):
        walk(json.loads(path.read_text()))
    for path in directory.rglob("*.csv"):
        if path.parent.name != "data":
            for row in csv.reader(path.read_text().splitlines()):
                found.update(
                    float(cell) for cell in row if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
                )
    return found


def numbers_on(page: bytes) -> list[float]:
    return [float(value) for value in re.findall(r'<data value="([^"]*)"', page.decode())]
