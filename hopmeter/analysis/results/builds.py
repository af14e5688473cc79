"""Describe how the adapters of result rows were built, so that comparisons can mention different builds."""

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
    """Return whether a build was compiled without optimisation. `build` contains the compiler and its flags, as stored
    in `run.json`."""
    levels, words = _LEVEL.findall(build), build.split()
    return (bool(levels) and levels[-1] in NOT_OPTIMISED) or ("-g" in words and "-DNDEBUG" not in words)


def kind_of_build(build: str) -> str:
    """Return `debug build` or `release build`. Return an empty string if the flags are unknown, as for Python."""
    return DEBUG if is_debug_build(build) else RELEASE if _LEVEL.search(build) else ""


def has_debug_build(row: Row) -> bool:
    """Return whether any adapter of a row is a debug build."""
    builds = row.run.part("builds")
    names = [f"{row['transport']} ({language}" for language in languages_in(str(row["language"]))]
    # A key of `builds` may end with the settings that select the node's environment, such as a library version.
    found = [str(how or "") for name, how in builds.items() if name.partition(",")[0].rstrip(")") in names]
    return any(map(is_debug_build, found))


def are_of_one_version(rows: Sequence[Row]) -> bool:
    """Return whether the libraries of the given rows report the same version, ignoring rows without a version.

    Different languages may report the same version as different texts, such as `v1.10.2-release` and `1.10.2`.
    """
    known = [set(_VERSION.findall(str(row["library_version"]))) for row in rows if row["library_version"]]
    known = [each for each in known if each]
    return not known or bool(set.intersection(*known))


def qualifiers(rows: Sequence[Row]) -> dict[int, str]:
    """Return the qualifiers of each row in brackets, keyed by the row's `id()`, or an empty string if the row needs no
    qualifier.

    Qualifiers are the language, "debug build", and the library version. The language is included if languages differ.
    The version is included if rows of the same transport and language have different versions.
    """
    several = len({row["language"] for row in rows}) > 1
    languages = {id(row): [language_name(str(row["language"]))] if several else [] for row in rows}
    return {id(row): _bracket([*languages[id(row)], *build_words(row, rows)]) for row in rows}


def build_words(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return "debug build" if the row has a debug build, and the library version if rows of the same transport and
    language have different versions."""
    alike = [other for other in rows if all(other[key] == row[key] for key in ("transport", "language"))]
    version = str(row["library_version"] or "")
    return [
        *([DEBUG] if has_debug_build(row) else []),
        *([version] if version and not are_of_one_version(alike) else []),
    ]


def _bracket(words: Sequence[str]) -> str:
    return f"({', '.join(words)})" if words else ""
