"""List the conditions by name and by scope, and read the values of conditions from a cell or a flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hopmeter.model.conditions import CONDITIONS
from hopmeter.model.paces import PACES, Rates

DECLARED = {each.name: each for each in CONDITIONS}
"""The conditions, by column name."""
KEYS = {each.key: each for each in CONDITIONS}
"""The conditions, by key and option name."""
OF_FLOWS = tuple(each for each in CONDITIONS if each.scope == "flow")
"""The conditions that each flow of a workload specifies separately."""
PARAMETERS = tuple(KEYS[pace.parameter] for pace in PACES.values() if pace.parameter)
"""The conditions that are parameters of a single pace."""


def flow_values(source: object) -> dict[str, Any]:
    """Return the values of those conditions that apply to a single flow, keyed by column name. `source` is a flow or
    the axes of a cell."""
    return {each.name: getattr(source, each.name) for each in OF_FLOWS}


def rates_of(planned: object) -> Rates | None:
    """Return the rates of a flow or of a cell's axes, or None if the flow or cell has no schedule."""
    return _rates({each.key: getattr(planned, each.name) for each in OF_FLOWS})


def rates_of_keys(keys: Mapping[str, Any]) -> Rates | None:
    """Return the rates that the keys of a scenario or a flow define, or None if the keys define no schedule."""
    return _rates(keys)


def _rates(keys: Mapping[str, Any]) -> Rates | None:
    pace = PACES[keys["pace"]]
    if not pace.is_scheduled or not keys["rate"]:
        return None
    return pace.rates(keys["rate"], keys.get(pace.parameter))


def sending_s(rates: Rates, messages: int, warmup: int) -> float:
    """Return for how many seconds a source with a schedule sends messages. The source first sends the warm-up messages
    at the first rate, and then the measured messages."""
    return (messages + warmup * (rates.mean_hz / rates.first_hz)) / rates.mean_hz
