"""The question of a run with options of one's own is made from the options."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.scenario import find, has_own_question, load, override, question
from tests.plan.world import transport

MANIFESTS = {name: transport(name, settings={"hwm": {"default": 10, "help": "H."}}) for name in ("bus", "tram", "ship")}


def question_of(given: dict[str, Any], *settings: str, scenario: str = "quick") -> str:
    _, table = load(find(scenario))
    return question(override(table | {"settings": {}}, given, settings, MANIFESTS), given, settings)


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (
            {"transport": ["bus", "tram"], "payload": ["bytes:100000"], "rate": [10.0, 1000.0]},
            (),
            "Which of bus and tram is fastest for a message of 100,000 bytes at 10 and 1,000 Hz?",
        ),
        (
            {"transport": ["bus"], "language": ["python"], "payload": ["image:640x480"]},
            (),
            "How fast is bus for an image of 640×480 at 30 Hz, in python?",
        ),
        (
            {"transport": ["bus", "tram", "ship"], "wait": ["spin"], "payload": ["timing"]},
            ("bus.hwm=1,5",),
            "Which of bus, tram and ship is fastest for a small message at 1,000 Hz, wait spin, bus.hwm=1 or 5?",
        ),
        ({"pace": ["max"]}, (), "Which transport is fastest for a small message and an image of 1440×1080, pace max?"),
    ],
)
def test_it_names_what_was_asked(given: dict[str, Any], settings: tuple[str, ...], said: str) -> None:
    assert question_of(given, *settings) == said


def test_a_length_of_ones_own_leaves_the_question_as_it_is() -> None:
    assert not has_own_question({"trials": 5, "duration": "3s", "seed": 1}, [])
    assert has_own_question({"rate": [10.0]}, [])
    assert has_own_question({}, ["hwm=1"])


@pytest.mark.parametrize(
    ("transports", "against", "asks"),
    [
        (["bus", "tram"], "set:hwm=1", "Are bus and tram faster or slower than with hwm=1"),
        (["bus"], "set:hwm=1,bus.lanes=2", "Is bus faster or slower than with hwm=1 and bus.lanes=2"),
        (["bus"], "set:hwm=1,lanes=2,doors=3", "Is bus faster or slower than with the other settings"),
        (["bus"], "bus@1.5", "Is bus faster or slower than with bus 1.5"),
        (["bus"], "main", "Is bus faster or slower than at the revision main"),
        (["all"], "main", "Are the transports faster or slower than at the revision main"),
    ],
)
def test_a_run_with_two_sides_asks_what_became_faster_or_slower(transports: list[str], against: str, asks: str) -> None:
    _, table = load(find("quick"))
    given = {"transport": transports, "payload": ["timing"]}
    said = question(override(table | {"settings": {}}, given, [], MANIFESTS), given, [], against)
    assert said == f"{asks} for a small message at 1,000 Hz?"
