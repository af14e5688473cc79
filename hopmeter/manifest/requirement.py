"""Packages that are not for every processor, or only for an extra: requirements with a marker such as
`; platform_machine == 'x86_64'`."""

from __future__ import annotations

import platform

from packaging.markers import Marker
from packaging.requirements import Requirement


def here(requirement: str, extra: str = "") -> str:
    """The requirement without its marker; empty where that wants another processor, or another extra.

    Raises ValueError where the marker is none.
    """
    text, _, marker = requirement.partition(";")
    fits = not marker or Marker(marker).evaluate({"extra": extra, "platform_machine": platform.machine()})
    return text.strip() if fits else ""


def name(requirement: str) -> str:
    """The name of the package alone."""
    return Requirement(requirement).name
