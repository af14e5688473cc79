"""What a scenario may say, and what is said about one that is wrong."""

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
from tests.images.made import image, pixels

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_text()))


def made(**given: Any) -> Scenario:
    return validate(Scenario, {"title": "t", "question": "q?", **given}, "s.toml")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"wiat": "block"}, 'unknown key "wiat"; did you mean "wait"?'),
        ({"case": [{"wiat": "block"}]}, 'unknown key "wiat" in case.0; did you mean "wait"?'),
        (
            {"wait": "bock"},
            'wait: "bock" is not one of spin, block, callback, one for each sink with + between, such as callback+block'
            '; did you mean "block"?',
        ),
        ({"wait": "spin+callbac"}, 'wait: "callbac" is not one of spin, block, callback, one for each sink'),
        ({"wait": ["block", "spin+"]}, 'wait: "" is not one of spin, block, callback'),
        ({"wait": []}, "wait: the list is empty"),
        ({"rate": [10, -1]}, "rate = -1: Input should be greater than or equal to 0.001"),
        ({"relays": 1.5}, "relays = 1.5"),
        ({"payload": "image:1440"}, '"image:1440" is no payload; write timing, bytes:N, image:WIDTHxHEIGHT'),
        ({"language": "rust>cpp"}, '"cpp" is not one of one, each, pairs, rust, c++, python'),
        ({"cores": "crss"}, '"crss" is not one of same, cross'),
        ({"work": "nap:1ms"}, '"nap:1ms" is no work'),
        ({"work": "sleep:1ms/2"}, '"2" is no duration'),
        ({"work": "none/none"}, '"none/none" is no work'),
        ({"work": "sleep:none"}, '"none" is no duration'),
        (
            {"work": "copy:frame:slowly"},
            '"copy:frame:slowly" is no copy; write copy:BYTES or copy:frame, then how (memcpy,',
        ),
        ({"dispatch": "serial"}, 'dispatch: "serial" is not one of parallel, sequential'),
        ({"payload": "file:/nowhere/one.jpg"}, "/nowhere/one.jpg cannot be read: No such file or directory"),
        ({"payload": "file:/"}, "/ cannot be read: Is a directory"),
        ({"payload": "file:/dev/zero"}, "/dev/zero cannot be read: it is no regular file; copy what it gives"),
        ({"payload": "image:/dev/zero"}, "/dev/zero cannot be read: it is no regular file; copy what it gives"),
        ({"payload": "video:/dev/zero"}, "/dev/zero cannot be read: it is no regular file; copy what it gives"),
        (
            {"payload": "video:/nowhere/one.mp4"},
            "the payload /nowhere/one.mp4 cannot be read: No such file or directory",
        ),
        ({"payload": "image:4x4:/"}, "the payload / cannot be read: Is a directory"),
        ({"payload": "image:4x0:one.png"}, '"image:4x0:one.png" has no pixel'),
        ({"drain": "1"}, '"1" is no duration; write a number and ns, us, ms, s or m, such as 30s'),
        ({"messages": 10, "duration": "1s"}, "messages and duration say the same thing twice"),
        ({"fifo": 100}, "fifo = 100: Input should be less than or equal to 99"),
        ({"rate": float("inf")}, "rate = inf: Input should be"),
        ({"rate": float("nan")}, "rate = nan: Input should be"),
        ({"rate": 1e12}, "rate = 1000000000000.0: Input should be less than or equal to 1000000000"),
        ({"messages": 99999999999999}, "messages = 99999999999999: Input should be less than or equal to 1000000000"),
        ({"warmup": 10**10}, "warmup = 10000000000: Input should be less"),
        ({"burst": 10**10}, "burst = 10000000000: Input should be less"),
        ({"spin_us": float("inf")}, 'spin_us: inf is neither "learned" nor microseconds from 0 to 1,000,000'),
        ({"spin_us": True}, "spin_us: True is neither"),
        ({"seed": -1}, "seed = -1: Input should be greater than or equal to 0"),
        ({"seed": 2**63}, "seed = 9223372036854775808: Input should be less than or equal to"),
        ({"search": {"bound_p99": "5ms", "highest": float("inf")}}, "search.highest = inf: Input should be"),
        ({"search": {"bound_p99": "0ms"}}, 'search.bound_p99: "0ms" is no time at all'),
        ({"duration": "0s"}, 'duration: "0s" is no time at all; write more, such as 30s'),
        ({"timeout": "0.0ms"}, 'timeout: "0.0ms" is no time at all'),
        ({"duration": f"{'9' * 400}m"}, "is longer than 1,000,000,000 s"),
        ({"payload": "image:0x0"}, '"image:0x0" has no pixel'),
        ({"work": "copy:99999999999999999999"}, "copies more than 1099511627776 bytes"),
        ({"columns": ["hop_p50_us", "nonsense"]}, 'columns: "nonsense" is no column of cells.parquet'),
        ({"columns": ["respons_p50_us"]}, 'did you mean "response_p50_us"?'),
        ({"messages": "10"}, 'messages = "10"'),
    ],
)
def test_what_is_wrong_is_named_with_key_value_and_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as wrong:
        made(**given)
    assert says in str(wrong.value)
    assert str(wrong.value).startswith("s.toml: ")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as wrong:
        made(wait="bock", trials=0)
    assert len(str(wrong.value).splitlines()) == 2


