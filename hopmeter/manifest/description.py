"""Queries a node for its description, and caches the description. A change of the node's files or environment variables
invalidates the cached description."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE_S = 30
Mark = list[list[str | int]]
"""The state on which a cached description depends: files with their times and sizes, and environment variables."""
NO_PACKAGE = re.compile(r"\bNo module named '(?!hopmeter\b)")
"""Matches Python's error for a package that is not installed.

Installing the package changes the package directory, and thus the mark of the cached description.
"""


class UndescribedError(Exception):
    """Raised if a node does not describe itself. The exception's text contains the reason."""


def ask(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Start a node with `--describe`, and return the description that it prints.

    Raises UndescribedError if the node fails to describe itself.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise UndescribedError(f"the node did not describe itself within {PATIENCE_S} s") from cause
    except OSError as cause:
        raise UndescribedError(f"its node does not start: {cause.strerror}") from cause
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise UndescribedError(said[-1] if said else f"the node exits with {done.returncode} and prints no output")
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, IndexError, TypeError) as cause:
        raise UndescribedError("the node does not print a valid description of itself") from cause


def describe_once(file: Path, mark: Mark, ask_node: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a node's description from a cache file or, if `mark` differs from the mark in that file, from `ask_node`.
    Raises UndescribedError if the node fails to describe itself.

    If a node fails because a Python package is missing, the error is also cached, because every hopmeter command would
    otherwise start a dozen failing Pythons.
    """
    kept = _read(file, mark)
    if kept is None:
        try:
            kept = {"about": ask_node()}
        except UndescribedError as failed:
            if not NO_PACKAGE.search(str(failed)):
                raise
            kept = {"failed": str(failed)}
        _write(file, {"mark": mark, **kept})
    if "failed" in kept:
        raise UndescribedError(kept["failed"])
    return dict(kept["about"])


def _read(file: Path, mark: Mark) -> dict[str, Any] | None:
    try:
        kept = dict(json.loads(file.read_text()))
        return kept if kept["mark"] == mark and {"about", "failed"} & kept.keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(file: Path, answer: dict[str, Any]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(answer))
        beside.replace(file)
    except OSError:
        pass  # without a cache, the next command merely takes longer
