"""Defines which parts of a library a setting needs. hopmeter cannot install these parts; only the user can."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import expand, expand_paths


class Needs(Strict):
    """The table `[settings.X.needs]` of a manifest, which describes a part of the library that the setting X needs.

    In the texts, `{value}` stands for the setting's value, and `{package}` for the value with hyphens instead of
    underscores, as in Debian package names.
    """

    file: str
    """A file that exists if the part is installed.

    The path may begin with an environment variable that lists several directories.
    """
    remedy: str
    """How to install the part. The remedy may contain environment variables."""

    def is_met(self, value: str, variables: Mapping[str, str]) -> bool:
        """Return whether the part of the library is installed. The values in `variables` take precedence over the
        user's environment variables."""
        return any(Path(each.replace("{value}", value)).is_file() for each in expand_paths(self.file, variables))

    def how(self, value: str, variables: Mapping[str, str]) -> str:
        """Return instructions that tell the user how to install the part of the library."""
        text = self.remedy.replace("{value}", value).replace("{package}", value.replace("_", "-"))
        return expand(text, variables)
