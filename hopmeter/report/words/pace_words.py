"""The pace and the rates of a cell or a flow in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopmeter.model.condition_values import DECLARED, OF_FLOWS, rates_of
from hopmeter.model.paces import PACES, PaceName
from hopmeter.report.words import formatting


def describe_pace(conditions: Mapping[str, Any]) -> str:
    """Return `at 100 Hz`, `at 100 Hz (poisson)` or `one at a time`; `conditions` has the values by column."""
    name: PaceName = conditions["pace"] or "open"
    rates = {each.key: formatting.rate(conditions.get(each.name)) for each in DECLARED.values() if each.unit == "hz"}
    return PACES[name].describe(name, rates)


def flow_pace(planned: object) -> str:
    """Return the same of a flow that has a clock, without `at`."""
    return describe_pace({each.name: getattr(planned, each.name) for each in OF_FLOWS}).removeprefix("at ")


def rate_words(planned: object) -> str:
    """Return the rate of a cell's axes or of a flow, `100 Hz`, or the range of a rate that changes; empty without a
    clock."""
    rates = rates_of(planned)
    if rates is None:
        return ""
    return " to ".join(formatting.distinct(formatting.rate(each) for each in (rates.first_hz, rates.last_hz)))
