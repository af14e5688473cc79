"""Tests for requirements in the user's notation."""

from __future__ import annotations

import pytest

from hopmeter.scenario import Scenario
from hopmeter.scenario.requirement import Requirement, parse
from hopmeter.system.toml_files import validate
from tests.coded import lacking


@pytest.mark.parametrize(
    ("text", "metric", "limit", "inclusive"),
    [
        ("p99 < 1ms", "p99", 1000.0, False),
        ("p99<=250us", "p99", 250.0, True),
        ("p99.9 < 1.5 ms", "p999", 1500.0, False),
        ("median < 80µs", "p50", 80.0, False),
        ("lost = 0", "lost", 0.0, True),
        ("lost < 0.1%", "lost", 0.001, False),
        ("cpu < 5%", "cpu", 5.0, False),
    ],
)
def test_a_requirement_is_a_limit_of_a_metric(text: str, metric: str, limit: float, inclusive: bool) -> None:
    found = parse(text)
    assert (found.metric, found.inclusive) == (metric, inclusive)
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text",
    ["p99", "p99 < 1", "p99 < 5%", "p99 = 1ms", "p99 > 1ms", "p98 < 1ms", "cpu < 5", "cpu < 5ms", "cpu = 5%",
     "lost < 3", "lost = 1", "lost < 0", "lost < 0%", "", "speed < 1ms", "p99 < -1ms"],
)  # fmt: skip
def test_another_form_is_refused_with_those_that_are_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="E-VALUE-FORM") as refused:
        parse(text)
    said = f"{refused.value}"
    assert lacking(said, 'E-VALUE-FORM "p99 < "lost "cpu') == [] and f'"{text}"' in said


def test_a_scenario_has_requirements() -> None:
    table = {"title": "T", "question": "Q?", "require": ["p99 < 1ms", "lost = 0"]}
    assert validate(Scenario, table, "test").require == ["p99 < 1ms", "lost = 0"]
    with pytest.raises(Exception, match="E-VALUE-FORM"):
        validate(Scenario, table | {"require": ["p99 < 1"]}, "test")


def test_until_require_needs_a_requirement() -> None:
    table = {"title": "T", "question": "Q?", "budget": "90s", "until": "require"}
    assert validate(Scenario, table | {"require": ["lost = 0"]}, "test").until == "require"
    with pytest.raises(Exception, match="E-VALUES-CONFLICT"):
        validate(Scenario, table, "test")


def test_a_limit_may_count_as_met() -> None:
    assert Requirement("", "cpu", 5.0, inclusive=True).is_met(5.0)
    assert not Requirement("", "cpu", 5.0, inclusive=False).is_met(5.0)
