"""Tests for dropped cells and their reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.plan.placement.cores import Machine
from tests.coded import lacking, refuses

from .capabilities import LANGUAGE, capabilities, make_plan, transport

BUS = transport("bus", settings={"hwm": {"default": 10, "min": 0, "help": "H."}})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"wait": "callback"}, "D-NOT-OFFERED (rust) callback spin block"),
        ({"transport": "shm", "placement": "thread"}, "D-NOT-OFFERED shm thread process"),
        ({"transport": "memory"}, "D-NOT-OFFERED memory process thread"),
        ({"language": "c++"}, "D-NO-LANGUAGE c++ rust python"),
        ({"language": "c++>python"}, "D-NO-LANGUAGE c++ (it has rust, rust>python, python>rust, python)"),
        (
            {"language": "rust>python", "placement": "thread"},
            "D-MIXED-LANGUAGES",
        ),
        ({"pace": "closed"}, "D-RING --relays"),
        ({"pace": "closed", "relays": 1, "sinks": 2}, "D-RING-SINKS"),
        ({"pattern": "rpc", "sinks": 2}, "D-ONE-SERVER scatter"),
        ({"pattern": "scatter", "relays": 1}, "D-SCATTER-RELAYS"),
        ({"work": "sleep:1ms/2ms"}, "D-WORKS sleep:1ms/2ms sinks 1"),
        (
            {"work": "sleep:1ms/2ms", "relays": 2},
            "D-WORKS sleep:1ms/2ms",
        ),
        ({"wait": "block+callback", "sinks": 2}, "D-NOT-OFFERED (rust) callback spin block"),
        ({"wait": "block+spin"}, "D-WAITS block+spin 1"),
        ({"wait": "block+spin", "sinks": 2, "relays": 1}, "D-WAITS block+spin"),
        ({"wait": "block+spin", "pattern": "rpc"}, "D-WAITS block+spin"),
        (
            {"wait": "block+spin", "sinks": 2, "placement": "thread"},
            "D-WAITS-MIXED",
        ),
        (
            {"wait": "spin+spin+block", "sinks": 3},
            "D-SPINNING 3 2",
        ),
        (
            {"pattern": "scatter", "sinks": 3, "work": "sleep:1ms/2ms"},
            "D-WORKS sleep:1ms/2ms servers 3",
        ),
        ({"work": "copy:frame:own"}, "D-NO-COPY bus (rust)"),
        ({"payload": "bytes:1001"}, "D-TOO-LARGE 1001 bus (1000)"),
        (
            {"rate": 1e9, "duration": "60m"},
            "D-TOO-LONG 3,600,000,000,000 (1,000,000,000)",
        ),
        (
            {"rate": 0.001, "messages": 10**9},
            "D-TOO-LONG 1,500,001,500,003 1,000,000,000",
        ),
        (
            {"pattern": "rpc", "relays": 999, "work": "sleep:1000000s"},
            "D-TOO-LONG 1,000,000,010 1,000,000,000",
        ),
        ({"wait": "spin", "relays": 1}, "D-SPINNING 3 2"),
        ({"wait": "spin", "cores": "same"}, "D-SPINNING 2 1"),
        ({"wait": "spin", "cores": "free", "pairs": 2}, "D-SPINNING 4 2"),
        ({"language": "python"}, "D-NOT-BUILT bus (python) `hopmeter build bus`"),
        ({"cores": "sibling"}, "D-NO-CORES sibling"),
        ({"cores": "numa"}, "D-NO-CORES numa"),
        ({"cores": "0,7"}, "D-NO-CORES 0,7 7 0, 1"),
    ],
)
def test_what_cannot_be_is_dropped_with_its_reason(given: dict[str, Any], reason: str) -> None:
    made = make_plan(capabilities(BUS, unready=(("bus", "python"),)), **given)
    assert [lacking(cell.dropped, reason) for cell in made.cells if cell.comparison.ranked] == [[]]
    assert made.runnable == []


def test_a_language_that_carries_less_drops_only_its_own_cells() -> None:
    narrow = transport("bus", languages={"rust": {**LANGUAGE, "max_payload_bytes": 10}, "python": LANGUAGE})
    dropped = {
        language: make_plan(capabilities(narrow), payload="bytes:11", language=language).cells[0].dropped
        for language in ("python", "python>rust", "rust>python")
    }
    too_large = "D-TOO-LARGE 11 bus (rust) (10)"
    expected = {"python": "", "python>rust": too_large, "rust>python": too_large}
    assert [lacking(dropped[language], each) for language, each in expected.items()] == [[]] * 3


@pytest.mark.parametrize(
    ("heeds", "given", "reason"),
    [
        ({"languages": ["rust"]}, {"language": "rust"}, ""),
        ({"languages": ["rust"]}, {"language": "python>rust"}, ""),
        ({"languages": ["rust"]}, {"language": "python"}, "languages rust"),
        ({"waits": ["spin"]}, {"language": "rust", "wait": "block"}, "waits spin"),
        (
            {"patterns": ["pubsub"]},
            {"language": "rust", "pattern": "scatter", "sinks": 2},
            "patterns pubsub",
        ),
        ({"patterns": ["rpc"]}, {"language": "rust", "pattern": "scatter", "sinks": 2}, ""),
        ({"placements": ["thread"]}, {"placement": "process"}, "placements thread"),
        ({"placements": ["thread"]}, {"placement": "thread"}, ""),
    ],
)
def test_a_setting_that_does_nothing_there_makes_no_cell(
    heeds: dict[str, Any], given: dict[str, Any], reason: str
) -> None:
    bus = transport("bus", settings={"hwm": {"default": 1000, "help": "H.", **heeds}})
    for value, expected in ((1000, ""), (1, reason and f"D-SETTING-IDLE hwm bus {reason}")):
        made = make_plan(capabilities(bus), settings={"bus": {"hwm": value}}, **given)
        assert [lacking(cell.dropped, expected) for cell in made.cells if cell.comparison.ranked] == [[]]


@pytest.mark.parametrize(("language", "reason"), [("rust", ""), ("python>rust", "languages rust")])
def test_an_encrypted_cell_needs_encryption_in_each_language(language: str, reason: str) -> None:
    security = {"default": "off", "choices": ["off", "tls"], "languages": ["rust"], "help": "S."}
    bus = transport("bus", settings={"security": security})
    made = make_plan(capabilities(bus), settings={"bus": {"security": "tls"}}, language=language)
    expected = reason and f"D-SETTING-IDLE security bus {reason}"
    assert [lacking(cell.dropped, expected) for cell in made.cells if cell.comparison.ranked] == [[]]


def test_a_choice_that_needs_a_placement_makes_no_cell_with_another() -> None:
    endpoint = {
        "default": "ipc",
        "choices": ["ipc", "inproc"],
        "choice_placements": {"inproc": ["thread"]},
        "help": "E.",
    }
    bus = transport("bus", settings={"endpoint": endpoint})
    made = make_plan(
        capabilities(bus), settings={"bus": {"endpoint": ["ipc", "inproc"]}}, placement=["thread", "process"]
    )
    dropped = {
        (cell.axes.placement, cell.carriage.profile): cell.dropped for cell in made.cells if cell.comparison.ranked
    }
    assert [key for key, reason in dropped.items() if reason] == [("process", "endpoint=inproc")]
    reason = dropped["process", "endpoint=inproc"]
    assert lacking(reason, "D-NOT-OFFERED bus endpoint=inproc process thread") == []


def test_a_setting_that_does_nothing_beside_another_makes_no_cell() -> None:
    threads = {"default": 2, "help": "T.", "where": {"executor": ["multi", "pool"]}}
    executor = {"default": "single", "help": "E.", "choices": ["single", "multi", "pool"]}
    bus = transport("bus", settings={"executor": executor, "threads": threads})
    made = make_plan(capabilities(bus), settings={"bus": {"executor": ["single", "multi"], "threads": [2, 3]}})
    dropped = {cell.carriage.profile: cell.dropped for cell in made.cells if cell.comparison.ranked}
    assert [profile for profile, reason in dropped.items() if reason] == ["threads=3"]
    assert lacking(dropped["threads=3"], "D-SETTING-IDLE threads bus executor=multi executor=pool") == []
    assert dropped.keys() == {"", "threads=3", "executor=multi", "executor=multi threads=3"}


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
    assert {cell.dropped for cell in make_plan(capabilities(BUS), **given).cells} == {""}


def test_the_source_cannot_send_at_once_if_no_process_can_join_later() -> None:
    made = make_plan(capabilities(transport("bus", late_processes=False)), begin="at-once")
    assert [lacking(cell.dropped, "D-AT-ONCE bus") for cell in made.cells if cell.axes.transport == "bus"] == [[]]


def test_languages_that_cannot_talk_to_each_other_are_not_mixed() -> None:
    made = make_plan(capabilities(transport("bus", cross_language=False)), language="pairs")
    assert [cell.axes.language for cell in made.runnable if cell.comparison.ranked] == ["rust", "python"]
    assert [cell.axes.language for cell in made.cells if cell.dropped] == ["rust>python", "python>rust"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"transport": "bsu"}, 'E-UNKNOWN-TRANSPORT "bsu"'),
        ({"settings": {"bus": {"hmw": 1}}}, 'E-UNKNOWN-SETTING settings.bus: "hmw" "hwm"'),
        ({"settings": {"bus": {"hwm": -1}}}, "E-SETTING-VALUE settings.bus.hwm: -1 0"),
    ],
)
def test_what_does_not_exist_is_an_error_and_no_dropped_cell(given: dict[str, Any], says: str) -> None:
    with refuses(UsageError, says):
        make_plan(capabilities(BUS), **given)


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
    (cell,) = [cell for cell in make_plan(capabilities(BUS, machine=Machine((0,)))).cells if cell.comparison.ranked]
    assert lacking(cell.dropped, "D-NO-CORES cross") == []


def test_one_language_is_the_first_that_is_ready() -> None:
    heavy = transport("bus", languages={"rust": {**LANGUAGE, "build_cost": {"seconds": 121}}, "python": LANGUAGE})
    for unready, language in (
        ((), "rust"),
        ((("bus", "rust"),), "python"),
        ((("bus", "rust"), ("bus", "python")), "python"),
    ):
        made = make_plan(capabilities(heavy, unready=unready), language="one")
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
    made = make_plan(
        capabilities(transport("bus", languages={"rust": less, "python": LANGUAGE})), language="one", **given
    )
    assert [(cell.axes.language, cell.dropped) for cell in made.cells if cell.comparison.ranked] == [("python", "")]


def test_direct_transports_are_those_without_a_broker() -> None:
    broker = transport("broker", broker={"title": "d", "command": ["d"], "ready": "port"})
    made = make_plan(capabilities(BUS, broker), transport="direct", placement="apart")
    assert [cell.axes.transport for cell in made.cells] == ["memory", "shm", "bus"]


def test_all_transports_are_those_that_can_be_ranked() -> None:
    made = make_plan(capabilities(BUS, transport("truth", ranked=False)), transport="all", placement="apart")
    assert [(cell.axes.transport, cell.axes.placement) for cell in made.cells] == [
        ("memory", "thread"),
        ("shm", "process"),
        ("bus", "process"),
    ]


def test_a_cell_whose_settings_choose_another_installation_needs_its_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopmeter.manifest.interpreter.folder", lambda name: tmp_path / name)
    edition = {"default": "new", "choices": ["new", "old"], "help": "H."}
    python = {
        "waits": ["block"],
        "library": "L",
        "installations": {"old": {"where": {"edition": ["old"]}, "pip": ["p"]}},
    }
    bus = transport("bus", settings={"edition": edition}, languages={"python": python, "rust": LANGUAGE})
    plan = make_plan(capabilities(bus), language="each", wait="block", settings={"bus": {"edition": ["new", "old"]}})
    dropped = {
        (cell.axes.language, cell.carriage.profile): cell.dropped for cell in plan.cells if cell.axes.transport == "bus"
    }
    assert {key for key, reason in dropped.items() if not reason} == {
        ("python", ""),
        ("rust", ""),
        ("rust", "edition=old"),
    }
    assert lacking(dropped["python", "edition=old"], "D-NOT-BUILT hopmeter build bus --set edition=old") == []


AWAITED = {"rust": LANGUAGE | {"waits": ["block", "callback"]}, "python": LANGUAGE | {"waits": ["block", "callback"]}}
LOOP = transport("loop", languages=AWAITED | {"python": AWAITED["python"] | {"event_loop": "asyncio"}})


@pytest.mark.parametrize(
    ("language", "wait", "planned"),
    [
        ("one", "asyncio", [("python", "callback")]),
        ("python", ["callback", "asyncio"], [("python", "callback")]),
        ("rust>python", "asyncio", [("rust>python", "callback")]),
        ("one", "block", [("rust", "block")]),
    ],
)
def test_asyncio_is_the_callback_of_an_adapter_with_this_event_loop(
    language: str, wait: Any, planned: list[tuple[str, str]]
) -> None:
    plan = make_plan(capabilities(LOOP), transport="loop", language=language, wait=wait)
    cells = [cell for cell in plan.cells if cell.axes.transport == "loop"]
    assert [(cell.axes.language, cell.axes.wait) for cell in cells] == planned


@pytest.mark.parametrize(("name", "language"), [("loop", "rust"), ("loop", "python>rust"), ("bus", "python")])
def test_asyncio_is_dropped_where_receivers_have_no_event_loop(name: str, language: str) -> None:
    cell = make_plan(capabilities(LOOP, BUS), transport=name, language=language, wait="asyncio").cells[0]
    assert lacking(cell.dropped, "D-NOT-OFFERED asyncio") == []
