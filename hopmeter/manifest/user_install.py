"""Libraries that no registry has: the user installs them, and an environment variable names their location."""

from __future__ import annotations

import os

from hopmeter.manifest.strict import Strict


class Owned(Strict):
    """`[languages.X.user]` of a manifest."""

    variable: str
    """The environment variable that the user's installation sets: `LIBXR_ROOT`, `ROS_DISTRO`."""
    remedy: str
    """How to install the library."""
    otherwise: str = ""
    """The installation that hopmeter makes if the user has none."""

    @property
    def is_here(self) -> bool:
        """Return whether the user has installed the library."""
        return bool(self.location)

    @property
    def location(self) -> str:
        """Return the location of the library that the variable names; empty if the user has none."""
        return os.environ.get(self.variable, "")
