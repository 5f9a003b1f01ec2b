"""Settings of the service in the environment: which there are, and a note on those that no command knows."""

import os
from difflib import get_close_matches

from lopub.cli.console import note

SETTINGS = (
    "LOPUB_CONSOLE_HOST",
    "LOPUB_CONSOLE_PORT",
    "LOPUB_DATA",
    "LOPUB_DATABASE",
    "LOPUB_EMBED",
    "LOPUB_FILES",
    "LOPUB_FULL",
    "LOPUB_GATE",
    "LOPUB_GRACE_DAYS",
    "LOPUB_HOST",
    "LOPUB_PORT",
    "LOPUB_PUBLIC",
)
"""The variables of all options, of the public tables and of the tests."""


def note_unknown_settings() -> None:
    """A note for each variable that begins like one of ours and is none: it is mistyped, and without effect."""
    for name in sorted(os.environ):
        if name.startswith("LOPUB_") and name not in SETTINGS:
            near = get_close_matches(name, SETTINGS, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            note(f"note: no command knows the variable {name}{meant}")
