"""Describes libraries that cannot be downloaded from a package registry.

The user installs such a library, and sets an environment variable to the directory of the library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from hopmeter.manifest.tables.strict import Strict

VERSION = re.compile(r"<version>\s*(\d+)[^<]*</version>")


class Owned(Strict):
    """The table `[languages.X.user]` of a manifest, which describes a library that the user installs."""

    variable: str
    """The environment variable that an installation by the user defines, such as `LIBXR_ROOT` or `ROS_DISTRO`."""
    remedy: str
    """How to install the library."""
    otherwise: str = ""
    """The installation that hopmeter creates if the user has not installed the library."""
    release: str = ""
    """The path of a `package.xml` relative to each directory in the variable (`A:B`).

    The major version in this file distinguishes the library's releases. The path is empty if the variable has only one
    directory.
    """

    @property
    def is_here(self) -> bool:
        """Return whether the user has installed the library."""
        return bool(self.location)

    @property
    def location(self) -> str:
        """Return the directory of the library, which an environment variable names, or an empty string if the variable
        is not set."""
        return os.environ.get(self.variable, "")

    def problem(self, title: str = "it") -> tuple[str, str] | None:
        """Return why the library cannot be used, with the remedy, or None if the library can be used. `title` is the
        name of the library in the returned text.

        If an overlay contains the library a second time, the release must be the same, because a node would otherwise
        mix two releases.
        """
        if not self.is_here:
            return f"{title} is not installed here", self.remedy
        found = dict(self._releases())
        if len(found) < 2:
            return None
        named = " and ".join(f"{major} in {folder}" for major, folder in found.items())
        return f"two releases of {title} are sourced: {named}", "open a new shell, and source only one of them"

    def _releases(self) -> Iterator[tuple[str, Path]]:
        """Yield each directory that contains a release of the library, with the package name and the major version of
        that release."""
        if not self.release:
            return
        for folder in map(Path, filter(None, self.location.split(os.pathsep))):
            try:
                text = (folder / self.release).read_text(errors="replace")
            except OSError:
                continue
            if version := VERSION.search(text):
                yield f"{Path(self.release).parent.name} {version[1]}", folder
