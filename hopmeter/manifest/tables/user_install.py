"""Libraries that no registry has: the user installs them, and an environment variable names their location."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from hopmeter.manifest.tables.strict import Strict

VERSION = re.compile(r"<version>\s*(\d+)[^<]*</version>")


class Owned(Strict):
    """`[languages.X.user]` of a manifest."""

    variable: str
    """The environment variable that the user's installation sets: `LIBXR_ROOT`, `ROS_DISTRO`."""
    remedy: str
    """How to install the library."""
    otherwise: str = ""
    """The installation that hopmeter makes if the user has none."""
    release: str = ""
    """A `package.xml` in a folder of the variable (`A:B`). Its major version tells one release of the library from
    another; empty if the variable has one folder."""

    @property
    def is_here(self) -> bool:
        """Return whether the user has installed the library."""
        return bool(self.location)

    @property
    def location(self) -> str:
        """Return the location of the library that the variable names; empty if the user has none."""
        return os.environ.get(self.variable, "")

    def problem(self, title: str = "it") -> tuple[str, str] | None:
        """Return why the library, which the text calls `title`, cannot be used, and the remedy; None if it can be.

        An overlay may have the library, too, but not another release of it: a node would use parts of both.
        """
        if not self.is_here:
            return f"{title} is not installed here", self.remedy
        found = dict(self._releases())
        if len(found) < 2:
            return None
        named = " and ".join(f"{major} in {folder}" for major, folder in found.items())
        return f"two releases of {title} are sourced: {named}", "open a new shell, and source only one of them"

    def _releases(self) -> Iterator[tuple[str, Path]]:
        """Yield a release for each folder that has one: the version of `release` with its package, and the folder."""
        if not self.release:
            return
        for folder in map(Path, filter(None, self.location.split(os.pathsep))):
            try:
                text = (folder / self.release).read_text(errors="replace")
            except OSError:
                continue
            if version := VERSION.search(text):
                yield f"{Path(self.release).parent.name} {version[1]}", folder
