"""Defines who confirms a message to its sender, depending on a transport's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.strict import Strict

Values = dict[str, Annotated[list[Value], Field(min_length=1)]]


class Acknowledgement(Strict):
    """The library on the sender's side learns that a message has arrived, and sends the message again or reports an
    error if the confirmation is missing."""

    by: Literal["broker", "receiver"]
    """Who confirms: the broker that took the message, or the library on each receiver's side."""
    where: Values = {}
    """The setting values for which messages are confirmed."""
    unless: Values = {}
    """The setting values for which messages are not confirmed."""

    def applies(self, settings: Mapping[str, Value]) -> bool:
        """Return whether messages are confirmed with these settings."""
        fits = all(settings.get(name) in values for name, values in self.where.items())
        return fits and not any(settings.get(name) in values for name, values in self.unless.items())
