"""Resolves the cases of a scenario by filling in the defaults of all conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.model.conditions import CONDITIONS
from hopmeter.scenario.model import Axes, Scenario
from hopmeter.scenario.requirement import LATENCIES, parse
from hopmeter.scenario.search import LEAST_MESSAGES, LEAST_WITHOUT_LIMIT

DEFAULTS: dict[str, list[Any]] = {each.key: [each.default] for each in CONDITIONS}
TRIALS = 5
MESSAGES = 1000
LEAST_ROUNDS = {"order": 5, "best": 5, "require": 5}
PRECISION_ROUNDS = 8
"""The number of rounds after which the precision of the intervals is first tested."""


def decision(until: str | None, require: Sequence[str]) -> str:
    """Return the decision that ends a run with a budget:

    The decision is `until` if given, "require" if there are requirements, and "order" otherwise.
    """
    return until or ("require" if require else "order")


def least_rounds(scenario: Scenario) -> int:
    """Return the number of rounds that must at least fit into a budget."""
    return LEAST_ROUNDS.get(decision(scenario.until, scenario.require), PRECISION_ROUNDS)


@dataclass(frozen=True)
class Ask:
    """One set of cells: all combinations of the values of its conditions."""

    axes: dict[str, list[Any]]
    settings: dict[str, dict[str, list[Any]]]
    messages: int | None
    duration: str | None
    warmup: int | None
    trials: int
    least: int = 1
    """The minimum number of messages of a trial with a duration."""


def asks(scenario: Scenario) -> list[Ask]:
    """Return the cases of a scenario.

    For a scenario without cases, return a single case with the scenario's own conditions.
    """
    cases: Sequence[Axes] = scenario.case or [scenario]
    return [_ask(scenario, case) for case in cases]


def _ask(scenario: Scenario, case: Axes) -> Ask:
    def value_of(key: str) -> Any:
        own = getattr(case, key)
        return getattr(scenario, key) if own is None else own

    axes = {key: value_of(key) or default for key, default in DEFAULTS.items()}
    if scenario.search:
        axes["rate"] = [scenario.search.start]
        axes["pace"] = ["max"] if scenario.search.rounds else axes["pace"]
    messages, duration = _length(case) or _length(scenario) or (MESSAGES, None)
    trials = least_rounds(scenario) if scenario.budget_s else value_of("trials") or TRIALS
    least = _least_messages(scenario) if scenario.search else 1
    return Ask(axes, _settings(scenario, case), messages, duration, value_of("warmup"), trials, least)


def _least_messages(scenario: Scenario) -> int:
    """Return the minimum number of messages in each step of a search, which is higher if a percentile is limited."""
    assert scenario.search is not None
    limited = any(parse(each).metric in LATENCIES.values() for each in scenario.require)
    return LEAST_MESSAGES if limited or scenario.search.bound_p99 else LEAST_WITHOUT_LIMIT


def _length(axes: Axes) -> tuple[int | None, str | None] | None:
    return None if axes.messages is None and axes.duration is None else (axes.messages, axes.duration)


def _settings(scenario: Scenario, case: Axes) -> dict[str, dict[str, list[Any]]]:
    names = {**scenario.settings, **case.settings}
    return {name: {**scenario.settings.get(name, {}), **case.settings.get(name, {})} for name in names}
