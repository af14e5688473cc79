"""The pace and the rate of a cell or flow in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopmeter.model.condition_values import DECLARED, OF_FLOWS, rates_of
from hopmeter.model.paces import PACES, PaceName
from hopmeter.report.words import formatting


def describe_pace(conditions: Mapping[str, Any]) -> str:
    """Return the pace in words, such as `at 100 Hz (poisson)` or `one at a time`. `conditions` maps column names to
    values."""
    name: PaceName = conditions["pace"] or "open"
    rates = {each.key: formatting.rate(conditions.get(each.name)) for each in DECLARED.values() if each.unit == "hz"}
    return PACES[name].describe(name, rates)


def flow_pace(planned: object) -> str:
    """Return the pace of a scheduled flow, such as `100 Hz (poisson)`."""
    return describe_pace({each.name: getattr(planned, each.name) for each in OF_FLOWS}).removeprefix("at ")


def rate_words(planned: object) -> str:
    """Return the rate of a cell or flow, such as `100 Hz`, or the range of a changing rate. Return an empty string if
    there is no rate."""
    rates = rates_of(planned)
    if rates is None:
        return ""
    return " to ".join(formatting.distinct(formatting.rate(each) for each in (rates.first_hz, rates.last_hz)))
