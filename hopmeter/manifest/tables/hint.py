"""Defines the hints of a manifest, each of which names a setting of the transport as a likely cause of lost messages or
overload."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Language, Placement, Value
from hopmeter.manifest.tables.strict import Strict
from hopmeter.system import humanize

Symptom = Literal["lost", "saturated", "ok"]
"""What a result shows: lost messages, a saturated transport, or neither. If a result shows neither, the setting merely
costs time."""


class Hint(Strict):
    """A setting that explains a symptom in a result, such as a default that suits only small messages."""

    symptom: Annotated[list[Symptom], Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    """The library's behaviour, as a clause such as `a full queue drops its oldest frame`."""
    cure: Annotated[dict[str, Value], Field(min_length=1)]
    """The settings that avoid the symptom."""
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The setting values for which the hint applies."""
    least_payload_bytes: Annotated[int, Field(ge=0)] = 0
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The maximum number of receivers per message for which the hint applies, or None if there is no limit."""
    languages: list[Language] | None = None
    """The languages for which the hint applies. By default, the hint applies to all languages."""
    placement: Placement | None = None
    """The placement for which the hint applies. By default, the hint applies to both placements."""
    path: str = ""
    """A regular expression that must match the result's fact `path`."""

    def applies(
        self, symptoms: Collection[str], settings: Mapping[str, Value], payload_bytes: int, receivers: int
    ) -> bool:
        """Return whether the hint explains one of the given symptoms, and at least one of the settings that it
        recommends is missing."""
        fits = payload_bytes >= self.least_payload_bytes and receivers <= (self.max_receivers or receivers)
        has_cause = all(settings.get(name) in values for name, values in self.where.items())
        is_cured = all(settings.get(name) == value for name, value in self.cure.items())
        return bool(set(self.symptom) & set(symptoms)) and fits and has_cause and not is_cured

    @property
    def sentence(self) -> str:
        """Return a sentence that describes how the library behaves, and which settings avoid the symptom."""
        cure = ", ".join(f"{name}={humanize.setting(value)}" for name, value in self.cure.items())
        return f"{self.text}; set {cure}"
