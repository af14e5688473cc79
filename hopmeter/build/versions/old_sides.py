"""Prepares the old version for a run that compares two versions (`--against`)."""

from __future__ import annotations

from collections.abc import Callable

from hopmeter.build.versions import crate_versions, library_versions, revisions
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.sides import SETTINGS, OldSide, settings_side

Say = Callable[[str], object]
"""A function that prints a line about a slow step."""


def prepare(name: str, plan: Plan, capabilities: Capabilities, say: Say) -> OldSide:
    """Return the old side of a comparison for the user's reference: `set:NAME=VALUE`, `NAME@VERSION`, or a git
    revision.

    Raises UsageError if the reference is invalid, and BuildError if the old side cannot be built.
    """
    transports = list(dict.fromkeys(cell.axes.transport for cell in plan.cells))
    if name.startswith(SETTINGS):
        return settings_side(name, capabilities, transports)
    if (library := library_versions.parse(name, capabilities)) is not None:
        if not library_versions.has_cells(library, plan) and crate_versions.has_cells(library.manifest, plan):
            return crate_versions.side(library.manifest, library.version, capabilities, say)
        return library_versions.side(library, plan, capabilities, say)
    return revisions.side(name, plan, capabilities, say)
