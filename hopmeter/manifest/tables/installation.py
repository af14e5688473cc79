"""Defines the library installations that hopmeter creates, each in a separate environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.build_cost import BuildCost
from hopmeter.manifest.tables.strict import Strict


class Installation(Strict):
    """The table `[languages.X.installations.Y]`: packages that hopmeter installs into a separate environment.

    A Rust installation uses the libraries of the Python installation that has the same name.
    """

    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The setting values that select this installation."""
    pip: list[str] = []
    apt: list[str] = []
    library: str = ""
    """The library's name. The default is the language's library."""
    build_cost: BuildCost | None = None
    variables: dict[str, str] = {}
    """Environment variables for the installation's nodes and their build.

    `{environment}` stands for the environment's directory.
    """

    def is_chosen(self, settings: Mapping[str, Value]) -> bool:
        """Return whether the given settings select this installation."""
        return bool(self.where) and all(settings[name] in values for name, values in self.where.items())

    def as_offer(self, library: str, environment: str) -> dict[str, Any]:
        """Return this installation's values for an `Offer`, which replace the values of the user's own installation."""
        return {
            "pip": self.pip,
            "apt": self.apt,
            "library": self.library or library,
            "build_cost": self.build_cost,
            "environment": "own",
            "environment_name": environment,
            "variables": self.variables,
            "interpreter": None,
            "user": None,
            "after": None if self.pip else "python",
        }
