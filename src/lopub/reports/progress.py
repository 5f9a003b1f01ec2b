"""How long work tells how far it is: one shape of callback for everything that can take a while."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and out of how much; None where nobody knows."""


def silent(doing: str, done: int, total: int | None) -> None:
    """Tell nobody."""
