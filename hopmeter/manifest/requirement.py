"""Requirements with a marker: for packages that only some processors need, such as `; platform_machine == 'x86_64'`,
or that belong to an extra."""

from __future__ import annotations

import platform

from packaging.markers import Marker
from packaging.requirements import Requirement


def here(requirement: str, extra: str = "") -> str:
    """Return a requirement without its marker, or an empty string if the marker is for another processor or another
    extra.

    Raises ValueError if the marker is malformed.
    """
    text, _, marker = requirement.partition(";")
    fits = not marker or Marker(marker).evaluate({"extra": extra, "platform_machine": platform.machine()})
    return text.strip() if fits else ""


def name(requirement: str) -> str:
    """Return the name of the package in a requirement."""
    return Requirement(requirement).name
