"""Defines which parts of a library a setting needs. Only the user can install these parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import expand, expand_paths


class Needs(Strict):
    """The table `[settings.X.needs]` of a manifest, which describes a part of the library.

    In the texts of this table, `{value}` stands for the setting's value. `{package}` stands for the value as it appears
    in Debian package names, with hyphens instead of underscores.
    """

    file: str
    """A file that exists if the part is installed.

    The path may begin with an environment variable that lists several directories.
    """
    remedy: str
    """How to install the part. The remedy may contain environment variables."""

    def is_met(self, value: str, variables: Mapping[str, str]) -> bool:
        """Return whether the part is installed. `variables` take precedence over the user's environment variables."""
        return any(Path(each.replace("{value}", value)).is_file() for each in expand_paths(self.file, variables))

    def how(self, value: str, variables: Mapping[str, str]) -> str:
        """Return the instructions for installing the part."""
        text = self.remedy.replace("{value}", value).replace("{package}", value.replace("_", "-"))
        return expand(text, variables)
