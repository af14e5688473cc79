"""What no registry has: only a user can bring it, and says by a variable of the environment where it is."""

from __future__ import annotations

import os

from hopmeter.manifest.strict import Strict


class Owned(Strict):
    """`[languages.X.user]` of a manifest."""

    variable: str
    """Set in the environment where it is installed: `LIBXR_ROOT`, `ROS_DISTRO`."""
    remedy: str
    """What to do to have it."""

    @property
    def is_here(self) -> bool:
        """Whether the user has it."""
        return bool(os.environ.get(self.variable))
