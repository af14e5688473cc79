"""Compare the achieved background load with the requested load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from hopmeter.messages import tag
from hopmeter.model.trial import TrialResult
from hopmeter.scenario.background import Background

ENOUGH = 0.9
"""A row gets a warning if the achieved background load is less than this fraction of the requested load."""
ACHIEVED = {"background_cpu_percent": "cpu_percent", "background_memory_gb_s": "memory_gb_s"}
"""Maps each column to the `Background` field with the requested value."""
UNITS = {"background_cpu_percent": "% of each core", "background_memory_gb_s": "GB/s copied"}


def columns(trials: Sequence[TrialResult]) -> dict[str, float | None]:
    """Return each kind of background load as the median over all trials, or None for a kind that was not requested."""
    known = {name: [value for each in trials if (value := getattr(each, name)) is not None] for name in ACHIEVED}
    return {name: median(values) if values else None for name, values in known.items()}


def shortfalls(row: Mapping[str, Any], asked: Mapping[str, Any] | None) -> list[str]:
    """Return a warning for each kind of background load that fell short of the requested load."""
    request = Background.model_validate(asked) if asked else None
    wanted = {name: getattr(request, given) for name, given in ACHIEVED.items()} if request else {}
    return [
        tag("W-BACKGROUND", f"the background load reached {row[name]:.3g} of {value:g} {UNITS[name]}")
        for name, value in wanted.items()
        if row[name] is not None and row[name] < ENOUGH * value
    ]
