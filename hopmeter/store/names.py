"""Check the names of runs and cells, which also serve as file names."""

from __future__ import annotations

import re

from hopmeter.errors import UsageError

NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
NAMES = re.compile(NAME)


def check_name(name: str, what: str) -> None:
    """Raise UsageError if a name is not valid. `what` names the kind of object in the error message."""
    if not NAMES.fullmatch(name):
        raise UsageError("E-NAME", f"`{name}` is not a valid name of a {what}", "use only letters, digits and . _ + -")
