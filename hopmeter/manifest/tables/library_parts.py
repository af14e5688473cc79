"""Parts of a library that a setting needs and that only the user can install."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import expand, expand_paths


class Needs(Strict):
    """`[settings.X.needs]` of a manifest. In its texts, `{value}` is the value, and `{package}` the same with hyphens,
    as Debian names packages."""

    file: str
    """A file that exists if the part is installed. It may begin with an environment variable that has several
    folders."""
    remedy: str
    """How to install the part; it may contain environment variables."""

    def is_met(self, value: str, variables: Mapping[str, str]) -> bool:
        """Return whether the part is installed; `variables` replace those of the user."""
        return any(Path(each.replace("{value}", value)).is_file() for each in expand_paths(self.file, variables))

    def how(self, value: str, variables: Mapping[str, str]) -> str:
        """Return how to install the part."""
        text = self.remedy.replace("{value}", value).replace("{package}", value.replace("_", "-"))
        return expand(text, variables)
