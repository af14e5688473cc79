"""The question of a run without a scenario file is derived from the options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.scenario import find, has_own_question, load, override, question
from tests.plan.capabilities import transport

MANIFESTS = {name: transport(name, settings={"hwm": {"default": 10, "help": "H."}}) for name in ("bus", "tram", "ship")}


def question_of(given: dict[str, Any], *settings: str, scenario: str = "quick") -> str:
    _, table = load(find(scenario))
    return question(override(table | {"settings": {}}, given, settings, MANIFESTS), given, settings)


APPROVED: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    (
        {"transport": ["bus", "tram"], "payload": ["bytes:100000"], "rate": [10.0, 1000.0]},
        (),
        "Which of bus and tram is faster for a message of 100 kB at 10 and 1,000 Hz?",
    ),
    (
        {"transport": ["bus"], "language": ["python"], "payload": ["image:640x480"]},
        (),
        "How fast is bus for an image of 640×480 at 30 Hz in Python?",
    ),
    (
        {"transport": ["bus", "tram", "ship"], "wait": ["spin"], "payload": ["timing"]},
        ("bus.hwm=1,5",),
        "Which of bus, tram and 1 other transport is fastest for a small message at 1,000 Hz, with receivers that spin "
        "and bus.hwm=1 or 5?",
    ),
    (
        {"pace": ["max"]},
        (),
        "Which transport is fastest for a small message and an image of 1440×1080, as fast as possible?",
    ),
    (
        {
            "transport": ["bus", "tram"],
            "payload": ["message:foxglove/a1x2.proto:robot.State"],
            "language": ["c++", "rust", "python", "c++>python"],
            "codec": ["protobuf"],
        },
        (),
        "Which of bus and tram is faster for your message robot.State at 1,000 Hz in C++, Rust and 2 other "
        "combinations, with the codec protobuf?",
    ),
    (
        {"payload": ["timing"], "language": ["c++", "rust", "python"]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz in C++, Rust and 1 other language?",
    ),
    (
        {"payload": ["timing"], "language": ["c++>python"], "pattern": ["rpc"]},
        (),
        "Which transport is fastest for calls with a small message at 1,000 Hz from C++ to Python?",
    ),
    (
        {"payload": ["timing"], "language": ["rust", "rust>python"]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz in Rust and from Rust to Python?",
    ),
    (
        {"payload": ["timing"], "language": ["each"]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz in each language?",
    ),
    (
        {"payload": ["bytes:10", "bytes:1000"]},
        (),
        "Which transport is fastest for messages of 10 B and 1 kB at 1,000 Hz?",
    ),
    (
        {
            "payload": [f"bytes:{10**power}" for power in range(1, 5)],
            "rate": [1.0, 10.0, 100.0, 1000.0],
        },
        (),
        "Which transport is fastest for messages of 4 sizes from 10 B to 10 kB at 4 rates from 1 to 1,000 Hz?",
    ),
    (
        {"payload": ["bytes:2097152"], "codec": ["none"]},
        (),
        "Which transport is fastest for a message of 2 MiB at 30 Hz, without a codec?",
    ),
    (
        {"payload": ["array:200x200"], "codec": ["numpy"], "language": ["python"]},
        (),
        "Which transport is fastest for a NumPy array of 200×200 at 30 Hz in Python?",
    ),
    (
        {"payload": ["array:200x200"], "codec": ["numpy", "torch", "jax"], "device": ["gpu"]},
        (),
        "Which transport is fastest for an array of 200×200 at 30 Hz, with the codecs numpy, torch and 1 other, "
        "on the GPU?",
    ),
    (
        {
            "payload": ["timing"],
            "pattern": ["scatter"],
            "sinks": [4],
            "dispatch": ["sequential"],
            "work": ["sleep:1ms"],
        },
        (),
        "Which transport is fastest for calls with a small message at 1,000 Hz, to 4 servers, with servers called one "
        "after the other and 1 ms of work (sleeping)?",
    ),
    (
        {"payload": ["timing"], "relays": [0, 1, 20], "placement": ["thread"], "cores": ["same"]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz, over 0, 1 and 20 relays, within one process, on "
        "one core?",
    ),
    (
        {"payload": ["timing"], "relays": [3], "pairs": [2], "wait": ["callback", "block"], "cores": ["0,1"]},
        ("bus.hwm=1",),
        "Which transport is fastest for a small message at 1,000 Hz, over 3 relays, with 2 pairs at once and receivers "
        "that are called back or block, on cores 0,1, with bus.hwm=1?",
    ),
    (
        {"transport": ["bus"], "payload": ["timing"], "require": ["p99 < 1ms", "lost = 0"]},
        (),
        "How fast is bus for a small message at 1,000 Hz, with the requirements p99 < 1ms and lost = 0?",
    ),
    (
        {"payload": ["timing"], "burst": [10], "pace": ["burst"], "heap": ["libc"]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz, in bursts of 10, with freed memory left to the C "
        "library?",
    ),
    (
        {"payload": ["message:robot-state"], "codec": ["protobuf", "flatbuffers"], "language": ["rust"]},
        (),
        "Which transport is fastest for the example message robot-state at 1,000 Hz in Rust, with the codecs protobuf "
        "and flatbuffers?",
    ),
    (
        {"payload": ["timing"], "pace": ["open"], "heap": ["retain"], "sinks": [2]},
        (),
        "Which transport is fastest for a small message at 1,000 Hz, to 2 receivers?",
    ),
    (
        {"payload": ["file:x64/a1x2.bin"], "touch": ["none"]},
        (),
        "Which transport is fastest for the file a1x2.bin at 1,000 Hz, without touching the payload?",
    ),
]
"""Questions whose wording is approved."""


@pytest.mark.parametrize(("given", "settings", "said"), APPROVED)
def test_the_question_reads_like_one(
    given: dict[str, Any], settings: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("foxglove/a1x2.proto", "x64/a1x2.bin"):
        Path(name).parent.mkdir()
        Path(name).touch()
    assert question_of(given, *settings) == said


@pytest.mark.parametrize(
    ("transports", "said"),
    [
        (["bus"], "What is the highest rate of bus for a small message and a message of 100 kB?"),
        (["all"], "Which transport has the highest rate for a small message and a message of 100 kB?"),
        (
            ["bus", "tram"],
            "Which of bus and tram has the highest rate for a small message and a message of 100 kB?",
        ),
    ],
)
def test_a_search_asks_for_the_highest_rate(transports: list[str], said: str) -> None:
    assert question_of({"transport": transports}, scenario="highest-rate") == said


@pytest.mark.parametrize(
    ("scenario", "given", "said"),
    [
        (
            "recovery",
            {"language": ["rust"]},
            "Which transport recovers soonest from a restart of the broker, for a message of 100 bytes at 1,000 Hz in "
            "Rust?",
        ),
        (
            "recovery",
            {"transport": ["bus", "tram"], "restart": ["broker", "sink"]},
            "Which of bus and tram recovers sooner from a restart of the broker or of the sink, for a message of 100 "
            "bytes at 1,000 Hz?",
        ),
        (
            "recovery-subscriber",
            {"transport": ["bus"]},
            "How soon does bus recover from a restart of the sink, for a message of 100 bytes at 1,000 Hz?",
        ),
    ],
)
def test_a_restart_asks_for_the_recovery(scenario: str, given: dict[str, Any], said: str) -> None:
    assert question_of(given, scenario=scenario) == said


def test_a_workload_keeps_its_title() -> None:
    said = question_of({"transport": ["bus", "tram"]}, scenario="robot-head")
    assert said == "Which of bus and tram is faster for “A robot's head”?"


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
        (
            ["bus", "tram", "ship"],
            "main",
            "Are bus, tram and 1 other transport faster or slower than at the revision main",
        ),
        (["bus"], "main", "Is bus faster or slower than at the revision main"),
        (["all"], "main", "Are the transports faster or slower than at the revision main"),
    ],
)
def test_a_run_with_two_sides_asks_what_became_faster_or_slower(transports: list[str], against: str, asks: str) -> None:
    _, table = load(find("quick"))
    given = {"transport": transports, "payload": ["timing"]}
    said = question(override(table | {"settings": {}}, given, [], MANIFESTS), given, [], against)
    assert said == f"{asks} for a small message at 1,000 Hz?"
