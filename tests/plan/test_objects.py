"""Tests for cells with a codec: valid combinations, object sizes, and the reasons for dropped cells."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness, codec_interpreter
from hopmeter.manifest.interpreter import ours
from hopmeter.messages import split_code
from hopmeter.plan import Plan
from hopmeter.plan.payloads import object_sizes
from hopmeter.plan.spec import TrialContext, node_specs
from tests.coded import lacking
from tests.images.made import image, pixels, video

from .capabilities import capabilities, make_plan, transport

BUS = transport("bus", max_payload_bytes=1_000_000)
CAB = transport("cab", max_payload_bytes=1_000_000)
NODE = (sys.executable, "-P", "-m", "hopmeter.node")


@pytest.fixture(autouse=True)
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the cache of object sizes."""
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))


def plan_with_node(node: tuple[str, ...] = NODE, missing: str = "", get: str = "", **given: Any) -> Plan:
    """Return a plan whose Python nodes report the given codecs."""

    def carrier(manifest: Manifest, _codec: str) -> Readiness:
        return Readiness(manifest.name, "python", ready=not missing, missing=missing, get=get, command=node)

    asked = {"language": "python", "codec": "numpy", "payload": "array:20x30", **given}
    return make_plan(replace(capabilities(BUS, CAB), carrier=carrier), **asked)


def drop_reasons(made: Plan) -> list[str]:
    return [cell.dropped for cell in made.cells if cell.comparison.ranked]


def test_a_payload_weighs_what_its_object_does_when_it_is_encoded() -> None:
    made = plan_with_node(codec=["numpy", "pillow", "pickle-in-band"])
    sizes = [cell.carriage.payload_bytes for cell in made.runnable]
    assert sizes[0] == 4800 + 128
    assert 2400 < sizes[1] < 2700, "Pillow's ones are of 32 bits"
    assert len(set(sizes)) == 3
    assert {cell.axes.touch for cell in made.runnable} == {"none"}
    assert {split_code(cell.comparison.floor_reason)[1] for cell in made.runnable} == {"W-FLOOR-OBJECT"}


def test_one_language_is_python_where_there_is_an_object() -> None:
    made = plan_with_node(language="one")
    assert [(cell.axes.language, cell.dropped) for cell in made.cells if cell.comparison.ranked] == [("python", "")]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"language": "rust"}, "D-CODEC-LANGUAGE numpy rust"),
        ({"language": "rust>python"}, "D-CODEC-LANGUAGE numpy rust"),
        ({"codec": "none"}, "D-PAYLOAD array:20x30"),
        (
            {"payload": "timing"},
            "D-PAYLOAD numpy timing",
        ),
        ({"device": "gpu"}, "D-DEVICE numpy CPU"),
        ({"codec": "cupy"}, "D-DEVICE cupy GPU"),
        (
            {"codec": "torch", "share": "cuda-ipc"},
            "D-SHARE cuda-ipc gpu",
        ),
        (
            {"codec": "mxnet", "device": "gpu", "share": "cuda-ipc"},
            "D-SHARE mxnet cupy, jax, paddle, tensorflow, torch",
        ),
        (
            {"codec": "none", "payload": "timing", "share": "cuda-ipc"},
            "D-DEVICE",
        ),
        (
            {"codec": "none", "payload": "timing", "device": "gpu"},
            "D-DEVICE",
        ),
        ({"payload": "array:2000x2000"}, "D-TOO-LARGE 32000128 bus (1000000)"),
        (
            {"missing": "no Python here has both bus and torch", "get": "hopmeter build bus --framework torch"},
            "D-CODEC-MISSING numpy: bus torch; `hopmeter build bus --framework torch`",
        ),
        (
            {"node": (sys.executable, "-c", 'print(\'{"array:20x30": {"missing": "torch finds no GPU here"}}\')')},
            "D-NO-OBJECT numpy: torch GPU",
        ),
        (
            {"node": (sys.executable, "-c", "import os; os.abort()")},
            "D-NO-OBJECT numpy: process",
        ),
    ],
)
def test_what_cannot_be_is_dropped_with_its_reason(given: dict[str, Any], reason: str) -> None:
    assert [lacking(each, reason) for each in drop_reasons(plan_with_node(**given))] == [[]]


