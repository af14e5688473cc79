"""Tests for the image study's interface: environment variables as input, `[RESULT]` lines as output."""

from __future__ import annotations

import re

import pytest

from hopmeter.api.planning import fixed_options
from hopmeter.cli.output import result_lines
from hopmeter.cli.parts.environment_variables import read_variables
from hopmeter.errors import UsageError
from hopmeter.model.columns import CELLS
from tests.cells import cell
from tests.coded import refuses

CELL = cell(
    transport="zenoh",
    placement="thread",
    wait="callback",
    cores="free",
    payload="image:320x240",
    payload_bytes=230_400,
    rate_hz=30.0,
    profile="express=true shm=false",
)


def test_the_variables_stand_for_options() -> None:
    found = read_variables({"DURATION": "5", "RATE": "30", "WIDTH": "320", "HEIGHT": "240", "HOME": "/"}, {})
    assert found.given == {"duration": "5s", "rate": [30.0], "payload": ["image:320x240"]}
    assert found.options == ["--duration", "5s", "--rate", "30", "--payload", "image:320x240"]
    (line,) = found.lines()
    assert line == (
        "environment variables used: DURATION=5 as --duration 5s, RATE=30 as --rate 30, "
        "WIDTH=320 HEIGHT=240 as --payload image:320x240"
    )


def test_silence_asks_for_nothing() -> None:
    found = read_variables({"HOME": "/", "RATE": " "}, {})
    assert (found.given, found.lines()) == ({}, [])


@pytest.mark.parametrize(
    ("variables", "given", "says"),
    [
        ({"DURATION": "5"}, {"duration": "1s"}, "DURATION=5 (--duration was given)"),
        ({"DURATION": "5"}, {"messages": 10}, "DURATION=5 (--messages was given)"),
        ({"RATE": "no number"}, {"rate": [1.0]}, "RATE=no number (--rate was given)"),
        ({"WIDTH": "8"}, {"payload": ["timing"]}, "WIDTH=8 (--payload was given)"),
    ],
)
def test_options_of_the_command_line_win(variables: dict[str, str], given: dict[str, object], says: str) -> None:
    found = read_variables(variables, given)
    assert found.given == {}
    assert found.lines() == [f"environment variables ignored: {says}"]


def test_a_search_has_rates_of_its_own() -> None:
    found = read_variables({"RATE": "30", "DURATION": "5"}, {}, fixed_options("highest-rate"))
    assert found.given == {"duration": "5s"}
    assert found.lines()[1] == "environment variables ignored: RATE=30 (a search sets the rates)"
    assert fixed_options("quick") == {}


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"DURATION": "soon"}, 'E-ENVIRONMENT DURATION="soon" seconds'),
        ({"DURATION": "30s"}, 'E-ENVIRONMENT DURATION="30s"'),
        ({"DURATION": "0"}, 'E-ENVIRONMENT DURATION="0"'),
        ({"DURATION": "nan"}, 'E-ENVIRONMENT DURATION="nan"'),
        ({"RATE": "-3"}, 'E-ENVIRONMENT RATE="-3" messages second'),
        ({"RATE": "inf"}, 'E-ENVIRONMENT RATE="inf"'),
        ({"WIDTH": "320"}, "E-ENVIRONMENT WIDTH=320 HEIGHT"),
        ({"HEIGHT": "240"}, "E-ENVIRONMENT HEIGHT=240 WIDTH"),
        ({"WIDTH": "320", "HEIGHT": "24.5"}, 'E-ENVIRONMENT HEIGHT="24.5" whole pixels'),
        ({"WIDTH": "0", "HEIGHT": "240"}, 'E-ENVIRONMENT WIDTH="0"'),
    ],
)
def test_a_bad_value_is_a_clear_error(variables: dict[str, str], says: str) -> None:
    with refuses(UsageError, says) as failed:
        read_variables(variables, {})
    assert failed.value.remedy


def test_a_result_line_has_its_form() -> None:
    row = dict.fromkeys(CELLS) | {name: CELL[name] for name in result_lines.CONDITIONS if name != "cell"}
    row |= {"cell": "c1", "status": "ok", "response_mean_us": 21.123456789, "service_mean_us": 20.0, "lost": 0}
    row |= {"sinks_service_mean_us": [0.5, None]}
    (line,) = result_lines.lines([CELL], [row, {"cell": "c2", "status": "dropped"}])
    assert line.startswith(
        "[RESULT] cell=c1 transport=zenoh language=rust profile=express=true,shm=false pattern=pubsub"
    )
    words = dict(word.split("=", 1) for word in line.removeprefix("[RESULT] ").split(" "))
    assert words["figure"] == "response"
    assert (words["mean_us"], words["service_mean_us"]) == ("21.1235", "20")
    assert (words["payload"], words["rate_hz"], words["lost"], words["p99_us"]) == ("image:320x240", "30", "0", "-")
    assert line.endswith(" sinks_service_mean_us=0.5/- median_us=-")
    assert re.fullmatch(r"\[RESULT\]( [a-z0-9_]+=\S+)+", line)


def test_a_result_line_has_the_median_of_the_table_and_no_p99_without_its_interval() -> None:
    row = dict.fromkeys(CELLS) | {name: CELL[name] for name in result_lines.CONDITIONS if name != "cell"}
    row |= {"cell": "c1", "status": "ok", "response_p50_us": 18.3, "median_us": 12.0, "response_p99_us": 2612.0}
    (line,) = result_lines.lines([CELL], [row])
    assert " p50_us=12 p99_us=- " in line and "18.3" not in line
    assert line.endswith(" median_us=12")
    (line,) = result_lines.lines([CELL], [row | {"response_p99_low_us": 2500.0, "response_p99_high_us": 2700.0}])
    assert " p99_us=2612 " in line
