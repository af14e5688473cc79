"""The conditions by name and scope, and the values of a cell or flow that they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopmeter.model.conditions import CONDITIONS
from hopmeter.model.paces import PACES, Rates

DECLARED = {each.name: each for each in CONDITIONS}
"""The conditions by the names of their columns."""
KEYS = {each.key: each for each in CONDITIONS}
"""The conditions by the names of their keys and options."""
OF_FLOWS = tuple(each for each in CONDITIONS if each.scope == "flow")
"""The conditions that each flow of a workload has for itself."""
PARAMETERS = tuple(KEYS[pace.parameter] for pace in PACES.values() if pace.parameter)
"""The conditions that one pace alone has."""


def flow_values(source: object) -> dict[str, Any]:
    """Return the conditions of flows that a cell's axes or a flow has, by column."""
    return {each.name: getattr(source, each.name) for each in OF_FLOWS}


def rates_of(planned: object) -> Rates | None:
    """Return the rates of a cell's axes or of a flow; None if it has no clock."""
    return _rates({each.key: getattr(planned, each.name) for each in OF_FLOWS})


def rates_of_keys(keys: Mapping[str, Any]) -> Rates | None:
    """Return the rates that the keys of a scenario or a flow give; None if they give no clock."""
    return _rates(keys)


def _rates(keys: Mapping[str, Any]) -> Rates | None:
    pace = PACES[keys["pace"]]
    if not pace.is_scheduled or not keys["rate"]:
        return None
    return pace.rates(keys["rate"], keys.get(pace.parameter))


def sending_s(rates: Rates, messages: int, warmup: int) -> float:
    """Return how long a source with a clock sends: the warm-up at the first rate, then the messages that count."""
    return (messages + warmup * (rates.mean_hz / rates.first_hz)) / rates.mean_hz