def test_a_transport_that_encodes_by_itself_has_its_own_codecs_only() -> None:
    python = {"waits": ["spin", "block"], "library": "L", "objects": ["numpy", "torch"]}
    own = transport("bus", max_payload_bytes=1_000_000, languages={"python": python})

    def carrier(manifest: Manifest, _codec: str) -> Readiness:
        return Readiness(manifest.name, "python", ready=True, command=NODE)

    asked = {"language": "python", "codec": ["numpy", "pickle-in-band"], "payload": "array:20x30"}
    made = make_plan(replace(capabilities(own), carrier=carrier), **asked)
    first, second = drop_reasons(made)
    assert not first
    assert made.cells[0].carriage.own_encoders
    assert lacking(second, "D-OWN-ENCODERS bus numpy, torch pickle-in-band") == []


def test_an_unknown_codec_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r'"nunpy".* none, .*numpy.*pickle-in-band.*"numpy".*E-VALUE-CHOICE'):
        plan_with_node(codec="nunpy")


def test_only_the_nodes_of_python_are_told_of_the_object(tmp_path: Path) -> None:
    (cell,) = (cell for cell in plan_with_node(language="python>rust>python", relays=1).cells if cell.comparison.ranked)
    place = TrialContext("0" * 16, 0, 1, tmp_path, tmp_path, {})
    told = [
        (language, spec["flows"][0].get("object"), spec["flows"][0]["payload"]["kind"])
        for language, spec in node_specs(cell, place)
    ]
    assert told == [("python", "array:20x30", "bytes"), ("rust", None, "bytes"), ("python", "array:20x30", "bytes")]


class Nodes:
    """Answers every query about a node, and counts the queries."""

    def __init__(self, payload_bytes: int = 128, missing: str = "", lasts: bool = True) -> None:
        self.asked: list[str] = []
        self._found, self._lasts = (payload_bytes, missing), lasts

    def __call__(self, command: list[str], payloads: list[str]) -> tuple[object_sizes.Weights, object_sizes.Weights]:
        self.asked += [f"{' '.join(command[-3:])} {payload}" for payload in payloads]
        found = dict.fromkeys(payloads, self._found)
        return found, found if self._lasts else {}


WIDELY: dict[str, Any] = {
    "transport": ["bus", "cab"],
    "codec": ["numpy", "pillow"],
    "payload": ["array:20x30", "image:8x4"],
}
ONCE = [f"{codec} cpu none {payload}" for codec in WIDELY["codec"] for payload in WIDELY["payload"]]


def test_environments_that_are_alike_are_asked_once_and_then_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes()
    monkeypatch.setattr(object_sizes, "_weigh", nodes)
    for _ in range(2):
        made = plan_with_node(**WIDELY)
        assert [cell.carriage.payload_bytes for cell in made.runnable] == [128] * 8
        assert sorted(nodes.asked) == ONCE
    assert len(plan_with_node(**{**WIDELY, "payload": "array:2x2"}).runnable) == 4
    assert sorted(nodes.asked[4:]) == ["numpy cpu none array:2x2", "pillow cpu none array:2x2"]


