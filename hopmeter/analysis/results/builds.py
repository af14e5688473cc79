"""How the adapters of rows were built: rows that differ in it are not compared without saying so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hopmeter.model.language_names import language_name, languages_in

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row

DEBUG, RELEASE = "debug build", "release build"
_LEVEL = re.compile(r"(?<!\S)-O(\w*)")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
NOT_OPTIMISED = ("0", "1", "g")


def is_debug_build(build: str) -> bool:
    """Return whether a build, with its compiler and flags as `run.json` has them, is slower than a release build."""
    levels, words = _LEVEL.findall(build), build.split()
    return (bool(levels) and levels[-1] in NOT_OPTIMISED) or ("-g" in words and "-DNDEBUG" not in words)


def kind_of_build(build: str) -> str:
    """Return whether a build is a debug or a release build; empty if its flags are unknown, as those of Python."""
    return DEBUG if is_debug_build(build) else RELEASE if _LEVEL.search(build) else ""


def has_debug_build(row: Row) -> bool:
    """Return whether an adapter of a row is a debug build."""
    builds = row.run.part("builds")
    names = [f"{row['transport']} ({language}" for language in languages_in(str(row["language"]))]
    # Settings that choose the environment of the node follow the language.
    found = [str(how or "") for name, how in builds.items() if name.partition(",")[0].rstrip(")") in names]
    return any(map(is_debug_build, found))


def are_of_one_version(rows: Sequence[Row]) -> bool:
    """Return whether the libraries of these rows report a common version, as far as they report any.

    The texts of several languages differ even if the version is the same: `v1.10.2-release`, `1.10.2`.
    """
    known = [set(_VERSION.findall(str(row["library_version"]))) for row in rows if row["library_version"]]
    known = [each for each in known if each]
    return not known or bool(set.intersection(*known))


def qualifiers(rows: Sequence[Row]) -> dict[int, str]:
    """Return what tells apart how these rows were built, in brackets, by `id` of the row object: the language if they
    differ in it, that it is a debug build, and the version of the library if rows of this transport and language have
    several. Empty if there is nothing to tell."""
    several = len({row["language"] for row in rows}) > 1
    languages = {id(row): [language_name(str(row["language"]))] if several else [] for row in rows}
    return {id(row): _bracket([*languages[id(row)], *build_words(row, rows)]) for row in rows}


def build_words(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return that a row is a debug build, and its version if others of its transport and language have another."""
    alike = [other for other in rows if all(other[key] == row[key] for key in ("transport", "language"))]
    version = str(row["library_version"] or "")
    return [
        *([DEBUG] if has_debug_build(row) else []),
        *([version] if version and not are_of_one_version(alike) else []),
    ]


def _bracket(words: Sequence[str]) -> str:
    return f"({', '.join(words)})" if words else ""
