"""The order of the tables of a run."""

from __future__ import annotations

from hopmeter.analysis.groups import groups
from tests.report.rows import cell, run_of


def test_the_table_with_idle_cores_awake_comes_before_the_one_as_it_is() -> None:
    found = groups([run_of(cell("zenoh", 9.0, no_idle_states=False), cell("zenoh", 3.0, no_idle_states=True))])
    assert [group.conditions["no_idle_states"] for group in found] == [True, False]