@pytest.mark.parametrize("changed", ["_code", "versions"])
def test_what_was_remembered_holds_until_code_or_packages_change(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    nodes = Nodes()
    monkeypatch.setattr(object_sizes, "_weigh", nodes)
    plan_with_node()
    monkeypatch.setattr(
        object_sizes if changed == "_code" else codec_interpreter, changed, lambda *_: ["of another day"]
    )
    plan_with_node()
    assert nodes.asked == ["numpy cpu none array:20x30"] * 2


def test_what_is_missing_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(0, "no such object", lasts=False)
    monkeypatch.setattr(object_sizes, "_weigh", nodes)
    for _ in range(2):
        assert "D-NO-OBJECT" in drop_reasons(plan_with_node())[0]
    assert len(nodes.asked) == 2


def test_a_share_is_asked_of_the_node_with_the_place_and_dropped_where_no_gpu_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = Nodes(0, "torch finds no GPU here")
    monkeypatch.setattr(object_sizes, "_weigh", nodes)
    made = plan_with_node(codec="torch", device="gpu", share=["none", "cuda-ipc"])
    assert [lacking(each, "D-NO-OBJECT torch: GPU") for each in drop_reasons(made)] == [[], []]
    assert sorted(nodes.asked) == ["torch gpu cuda-ipc array:20x30", "torch gpu none array:20x30"]
    assert [cell.axes.share for cell in made.cells if cell.comparison.ranked] == ["none", "cuda-ipc"]


def test_the_ends_are_told_of_a_share_beside_the_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(object_sizes, "_weigh", Nodes())
    plain, lent = plan_with_node(codec="torch", device="gpu", share=["none", "cuda-ipc"]).runnable
    place = TrialContext("0" * 16, 0, 1, tmp_path, tmp_path, {})
    told = [
        [(spec["flows"][0]["device"], spec["flows"][0].get("share")) for _, spec in node_specs(cell, place)]
        for cell in (plain, lent)
    ]
    assert told == [[("gpu", None)] * 2, [("gpu", "cuda-ipc")] * 2]


@pytest.mark.parametrize(
    ("said", "lasting"),
    [
        ({"bytes": 12}, {"array:3": (12, "")}),
        ({"missing": "torch finds no GPU", "code": "E-NO-DEVICE"}, {"array:3": (0, "torch finds no GPU")}),
        ({"missing": "CUDA error: out of memory", "code": "E-NO-OBJECT"}, {}),
        ({"missing": "torch is not installed", "code": "E-FRAMEWORK-MISSING"}, {}),
    ],
)
def test_of_all_errors_only_a_missing_gpu_is_remembered(said: dict[str, Any], lasting: object_sizes.Weights) -> None:
    command = [sys.executable, "-c", f"print({json.dumps({'array:3': said})!r})"]
    found = (said.get("bytes", 0), said.get("missing", ""))
    assert object_sizes._weigh(command, ["array:3"]) == ({"array:3": found}, lasting)


def test_a_gpu_that_is_not_here_is_remembered_until_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(0, "torch finds no GPU here")
    monkeypatch.setattr(codec_interpreter, "interpreter", lambda *_: ours())
    monkeypatch.setattr(object_sizes, "_weigh", nodes)
    for seen in ([], [], ["/dev/nvidia0"]):
        monkeypatch.setattr(object_sizes, "_gpus", lambda seen=seen: seen)
        assert [
            lacking(each, "D-NO-OBJECT torch: GPU")
            for each in drop_reasons(plan_with_node(codec="torch", device="gpu"))
        ] == [[]]
    assert nodes.asked == ["torch gpu none array:20x30"] * 2


def test_the_frames_of_a_file_weigh_what_an_image_of_their_size_does(tmp_path: Path) -> None:
    still, moving = image(tmp_path / "one.png", pixels()[0]), video(tmp_path / "many.mkv", pixels())
    generated, shown, played, resized = (
        plan_with_node(payload=payload).runnable[0].carriage.payload_bytes
        for payload in ("image:10x6", f"image:{still}", f"video:{moving}", f"video:20x12:{moving}")
    )
    assert shown == generated
    assert played == generated + 8, "the number of the frame"
    assert resized - played == 20 * 12 * 3 - 10 * 6 * 3
    assert "rust" in drop_reasons(plan_with_node(payload=f"image:{still}", language="rust"))[0]
