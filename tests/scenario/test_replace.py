"""Tests for command-line options that override scenario keys."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter import manifest, scenario
from hopmeter.errors import UsageError
from tests.coded import refuses

TABLE: dict[str, Any] = {
    "title": "t",
    "question": "q?",
    "transport": ["zeromq", "tcp"],
    "trials": 3,
    "case": [
        {"payload": "timing", "rate": 1000, "messages": 400},
        {"payload": "image:8x8", "rate": 30, "duration": "1s"},
    ],
}


def override(settings: list[str] | None = None, **given: Any) -> list[scenario.Ask]:
    return scenario.asks(scenario.override(TABLE, given, settings or [], manifest.every()))


def test_an_axis_that_cases_share_is_replaced_in_all() -> None:
    assert [ask.axes["wait"] for ask in override(wait=["spin"])] == [["spin"], ["spin"]]


def test_a_value_that_one_case_has_selects_that_case() -> None:
    (only,) = override(payload=["timing"])
    assert (only.axes["rate"], only.messages) == ([1000.0], 400)


def test_a_case_that_says_nothing_of_an_axis_is_selected_by_what_stands_above() -> None:
    table = TABLE | {"transport": "all", "case": [{"wait": "block"}, {"transport": "ros1", "wait": "callback"}]}
    both = scenario.asks(scenario.override(table, {"transport": ["ros1"]}, [], manifest.every()))
    assert [(ask.axes["transport"], ask.axes["wait"]) for ask in both] == [
        (["ros1"], ["block"]),
        (["ros1"], ["callback"]),
    ]
    (one,) = scenario.asks(scenario.override(table, {"transport": ["nats"]}, [], manifest.every()))
    assert (one.axes["transport"], one.axes["wait"]) == (["nats"], ["block"])


def test_a_language_selects_cases_that_stand_for_each_of_them() -> None:
    table = TABLE | {"language": "each", "case": [{"wait": "block"}, {"transport": "thrift", "language": "c++"}]}
    asks = scenario.asks(scenario.override(table, {"language": ["rust", "c++"]}, [], manifest.every()))
    assert [(ask.axes["transport"], ask.axes["language"]) for ask in asks] == [
        (["zeromq", "tcp"], ["rust", "c++"]),
        (["thrift"], ["c++"]),
    ]


def test_other_values_replace_those_of_every_case() -> None:
    assert [ask.axes["rate"] for ask in override(rate=[1000.0, 5.0])] == [[1000.0, 5.0]] * 2


def test_another_payload_selects_the_case_whose_payload_is_nearest_in_size() -> None:
    (small,) = override(payload=["timing", "bytes:9"])
    assert (small.axes["payload"], small.axes["rate"], small.messages) == (["timing", "bytes:9"], [1000.0], 400)
    (large,) = override(payload=["image:9x9"])
    assert (large.axes["payload"], large.axes["rate"], large.duration) == (["image:9x9"], [30.0], "1s")
    both = override(payload=["image:9x9", "bytes:9"])
    assert [ask.axes["payload"] for ask in both] == [["bytes:9"], ["image:9x9"]]
    (faster,) = override(payload=["bytes:9"], rate=[30.0])
    assert (faster.axes["rate"], faster.messages) == ([30.0], 400)


def test_another_payload_replaces_the_one_that_all_cases_share() -> None:
    table = TABLE | {"payload": "timing", "case": [{"wait": "block"}, {"wait": "spin"}]}
    asks = scenario.asks(scenario.override(table, {"payload": ["bytes:9"]}, [], manifest.every()))
    assert [ask.axes["payload"] for ask in asks] == [["bytes:9"]] * 2
    assert scenario.payload_notes(table, ["bytes:9"]) == []


def test_a_payload_that_no_case_has_is_explained() -> None:
    (note,) = scenario.payload_notes(TABLE, ["timing", "image:9x9"])
    assert note == (
        "image:9x9 is measured with the rate (30 Hz) and the duration of a trial (1s) of image:8x8, "
        "the payload of this scenario that is nearest in size"
    )
    assert "size of" not in note and "measured as" not in note


def test_values_that_are_given_are_not_taken_from_the_nearest_payload() -> None:
    (note,) = scenario.payload_notes(TABLE, ["bytes:9"], {"rate": [5.0]})
    assert note.startswith("bytes:9 is measured with the messages of a trial (400) of timing, ")
    assert scenario.payload_notes(TABLE, ["image:9x9"], {"rate": [5.0], "messages": 10}) == []


def test_a_payload_that_is_none_is_reported_as_such() -> None:
    with refuses(UsageError, 'E-VALUE-FORM "bytes:many"'):
        override(payload=["bytes:many"])


def test_how_much_is_measured_selects_no_case() -> None:
    assert [(ask.messages, ask.duration) for ask in override(messages=400)] == [(400, None)] * 2
    assert [(ask.messages, ask.duration) for ask in override(duration="1s")] == [(None, "1s")] * 2


def test_messages_replace_a_duration_and_the_other_way_round() -> None:
    assert [(ask.messages, ask.duration) for ask in override(messages=5)] == [(5, None)] * 2
    assert [(ask.messages, ask.duration) for ask in override(duration="5s")] == [(None, "5s")] * 2


def test_a_setting_goes_to_the_transports_of_the_run_that_have_it() -> None:
    (ask, _) = override(["hwm=1,1000", "tcp.port=0"])
    assert ask.settings == {"zeromq": {"hwm": [1, 1000]}, "tcp": {"port": [0]}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hmw=1", 'E-UNKNOWN-SETTING "hmw" "hwm"'),
        ("hwm", "E-SETTING-VALUE hwm NAME=VALUE"),
        ("hwm=x", 'E-SETTING-VALUE hwm: "x"'),
        ("shm.slots=1", 'E-UNKNOWN-SETTING "shm" tcp, zeromq'),
    ],
)
def test_a_wrong_setting_is_explained(text: str, says: str) -> None:
    with refuses(UsageError, says):
        override([text])


SHORT: dict[str, Any] = TABLE | {"look": {"payload": "timing", "messages": 50, "budget": "2m", "until": "best"}}


def shorten(table: dict[str, Any] = SHORT, **given: Any) -> scenario.Scenario:
    return scenario.override(scenario.shorten(table, given), given, [], manifest.every())


def test_a_look_replaces_values_as_the_command_line_does() -> None:
    short = shorten()
    assert (short.budget, short.until, short.trials, short.look) == ("2m", "best", None, None)
    assert [(ask.axes["payload"], ask.messages, ask.trials) for ask in scenario.asks(short)] == [(["timing"], 50, 5)]


def test_a_look_replaces_single_settings_of_every_case() -> None:
    own = [{"settings": {"zeromq": {"hwm": [1, 1000], "endpoint": ["ipc", "tcp"]}}}, {"pattern": "rpc"}]
    table = TABLE | {"case": own, "look": {"settings": {"zeromq": {"hwm": 5}}, "budget": "2m"}}
    first, second = scenario.asks(shorten(table))
    assert first.settings["zeromq"] == {"hwm": [5], "endpoint": ["ipc", "tcp"]}
    assert second.settings["zeromq"]["hwm"] == [5]
    assert scenario.asks(shorten(table, trials=2))[0].settings["zeromq"]["hwm"] == [1, 1000]
    assert scenario.asks(scenario.override(scenario.lengthen(table), {}, [], {}))[0].settings["zeromq"] == {
        "hwm": [1, 1000],
        "endpoint": ["ipc", "tcp"],
    }


def test_the_full_scenario_is_the_one_without_its_look() -> None:
    full = scenario.override(scenario.lengthen(SHORT), {}, [], manifest.every())
    assert full == scenario.override(TABLE, {}, [], manifest.every())


def test_the_command_line_comes_before_a_look() -> None:
    assert [ask.axes["payload"] for ask in scenario.asks(shorten(payload=["image:8x8"]))] == [["image:8x8"]]
    (ask,) = scenario.asks(shorten(rate=[5.0]))
    assert (ask.axes["rate"], ask.messages) == ([5.0], 50)
    assert (shorten(duration="3s", budget="9s").budget, shorten(messages=9).budget) == ("9s", "2m")
    assert (shorten(budget="9s").budget, shorten(until="order").until) == ("9s", "order")


@pytest.mark.parametrize("given", [{"trials": 4}, {"duration": "3s"}])
def test_a_fixed_length_of_ones_own_is_no_look(given: dict[str, Any]) -> None:
    assert shorten(**given) == scenario.override(TABLE, given, [], manifest.every())


def test_a_budget_replaces_the_trials_of_every_case() -> None:
    table = TABLE | {"case": [{"trials": 2}, {"payload": "timing"}]}
    assert [ask.trials for ask in scenario.asks(scenario.override(table, {"budget": "9s"}, [], {}))] == [5, 5]


def test_the_trials_of_a_search_have_a_budget_beside_them() -> None:
    table = {"title": "t", "question": "q?", "trials": 3, "search": {"bound_p99": "5ms"}, "look": {"budget": "2m"}}
    short = shorten(table)
    assert (short.trials, short.budget, short.budget_s) == (3, "2m", None)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"budget": "9s", "trials": 3}, "E-VALUES-CONFLICT"),
        ({"budget": "9s", "case": [{"trials": 3}]}, "E-VALUES-CONFLICT"),
        ({"until": "best"}, "E-VALUES-CONFLICT"),
        ({"budget": "9s", "until": "sometimes"}, "E-VALUE-CHOICE"),
        ({"budget": "0s"}, "E-VALUE-RANGE"),
    ],
)
def test_a_contradictory_budget_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        scenario.override({"title": "t", "question": "q?", **given}, {}, [], {})


def test_a_precision_may_be_written_without_the_sign() -> None:
    wanted = scenario.override({"title": "t", "question": "q?", "budget": "9s", "until": "+-5%"}, {}, [], {})
    assert wanted.until == "±5%"
