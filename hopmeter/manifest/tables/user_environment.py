"""Reads settings and library directories from the user's environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

VARIABLE = re.compile(r"\$(\w+)")


def value_in_environment(variables: Mapping[str, str], value: str) -> str:
    """Find the variable that the manifest sets to exactly `value`, and return the value that this variable has in the
    user's environment. Return an empty string if the user has not set the variable."""
    return next((os.environ.get(name, "") for name, text in variables.items() if text == value), "")


def expand_paths(text: str, variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """If a path begins with an environment variable, yield the path once for each directory that the variable lists.
    The variable may list several directories, separated by colons.

    The values in `variables` take precedence over the user's environment variables.
    """
    known = {**os.environ, **(variables or {})}
    first, slash, rest = text.partition("/")
    named = VARIABLE.fullmatch(first)
    folders = known.get(named[1], first) if named else first
    yield from (f"{folder}{slash}{rest}" for folder in folders.split(os.pathsep) if folder or not named)


def expand(text: str, variables: Mapping[str, str] | None = None) -> str:
    """Return a text in which each environment variable that is set is replaced with the variable's value."""
    known = {**os.environ, **(variables or {})}
    return VARIABLE.sub(lambda found: known.get(found[1], found[0]), text)
