"""Installations of a transport's library that hopmeter makes, each in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.build_cost import BuildCost
from hopmeter.manifest.tables.strict import Strict


class Installation(Strict):
    """`[languages.X.installations.Y]`: packages that hopmeter installs in an environment of their own; in Rust, the
    libraries of the environment that Python has."""

    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """Settings of the transport, with the values that choose this installation."""
    pip: list[str] = []
    apt: list[str] = []
    library: str = ""
    """The default is that of the language."""
    build_cost: BuildCost | None = None
    variables: dict[str, str] = {}
    """Environment variables of its nodes and of its build; `{environment}` is the folder of the environment."""

    def is_chosen(self, settings: Mapping[str, Value]) -> bool:
        """Return whether the values of the settings choose this installation."""
        return bool(self.where) and all(settings[name] in values for name, values in self.where.items())

    def as_offer(self, library: str, environment: str) -> dict[str, Any]:
        """Return its values of an offer, instead of those of the user's installation."""
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
