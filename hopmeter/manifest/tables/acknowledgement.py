"""Defines who confirms a message to its sender, depending on a transport's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.strict import Strict

Values = dict[str, Annotated[list[Value], Field(min_length=1)]]


class Acknowledgement(Strict):
    """The sender's library learns whether a message has arrived; if the confirmation is missing, it sends the message
    again or reports an error."""

    by: Literal["broker", "receiver"]
    """Who confirms: the broker that took the message, or the library on each receiver's side."""
    where: Values = {}
    """The setting values for which messages are confirmed."""
    unless: Values = {}
    """The setting values for which messages are not confirmed."""

    def applies(self, settings: Mapping[str, Value]) -> bool:
        """Return whether receivers or brokers confirm messages if the transport has these settings."""
        fits = all(settings.get(name) in values for name, values in self.where.items())
        return fits and not any(settings.get(name) in values for name, values in self.unless.items())
