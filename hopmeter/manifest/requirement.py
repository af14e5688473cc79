"""Parses package requirements with a marker, such as `; platform_machine == 'x86_64'` or the name of an extra."""

from __future__ import annotations

import platform

from packaging.markers import Marker
from packaging.requirements import Requirement


def here(requirement: str, extra: str = "") -> str:
    """Return a requirement without its marker, or an empty string if the marker excludes it for this processor or for
    the given extra.

    Raises ValueError if the marker of the requirement is malformed.
    """
    text, _, marker = requirement.partition(";")
    fits = not marker or Marker(marker).evaluate({"extra": extra, "platform_machine": platform.machine()})
    return text.strip() if fits else ""


def name(requirement: str) -> str:
    """Return the name of the package that a requirement names."""
    return Requirement(requirement).name
