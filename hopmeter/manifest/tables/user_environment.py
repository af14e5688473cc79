"""What the environment of the user says about settings and about folders of libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

VARIABLE = re.compile(r"\$(\w+)")


def value_in_environment(variables: Mapping[str, str], value: str) -> str:
    """Return what the user's environment has for the first of these variables whose whole text is the `value`; empty if
    it has none."""
    return next((os.environ.get(name, "") for name, text in variables.items() if text == value), "")


def expand_paths(text: str, variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a path that begins with an environment variable, once for each folder of the variable (`A:B`); `variables`
    replace those of the user."""
    known = {**os.environ, **(variables or {})}
    first, slash, rest = text.partition("/")
    named = VARIABLE.fullmatch(first)
    folders = known.get(named[1], first) if named else first
    yield from (f"{folder}{slash}{rest}" for folder in folders.split(os.pathsep) if folder or not named)


def expand(text: str, variables: Mapping[str, str] | None = None) -> str:
    """Return a text with the values of the environment variables that are set."""
    known = {**os.environ, **(variables or {})}
    return VARIABLE.sub(lambda found: known.get(found[1], found[0]), text)
