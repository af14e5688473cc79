"""Tests for the declarations of conditions, and for the effects of these declarations in plans and comparisons."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace

import pytest

from hopmeter.cli.run import run
from hopmeter.model.columns import CELLS
from hopmeter.model.condition import Condition
from hopmeter.model.condition_values import OF_FLOWS, PARAMETERS, rates_of_keys
from hopmeter.model.conditions import CONDITIONS
from hopmeter.model.paces import PACES
from hopmeter.model.workload import Flow as PlannedFlow
from hopmeter.scenario.model import Axes
from hopmeter.scenario.workload import Flow
from tests.cells import cell

EVERY = pytest.mark.parametrize("condition", CONDITIONS, ids=[each.key for each in CONDITIONS])


@EVERY
def test_a_condition_is_a_key_and_an_option_that_explain_themselves(condition: Condition) -> None:
    assert Axes.model_fields[condition.key].description == condition.meaning
    option = inspect.signature(run).parameters[condition.key].annotation.__metadata__[0]
    assert option.help == condition.option


@EVERY
def test_a_condition_is_a_column_of_its_type(condition: Condition) -> None:
    assert CELLS[condition.name] == condition.column_type


@pytest.mark.parametrize("condition", OF_FLOWS, ids=[each.key for each in OF_FLOWS])
def test_a_condition_of_flows_is_a_key_and_a_field_of_each_flow(condition: Condition) -> None:
    assert condition.key in Flow.model_fields
    assert condition.name in {each.name for each in fields(PlannedFlow)}


def test_a_pace_has_its_own_parameter_alone() -> None:
    assert len({each.key for each in PARAMETERS}) == len(PARAMETERS)
    assert all(PACES[name].is_scheduled for name, pace in PACES.items() if pace.parameter)


def test_a_pace_without_a_clock_has_no_rates() -> None:
    assert rates_of_keys({"pace": "closed", "rate": 100.0}) is None
    steady = rates_of_keys({"pace": "poisson", "rate": 100.0})
    assert steady is not None and (steady.first_hz, steady.last_hz, steady.mean_hz) == (100.0, 100.0, 100.0)


def test_ids_of_tables_stay_from_version_to_version() -> None:
    one = cell(transport="shm")
    assert one.group == replace(one, id="other").group == "dff50517"
