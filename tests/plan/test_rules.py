"""What is dropped, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.plan.cores import Machine

from .world import LANGUAGE, planned, transport, world

BUS = transport("bus", settings={"hwm": {"default": 10, "min": 0, "help": "H."}})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"wait": "callback"}, "bus (rust) offers no wait callback (it offers spin, block)"),
        ({"transport": "shm", "placement": "thread"}, "shm (rust) offers no placement thread (it offers process)"),
        ({"transport": "memory"}, "memory (rust) offers no placement process (it offers thread)"),
        ({"language": "c++"}, "bus has no adapter in c++ (it has rust, python)"),
        (
            {"language": "rust>python", "placement": "thread"},
            "one process speaks one language; mixed languages need placement process",
        ),
        ({"pace": "closed"}, "closed pubsub is a ring and needs at least one relay; --relays 1 gives the round trip"),
        ({"pace": "closed", "relays": 1, "sinks": 2}, "closed pubsub is a ring: its source is its only receiver"),
        ({"pattern": "rpc", "sinks": 2}, "a call has one server; several at once are the pattern scatter"),
        ({"pattern": "scatter", "relays": 1}, "scatter has no relays: the client asks every server itself"),
        ({"work": "sleep:1ms/2ms"}, "work sleep:1ms/2ms is for 2 sinks, and there is 1"),
        (
            {"work": "sleep:1ms/2ms", "relays": 2},
            "work sleep:1ms/2ms is for 2 servers of a scatter, or sinks without relays; the others all do the same",
        ),
        ({"wait": "block+callback", "sinks": 2}, "bus (rust) offers no wait callback (it offers spin, block)"),
        ({"wait": "block+spin"}, "wait block+spin is for 2 sinks, and there is 1"),
        ({"wait": "block+spin", "sinks": 2, "relays": 1}, "wait block+spin is for 2 sinks of a pubsub without relays"),
        ({"wait": "block+spin", "pattern": "rpc"}, "wait block+spin is for 2 sinks of a pubsub without relays"),
        (
            {"wait": "block+spin", "sinks": 2, "placement": "thread"},
            "receivers that are polled by one process all spin or all block; placement process has both",
        ),
        (
            {"wait": "spin+spin+block", "sinks": 3},
            "3 spinning threads on 2 cores would measure the scheduler",
        ),
        (
            {"pattern": "scatter", "sinks": 3, "work": "sleep:1ms/2ms"},
            "work sleep:1ms/2ms is for 2 servers, and there are 3",
        ),
        ({"work": "copy:frame:own"}, "bus (rust) brings no copy function of its own"),
        ({"payload": "bytes:1001"}, "1001 bytes are more than bus carries (1000)"),
        (
            {"rate": 1e9, "duration": "60m"},
            "3,600,000,000,000 messages are more than a trial keeps (1,000,000,000); shorten it, or lower its rate",
        ),
        (
            {"rate": 0.001, "messages": 10**9},
            "a trial could take 1,500,001,500,003 s; nothing may take more than 1,000,000,000 s",
        ),
        (
            {"pattern": "rpc", "relays": 999, "work": "sleep:1000000s"},
            "a trial could take 1,000,000,010 s; nothing may take more than 1,000,000,000 s",
        ),
        ({"wait": "spin", "relays": 1}, "3 spinning threads on 2 cores would measure the scheduler"),
        ({"wait": "spin", "cores": "same"}, "2 spinning threads on 1 core would measure the scheduler"),
        ({"wait": "spin", "cores": "free", "pairs": 2}, "4 spinning threads on 2 cores would measure the scheduler"),
        ({"language": "python"}, "bus (python) is not built; run `hopmeter build bus`"),
        ({"cores": "sibling"}, "cores sibling: the kernel shows no two threads of one core here"),
        ({"cores": "numa"}, "cores numa: there is only one memory node here"),
        ({"cores": "0,7"}, "cores 0,7: core 7 may not be used here; 0, 1 may"),
    ],
)
def test_what_cannot_be_is_dropped_with_its_reason(given: dict[str, Any], reason: str) -> None:
    made = planned(world(BUS, unready=(("bus", "python"),)), **given)
    assert [cell.dropped for cell in made.cells if cell.comparison.ranked] == [reason]
    assert made.runnable == []


def test_a_language_that_carries_less_drops_only_its_own_cells() -> None:
    narrow = transport("bus", languages={"rust": {**LANGUAGE, "max_payload_bytes": 10}, "python": LANGUAGE})
    dropped = {
        language: planned(world(narrow), payload="bytes:11", language=language).cells[0].dropped
        for language in ("python", "python>rust", "rust>python")
    }
    told = "11 bytes are more than bus (rust) carries (10)"
    assert dropped == {"python": "", "python>rust": told, "rust>python": told}


@pytest.mark.parametrize(
    ("heeds", "given", "reason"),
    [
        ({"languages": ["rust"]}, {"language": "rust"}, ""),
        ({"languages": ["rust"]}, {"language": "python>rust"}, ""),
        ({"languages": ["rust"]}, {"language": "python"}, "languages other than rust"),
        ({"waits": ["spin"]}, {"language": "rust", "wait": "block"}, "waits other than spin"),
        (
            {"patterns": ["pubsub"]},
            {"language": "rust", "pattern": "scatter", "sinks": 2},
            "patterns other than pubsub",
        ),
        ({"patterns": ["rpc"]}, {"language": "rust", "pattern": "scatter", "sinks": 2}, ""),
        ({"placements": ["thread"]}, {"placement": "process"}, "placements other than thread"),
        ({"placements": ["thread"]}, {"placement": "thread"}, ""),
    ],
)
def test_a_setting_that_does_nothing_there_makes_no_cell(
    heeds: dict[str, Any], given: dict[str, Any], reason: str
) -> None:
    bus = transport("bus", settings={"hwm": {"default": 1000, "help": "H.", **heeds}})
    for value, expected in ((1000, ""), (1, reason and f"setting hwm of bus does nothing with {reason}")):
        made = planned(world(bus), settings={"bus": {"hwm": value}}, **given)
        assert {cell.dropped for cell in made.cells if cell.comparison.ranked} == {expected}


def test_a_setting_that_does_nothing_beside_another_makes_no_cell() -> None:
    threads = {"default": 2, "help": "T.", "where": {"executor": ["multi", "pool"]}}
    executor = {"default": "single", "help": "E.", "choices": ["single", "multi", "pool"]}
    bus = transport("bus", settings={"executor": executor, "threads": threads})
    made = planned(world(bus), settings={"bus": {"executor": ["single", "multi"], "threads": [2, 3]}})
    dropped = {cell.carriage.profile: cell.dropped for cell in made.cells if cell.comparison.ranked}
    idle = "setting threads of bus does nothing without executor=multi or executor=pool"
    assert dropped == {"": "", "threads=3": idle, "executor=multi": "", "executor=multi threads=3": ""}


@pytest.mark.parametrize(
    "given",
    [
        {"wait": "spin"},
        {"pace": "closed", "relays": 1},
        {"payload": "bytes:1000"},
        {"language": "rust>python"},
        {"pattern": "scatter", "sinks": 3},
        {"pattern": "scatter", "sinks": 2, "work": "sleep:1ms/2ms", "dispatch": "sequential"},
        {"pattern": "rpc", "relays": 2},
        {"placement": "thread"},
        {"wait": "block+spin", "sinks": 2},
        {"work": "copy:9/none", "sinks": 2},
        {"cores": "1,0"},
    ],
)
def test_what_can_be_is_not_dropped(given: dict[str, Any]) -> None:
    assert {cell.dropped for cell in planned(world(BUS), **given).cells} == {""}


def test_languages_that_cannot_talk_to_each_other_are_not_mixed() -> None:
    made = planned(world(transport("bus", cross_language=False)), language="pairs")
    assert [cell.axes.language for cell in made.runnable if cell.comparison.ranked] == ["rust", "python"]
    assert [cell.axes.language for cell in made.cells if cell.dropped] == ["rust>python", "python>rust"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"transport": "bsu"}, 'transport "bsu" is not one of'),
        ({"settings": {"bus": {"hmw": 1}}}, 'settings.bus: "hmw" is not one of hwm; did you mean "hwm"?'),
        ({"settings": {"bus": {"hwm": -1}}}, "settings.bus.hwm: -1 is below the least allowed, 0"),
    ],
)
def test_what_does_not_exist_is_an_error_and_no_dropped_cell(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as wrong:
        planned(world(BUS), **given)
    assert says in str(wrong.value)


@pytest.mark.parametrize(
    ("machine", "word", "cores"),
    [
        (Machine((0, 1, 2, 3)), "same", (3,)),
        (Machine((0, 1, 2, 3)), "cross", (2, 3)),
        (Machine((0, 1, 2, 3), siblings=((0, 1), (2, 3))), "cross", (1, 3)),
        (Machine((0, 1, 2, 3), siblings=((0, 2), (1, 3))), "sibling", (0, 2)),
        (Machine((0, 2), siblings=((0, 2),)), "sibling", (0, 2)),
        (Machine((0, 1, 2, 3), memories=((0, 1), (2, 3))), "numa", (0, 2)),
        (Machine((0, 1)), "free", ()),
        (Machine((0, 1)), "1,0", (1, 0)),
    ],
)
def test_cores_follow_the_machine(machine: Machine, word: str, cores: tuple[int, ...]) -> None:
    assert machine.core_list(word) == cores


def test_one_core_is_too_few_for_cross() -> None:
    (cell,) = [cell for cell in planned(world(BUS, machine=Machine((0,)))).cells if cell.comparison.ranked]
    assert cell.dropped.startswith("cores cross: there is only one core")


def test_one_language_is_the_first_that_is_ready() -> None:
    heavy = transport("bus", languages={"rust": {**LANGUAGE, "build_cost": {"seconds": 61}}, "python": LANGUAGE})
    for unready, language in (
        ((), "rust"),
        ((("bus", "rust"),), "python"),
        ((("bus", "rust"), ("bus", "python")), "python"),
    ):
        made = planned(world(heavy, unready=unready), language="one")
        assert made.cells[0].axes.language == language


@pytest.mark.parametrize(
    "given", [{"placement": "thread"}, {"wait": "spin"}, {"pattern": "rpc"}, {"payload": "bytes:1000"}]
)
def test_one_language_is_one_that_offers_the_cell(given: dict[str, Any]) -> None:
    less = {
        "waits": ["block"],
        "library": "L",
        "placements": ["process"],
        "patterns": ["pubsub"],
        "max_payload_bytes": 999,
    }
    made = planned(world(transport("bus", languages={"rust": less, "python": LANGUAGE})), language="one", **given)
    assert [(cell.axes.language, cell.dropped) for cell in made.cells if cell.comparison.ranked] == [("python", "")]


def test_direct_transports_are_those_without_a_daemon() -> None:
    broker = transport("broker", daemon={"title": "d", "command": ["d"], "ready": "port"})
    made = planned(world(BUS, broker), transport="direct", placement="apart")
    assert [cell.axes.transport for cell in made.cells] == ["memory", "shm", "bus"]


def test_all_transports_are_those_that_can_be_ranked() -> None:
    made = planned(world(BUS, transport("truth", ranked=False)), transport="all", placement="apart")
    assert [(cell.axes.transport, cell.axes.placement) for cell in made.cells] == [
        ("memory", "thread"),
        ("shm", "process"),
        ("bus", "process"),
    ]
