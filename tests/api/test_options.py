"""Tests that convert the options of `hopmeter run` to scenario keys."""

from __future__ import annotations

import inspect

import pytest

from hopmeter.api.options import scenario_options
from hopmeter.cli.run import run
from hopmeter.errors import UsageError
from hopmeter.scenario.model import Axes
from hopmeter.scenario.resolve import DEFAULTS


def test_every_axis_and_length_of_a_scenario_can_be_given() -> None:
    assert set(inspect.signature(run).parameters) >= {*DEFAULTS, *Axes.model_fields} - {"settings"}


def test_axes_are_lists_and_lengths_as_they_are_and_nothing_else_counts() -> None:
    options = {"transport": "unix,tcp", "rate": "10,100", "sinks": None, "trials": 2, "mlock": False, "out": "there"}
    assert scenario_options(options) == {
        "transport": ["unix", "tcp"],
        "rate": [10.0, 100.0],
        "trials": 2,
        "mlock": False,
    }


def test_what_says_the_same_thing_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--messages.*--duration.*E-OPTION-CONFLICT"):
        scenario_options({"messages": 10, "duration": "1s"})