def test_a_value_may_stand_alone_or_in_a_list() -> None:
    assert made(rate=10).rate == made(rate=[10]).rate == [10.0]


def test_cases_take_from_the_scenario_what_they_do_not_say() -> None:
    one, two = scenario.asks(
        made(
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
        "none/none",
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
        made(**{key: value})
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({"title": "t", "question": "q?", key: value})


TAKEN = {
    "language": ["one", "c++", "rust>c++", "rust>python>c++", "pairs"],
    "cores": ["same", "0", "3,0,12"],
    "payload": ["timing", "bytes:0", "image:010x1", "array:3", "array:2x3x4"],
    "work": ["none", "sleep:1.5ms", "spin:0us/2us", "sleep:1ms/none/2s", "copy:7:fresh", "copy:frame:rep:cold/none"],
    "duration": ["0.5s", "30m", "1.000ms", "010us"],
    "drain": ["0ms", "1.5s"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in TAKEN.items() for value in values])
def test_the_schema_takes_what_the_model_takes(key: str, value: str) -> None:
    made(**{key: value})
    SCHEMA.validate({"title": "t", "question": "q?", key: value})


@pytest.mark.parametrize("before", ["image:", "image:4x2:", "video:", "video:4x2:"])
def test_an_image_is_the_payload_of_its_pixels(tmp_path: Path, before: str) -> None:
    payload = f"{before}{image(tmp_path / 'one.png', pixels()[0])}"
    assert made(payload=payload).payload == [payload]
    SCHEMA.validate({"title": "t", "question": "q?", "payload": payload})
    width, height = (4, 2) if "4x2" in before else (10, 6)
    assert units.payload_bytes(payload) == width * height * 3
    assert units.payload(payload) == {"kind": "image", "width": width, "height": height}


def test_a_wait_for_each_sink_is_one_value_of_the_axis() -> None:
    table = {"title": "t", "question": "q?", "wait": ["callback+block", "spin"]}
    SCHEMA.validate(table)
    assert made(wait="callback+block").wait == ["callback+block"]


def test_an_unknown_scenario_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "quick"'):
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


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["file", "image", "video"])
def test_a_pipe_that_nobody_writes_to_is_no_payload(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UsageError, match=rf"the payload {tmp_path}/pipe\.png cannot be read: it is no regular file"):
        made(payload=f"{kind}:{tmp_path}/pipe.png")


def test_a_file_that_no_transport_carries_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "vast").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match=r"has 1,099,511,627,776 bytes; name a file of at most 1,073,741,824"):
        made(payload=f"file:{tmp_path}/vast")


def test_a_scenario_file_without_end_is_refused() -> None:
    with pytest.raises(UsageError, match="holds more than 1,048,576 bytes"):
        files.load(Path("/dev/zero"))


def test_a_scenario_file_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 60_000)
    with pytest.raises(UsageError, match="nests too deeply"):
        files.load(tmp_path / "deep.toml")
