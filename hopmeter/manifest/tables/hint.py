"""Hints of a manifest: which setting of a transport explains lost messages or an overload, and which setting helps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Language, Placement, Value
from hopmeter.manifest.tables.strict import Strict
from hopmeter.system import humanize

Symptom = Literal["lost", "saturated", "ok"]
"""What a result shows: lost messages, a saturated transport, or neither, in which case the setting only costs time."""


class Hint(Strict):
    """A setting that explains a symptom in a result, for example a default that suits only small messages."""

    symptom: Annotated[list[Symptom], Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    """What the library does, as a clause: `a full queue drops its oldest frame`."""
    cure: Annotated[dict[str, Value], Field(min_length=1)]
    """The settings that avoid the symptom."""
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The settings on which the hint depends, with the values for which it applies."""
    least_payload_bytes: Annotated[int, Field(ge=0)] = 0
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The largest number of receivers per message for which the hint applies; None if there is no limit."""
    languages: list[Language] | None = None
    """The languages for which the hint applies; all by default."""
    placement: Placement | None = None
    """The placement for which the hint applies; both by default."""
    path: str = ""
    """A regular expression for the result's fact `path`; the hint applies only if it matches."""

    def applies(
        self, symptoms: Collection[str], settings: Mapping[str, Value], payload_bytes: int, receivers: int
    ) -> bool:
        """Return whether the hint explains one of these symptoms, and its cure is not set already."""
        fits = payload_bytes >= self.least_payload_bytes and receivers <= (self.max_receivers or receivers)
        has_cause = all(settings.get(name) in values for name, values in self.where.items())
        is_cured = all(settings.get(name) == value for name, value in self.cure.items())
        return bool(set(self.symptom) & set(symptoms)) and fits and has_cause and not is_cured

    @property
    def sentence(self) -> str:
        """Return a sentence that states what the library does and what to set."""
        cure = ", ".join(f"{name}={humanize.setting(value)}" for name, value in self.cure.items())
        return f"{self.text}; set {cure}"
