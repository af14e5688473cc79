"""Defines the keys of a search for the highest rate."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.model import units
from hopmeter.model.conditions import LEAST_HZ, LINKED, MOST_HZ, NOTHING
from hopmeter.scenario import patterns

LEAST_MESSAGES = 1000
"""The minimum number of messages of a trial with a duration if a percentile is limited; enough to resolve the p99."""
LEAST_WITHOUT_LIMIT = 100
"""The minimum number of messages of a trial with a duration if no percentile is limited; enough to see a queue grow."""


def _duration(text: str) -> str:
    units.span_ns(text)
    return text


class Search(BaseModel):
    """Try rates one by one: multiply the rate by a factor until a rate fails, then bisect between the last two rates.

    With `rounds`, a flood shows the scale, and the whole search is repeated, which gives an interval and a ranking.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    bound_p99: Annotated[str, AfterValidator(_duration)] | None = Field(
        None,
        description="A rate holds only if 99 % of its messages arrive within this time after they are due. Without "
        "this key, a rate holds if all messages arrive and no queue grows.",
        examples=["5ms"],
        json_schema_extra={"pattern": patterns.SPAN},
    )
    start: Annotated[float, Field(ge=LEAST_HZ, le=MOST_HZ)] = Field(
        1000.0, description="The first rate, in messages per second."
    )
    factor: Annotated[float, Field(gt=1, le=1e6)] = Field(2.0, description="The factor from one rate to the next.")
    refine: Annotated[int, Field(ge=0, le=20)] = Field(
        3, description="The number of bisections, on a logarithmic scale, after a rate has failed."
    )
    lowest: Annotated[float, Field(ge=LEAST_HZ, le=MOST_HZ)] = Field(10.0, description="The lowest rate to try.")
    highest: Annotated[float, Field(ge=LEAST_HZ, le=MOST_HZ)] = Field(
        1_000_000.0, description="The highest rate to try."
    )
    rounds: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        description="Repeat each search this many times, which ranks the transports by their highest rates. The first "
        "search begins near the rate that arrives if the source sends without pause, and each further search near the "
        "previous result. A search ends when the lowest failed rate is at most `factor` times the highest held rate.",
    )

    @model_validator(mode="after")
    def _check_order(self) -> Search:
        if not self.lowest <= self.start <= self.highest:
            raise RefusedValueError("E-VALUE-RANGE", "start must be between lowest and highest")
        return self

    @property
    def bound_us(self) -> float | None:
        """Return the latency bound in microseconds, or None if the search has no latency bound."""
        return None if self.bound_p99 is None else units.nanoseconds(self.bound_p99) / 1000

    def asks_for(self, axes: Any) -> str:
        """Return the error message if a key of a scenario or case contradicts the search, or an empty string if no key
        does."""
        if axes.rate is not None:
            return "rate: a search sets the rates; give the first rate as search.start"
        if axes.pace not in (None, ["open"]):
            return "pace: a search sets the rate, so pace must be open"
        if axes.begin not in (None, [LINKED]):
            return "begin: a search measures how many messages a link carries, so begin must be linked"
        if axes.restart not in (None, [NOTHING]):
            return "restart: a search measures how many messages a link carries, so restart must be none"
        return ""
