"""Tests for valid scenarios and for the errors about invalid scenarios."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hopmeter import scenario
from hopmeter.cli.scenarios import schema_text
from hopmeter.errors import UsageError
from hopmeter.model import units
from hopmeter.scenario import Scenario, files
from hopmeter.system import paths
from hopmeter.system.toml_files import read, validate
from tests.coded import lacking, refuses
from tests.images.made import image, pixels

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_text()))


def make_scenario(**given: Any) -> Scenario:
    return validate(Scenario, {"title": "t", "question": "q?", **given}, "s.toml")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"wiat": "block"}, 'E-UNKNOWN-KEY "wiat" "wait"'),
        ({"case": [{"wiat": "block"}]}, 'E-UNKNOWN-KEY "wiat" case.0 "wait"'),
        (
            {"wait": "bock"},
            'E-VALUE-CHOICE wait: "bock" spin, block, callback, + callback+block "block"',
        ),
        ({"wait": "spin+callbac"}, 'E-VALUE-CHOICE wait: "callbac" spin, block, callback,'),
        ({"wait": ["block", "spin+"]}, 'E-VALUE-CHOICE wait: "" spin, block, callback'),
        ({"wait": []}, "E-VALUE-FORM wait: empty"),
        ({"rate": [10, -1]}, "E-VALUE-RANGE rate -1 0.001"),
        ({"relays": 1.5}, "E-VALUE-FORM relays 1.5"),
        ({"payload": "image:1440"}, 'E-VALUE-FORM payload "image:1440" timing, bytes:N, image:WIDTHxHEIGHT'),
        ({"language": "rust>cpp"}, 'E-VALUE-CHOICE language "cpp" one, each, pairs, rust, c++, python'),
        ({"cores": "crss"}, 'E-VALUE-CHOICE cores "crss" same, cross'),
        ({"work": "nap:1ms"}, 'E-VALUE-FORM work: "nap:1ms"'),
        ({"work": "sleep:1ms/2"}, 'E-VALUE-FORM work: "2" 30s'),
        ({"work": "none/1ms"}, 'E-VALUE-FORM work: "none/1ms"'),
        ({"work": "sleep:none"}, 'E-VALUE-FORM work: "none" 30s'),
        (
            {"work": "copy:frame:slowly"},
            'E-VALUE-FORM work: "copy:frame:slowly" copy:BYTES copy:frame, (memcpy,',
        ),
        ({"dispatch": "serial"}, 'E-VALUE-CHOICE dispatch: "serial" parallel, sequential'),
        ({"payload": "file:/nowhere/one.jpg"}, "E-FILE-UNREADABLE payload: /nowhere/one.jpg No such file"),
        ({"payload": "file:/"}, "E-FILE-UNREADABLE payload: / Is a directory"),
        ({"payload": "file:/dev/zero"}, "E-FILE-UNREADABLE payload: /dev/zero regular copy"),
        ({"payload": "image:/dev/zero"}, "E-FILE-UNREADABLE payload: /dev/zero regular copy"),
        ({"payload": "video:/dev/zero"}, "E-FILE-UNREADABLE payload: /dev/zero regular copy"),
        (
            {"payload": "video:/nowhere/one.mp4"},
            "E-FILE-UNREADABLE payload /nowhere/one.mp4 No such file",
        ),
        ({"payload": "image:4x4:/"}, "E-FILE-UNREADABLE payload / Is a directory"),
        ({"payload": "image:4x0:one.png"}, 'E-VALUE-RANGE payload: "image:4x0:one.png"'),
        ({"drain": "1"}, 'E-VALUE-FORM drain: "1" ns, us, ms, s m, 30s'),
        ({"messages": 10, "duration": "1s"}, "E-VALUES-CONFLICT messages duration"),
        ({"fifo": 100}, "E-VALUE-RANGE fifo 100 99"),
        ({"rate": float("inf")}, "E-VALUE-RANGE rate inf"),
        ({"rate": float("nan")}, "E-VALUE-RANGE rate nan"),
        ({"rate": 1e12}, "E-VALUE-RANGE rate 1000000000000.0 1000000000"),
        ({"messages": 99999999999999}, "E-VALUE-RANGE messages 99999999999999 1000000000"),
        ({"warmup": 10**10}, "E-VALUE-RANGE warmup 10000000000"),
        ({"burst": 10**10}, "E-VALUE-RANGE burst 10000000000"),
        ({"spin_us": float("inf")}, 'E-VALUE-FORM spin_us: inf "learned" 1,000,000'),
        ({"spin_us": True}, "E-VALUE-FORM spin_us: True"),
        ({"seed": -1}, "E-VALUE-RANGE seed -1 0"),
        ({"seed": 2**63}, "E-VALUE-RANGE seed 9223372036854775808"),
        ({"search": {"bound_p99": "5ms", "highest": float("inf")}}, "E-VALUE-RANGE search.highest inf"),
        ({"search": {"bound_p99": "0ms"}}, 'E-VALUE-RANGE search.bound_p99: "0ms"'),
        ({"duration": "0s"}, 'E-VALUE-RANGE duration: "0s" 30s'),
        ({"timeout": "0.0ms"}, 'E-VALUE-RANGE timeout: "0.0ms"'),
        ({"duration": f"{'9' * 400}m"}, "E-VALUE-RANGE duration: 1,000,000,000"),
        ({"payload": "image:0x0"}, 'E-VALUE-RANGE payload: "image:0x0"'),
        ({"work": "copy:99999999999999999999"}, "E-VALUE-RANGE work: 1099511627776"),
        ({"columns": ["hop_p50_us", "nonsense"]}, 'E-VALUE-CHOICE columns: "nonsense"'),
        ({"columns": ["respons_p50_us"]}, 'E-VALUE-CHOICE columns: "response_p50_us"'),
        ({"messages": "10"}, 'E-VALUE-FORM messages "10"'),
    ],
)
def test_what_is_wrong_is_named_with_key_value_and_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with refuses(UsageError, says) as wrong:
        make_scenario(**given)
    assert str(wrong.value).startswith("s.toml: ")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as wrong:
        make_scenario(wait="bock", trials=0)
    assert len(str(wrong.value).splitlines()) == 2
    assert lacking(str(wrong.value), "E-MISTAKES bock [E-VALUE-CHOICE] trials [E-VALUE-RANGE]") == []


def test_a_value_may_stand_alone_or_in_a_list() -> None:
    assert make_scenario(rate=10).rate == make_scenario(rate=[10]).rate == [10.0]


def test_cases_take_from_the_scenario_what_they_do_not_say() -> None:
    one, two = scenario.asks(
        make_scenario(
            wait="spin",
            duration="2s",
            trials=3,
            case=[{"payload": "bytes:1"}, {"payload": "bytes:2", "messages": 7, "trials": 4}],
        )
    )
    assert one.axes["wait"] == two.axes["wait"] == ["spin"]
    assert (one.axes["payload"], two.axes["payload"]) == (["bytes:1"], ["bytes:2"])
    assert (one.messages, one.duration, one.trials) == (None, "2s", 3)
    assert (two.messages, two.duration, two.trials) == (7, None, 4)


def test_the_schema_in_scenarios_is_current() -> None:
    kept = (paths.scenario_folder() / "scenario.schema.json").read_text()
    assert kept == schema_text(), "write it anew: hopmeter scenarios --schema > scenarios/scenario.schema.json"


@pytest.mark.parametrize("name", files.every())
def test_every_scenario_is_in_order_and_agrees_with_the_schema(name: str) -> None:
    table = read(files.every()[name])
    assert validate(Scenario, table, name).question.endswith("?")
    SCHEMA.validate(table)


@pytest.mark.parametrize("name", files.every())
def test_every_scenario_takes_ten_minutes_at_most_unless_it_is_asked_for_in_full(name: str) -> None:
    _, table = files.load(files.every()[name])
    short = scenario.override(scenario.shorten(table, {}), {}, [], {})
    assert short.budget is not None and units.seconds(short.budget) <= 600
    assert short.look is None


@pytest.mark.parametrize("name", files.every())
def test_editors_find_the_schema_of_every_scenario(name: str) -> None:
    first, _ = files.every()[name].read_text().split("\n", 1)
    assert first == "#:schema scenario.schema.json"


REFUSED = {
    "wait": ["bock", "callback+", "callback+bock"],
    "language": ["", "rust>cpp", "rust>", "one>rust", "c", "rust>rust>rust>rust", "rust,python"],
    "cores": ["", "crss", "0,", "1-2"],
    "payload": [
        "",
        "image:1440",
        "image:0x0",
        "image:4x00",
        "bytes:",
        "bytes:-1",
        "array:",
        "array:2x",
        "file:",
        "timing:1",
        "image:camera",
        "video:",
        "video:640x480",
    ],
    "work": [
        "",
        "nap:1ms",
        "sleep",
        "sleep:1",
        "sleep:none",
        "none/1ms",
        "sleep:1ms/copy:1/2",
        "sleep:1ms/2",
        "copy:frame:slowly",
        "spin:1ms/",
    ],
    "duration": ["", "0s", "0.00m", "1", "s", "-1s", "1.s", "1 s", "1h", "1s2"],
    "timeout": ["0ms"],
    "drain": ["1", "now"],
    "rate": [0, -1, 1e12],
    "messages": [0, 10**12],
    "seed": [-1],
    "columns": [["nonsense"]],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in REFUSED.items() for value in values])
def test_the_schema_refuses_what_the_model_refuses(key: str, value: Any) -> None:
    with pytest.raises(UsageError):
        make_scenario(**{key: value})
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({"title": "t", "question": "q?", key: value})


TAKEN = {
    "language": ["one", "c++", "rust>c++", "rust>python>c++", "pairs"],
    "cores": ["same", "0", "3,0,12"],
    "payload": ["timing", "bytes:0", "image:010x1", "array:3", "array:2x3x4"],
    "work": [
        *("none", "sleep:1.5ms", "spin:0us/2us", "sleep:1ms/none/2s", "copy:7:fresh", "copy:frame:rep:cold/none"),
        *("none/none", "none/spin:1ms", "copy:none/frame", "sleep:1ms/2ms/copy:9:rep/none/3s"),
    ],
    "duration": ["0.5s", "30m", "1.000ms", "010us"],
    "drain": ["0ms", "1.5s"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in TAKEN.items() for value in values])
def test_the_schema_takes_what_the_model_takes(key: str, value: str) -> None:
    make_scenario(**{key: value})
    SCHEMA.validate({"title": "t", "question": "q?", key: value})


@pytest.mark.parametrize("before", ["image:", "image:4x2:", "video:", "video:4x2:"])
def test_an_image_is_the_payload_of_its_pixels(tmp_path: Path, before: str) -> None:
    payload = f"{before}{image(tmp_path / 'one.png', pixels()[0])}"
    assert make_scenario(payload=payload).payload == [payload]
    SCHEMA.validate({"title": "t", "question": "q?", "payload": payload})
    width, height = (4, 2) if "4x2" in before else (10, 6)
    assert units.payload_bytes(payload) == width * height * 3
    assert units.payload(payload) == {"kind": "image", "width": width, "height": height}


def test_a_wait_for_each_sink_is_one_value_of_the_axis() -> None:
    table = {"title": "t", "question": "q?", "wait": ["callback+block", "spin"]}
    SCHEMA.validate(table)
    assert make_scenario(wait="callback+block").wait == ["callback+block"]


def test_an_unknown_scenario_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'"quick".*E-UNKNOWN-SCENARIO'):
        scenario.find("quik")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ("copy:7", {"kind": "copy", "bytes": 7}),
        ("copy:frame", {"kind": "copy"}),
        ("copy:frame:rep:cold", {"kind": "copy", "way": "rep", "into": "cold"}),
        ("copy:7:fresh", {"kind": "copy", "bytes": 7, "into": "fresh"}),
    ],
)
def test_a_copy_tells_nodes_only_what_is_asked_for(work: str, told: dict[str, Any]) -> None:
    assert units.works(work) == [told]


def test_some_of_several_may_have_nothing_to_do() -> None:
    assert units.works("copy:frame:stream/none") == [{"kind": "copy", "way": "stream"}, {"kind": "none"}]
    assert units.works_ns("sleep:1ms/none", 2) == [1_000_000]
    mixed = units.works("none/spin:1us/copy:frame:rep")
    assert units.works_ns("none/spin:1us/copy:frame:rep", 3) is None
    assert mixed == [{"kind": "none"}, {"kind": "spin", "ns": 1000}, {"kind": "copy", "way": "rep"}]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["file", "image", "video"])
def test_a_pipe_that_nobody_writes_to_is_no_payload(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UsageError, match=rf"{tmp_path}/pipe\.png .*regular.*E-FILE-UNREADABLE"):
        make_scenario(payload=f"{kind}:{tmp_path}/pipe.png")


def test_a_file_that_no_transport_carries_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "vast").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match=r"1,099,511,627,776 .*1,073,741,824.*E-VALUE-RANGE"):
        make_scenario(payload=f"file:{tmp_path}/vast")


def test_a_scenario_file_without_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"1,048,576 .*E-TOML-SYNTAX"):
        files.load(Path("/dev/zero"))


def test_a_scenario_file_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 60_000)
    with pytest.raises(UsageError, match="E-TOML-SYNTAX"):
        files.load(tmp_path / "deep.toml")
