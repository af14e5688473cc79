"""Cells with a codec: what goes together, what an object weighs, and why there is none."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.plan import Plan
from hopmeter.plan.spec import Place, node_specs

from .world import planned, transport, world

BUS = transport("bus", max_payload_bytes=1_000_000)
NODE = (sys.executable, "-P", "-m", "hopmeter.node")


def carried(node: tuple[str, ...] = NODE, missing: str = "", get: str = "", **given: Any) -> Plan:
    """A plan in a world whose Python nodes carry codecs as said."""

    def carrier(manifest: Manifest, _codec: str) -> Readiness:
        return Readiness(manifest.name, "python", ready=not missing, missing=missing, get=get, command=node)

    asked = {"language": "python", "codec": "numpy", "payload": "array:20x30", **given}
    return planned(replace(world(BUS), carrier=carrier), **asked)


def dropped(made: Plan) -> list[str]:
    return [cell.dropped for cell in made.cells if cell.ranked]


def test_a_payload_weighs_what_its_object_does_when_it_is_encoded() -> None:
    made = carried(codec=["numpy", "pillow", "pickle-in-band"])
    weights = [cell.payload_bytes for cell in made.runnable]
    assert weights[0] == 4800 + 128
    assert 2400 < weights[1] < 2700, "Pillow's ones are of 32 bits"
    assert len(set(weights)) == 3
    assert {cell.touch for cell in made.runnable} == {"none"}
    assert {cell.floor_reason for cell in made.runnable} == {"no floor: floors carry bytes, and this cell an object"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"language": "rust"}, "codec numpy carries objects of Python's, and an end is rust"),
        ({"language": "rust>python"}, "codec numpy carries objects of Python's, and an end is rust"),
        ({"codec": "none"}, "array:20x30 is an object: name the codec that carries it, such as --codec numpy"),
        (
            {"payload": "timing"},
            "codec numpy carries objects, array:200x200 or image:1440x1080, and not timing",
        ),
        ({"device": "gpu"}, "codec numpy keeps its objects on the CPU"),
        ({"codec": "cupy"}, "codec cupy keeps its objects on the GPU"),
        (
            {"codec": "none", "payload": "timing", "device": "gpu"},
            "bytes are on the CPU: device gpu is for the objects of a codec",
        ),
        ({"payload": "array:2000x2000"}, "32000128 bytes are more than bus carries (1000000)"),
        (
            {"missing": "no Python here has both bus and torch", "get": "hopmeter build bus --framework torch"},
            "codec numpy: no Python here has both bus and torch; run `hopmeter build bus --framework torch`",
        ),
        (
            {"node": (sys.executable, "-c", 'print(\'{"array:20x30": {"missing": "torch finds no GPU here"}}\')')},
            "codec numpy: torch finds no GPU here",
        ),
        (
            {"node": (sys.executable, "-c", "import os; os.abort()")},
            "codec numpy: its framework ends the process that imports it",
        ),
    ],
)
def test_what_cannot_be_is_dropped_with_its_reason(given: dict[str, Any], reason: str) -> None:
    assert dropped(carried(**given)) == [reason]


def test_an_unknown_codec_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r'"nunpy" is not one of none, .*numpy.*pickle-in-band.*did you mean "numpy"'):
        carried(codec="nunpy")


def test_only_the_nodes_of_python_are_told_of_the_object(tmp_path: Any) -> None:
    (cell,) = (cell for cell in carried(language="python>rust>python", relays=1).cells if cell.ranked)
    place = Place("0" * 16, 0, 1, tmp_path, tmp_path, {})
    told = [(language, spec.get("object"), spec["payload"]["kind"]) for language, spec in node_specs(cell, place)]
    assert told == [("python", "array:20x30", "bytes"), ("rust", None, "bytes"), ("python", "array:20x30", "bytes")]
