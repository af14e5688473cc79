"""The names of runs and cells, which become names of files."""

from __future__ import annotations

import re

from hopmeter.errors import UsageError

NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
NAMES = re.compile(NAME)


def check_name(name: str, what: str) -> None:
    """Raise UsageError if a name is not valid; `what` says what it names."""
    if not NAMES.fullmatch(name):
        raise UsageError("E-NAME", f"`{name}` is not a valid name of a {what}", "use only letters, digits and . _ + -")
