"""Each flow of a workload has its own codec, device, share, images and objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.images.decoded import Decoded
from hopmeter.images.source import Source
from hopmeter.manifest import Manifest, Readiness, codec_interpreter
from hopmeter.manifest.interpreter import Interpreter
from hopmeter.model.cell import Cell
from hopmeter.plan.payloads import object_sizes
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.spec import TrialContext, node_specs
from hopmeter.plan.topology import codecs_of_node
from hopmeter.plan.workloads.workload_cells import rows_of
from tests.coded import lacking
from tests.images.made import image, pixels

from .capabilities import capabilities, make_plan, transport

BUS = transport("bus", max_payload_bytes=1_000_000)
SIZES = {"array:20x30": 5000, "image:8x4": 300}
PARTICIPANTS = {"camera": {}, "viewer": {}, "logger": {"language": "rust"}}
FLOWS: dict[str, dict[str, Any]] = {
    "frames": {"from": "camera", "to": "viewer", "rate": 30, "payload": "image:8x4", "codec": "numpy"},
    "numbers": {"from": "viewer", "to": "camera", "after": "frames", "payload": "array:20x30", "codec": "pillow"},
    "raw": {"from": "camera", "to": "logger", "rate": 30, "payload": "bytes:700"},
    "pixels": {"from": "camera", "to": "logger", "rate": 30, "payload": "image:10x6"},
}


@pytest.fixture(autouse=True)
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every node report the size of an object from its payload, and disable the size cache."""
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))

    def weigh(_: list[str], payloads: list[str]) -> tuple[dict[str, tuple[int, str]], bool]:
        return {each: (SIZES.get(each, 0), "" if each in SIZES else "no such object") for each in payloads}, True

    monkeypatch.setattr(object_sizes, "_weigh", weigh)


def cell(manifest: Manifest = BUS, missing: str = "", flow: dict[str, Any] | None = None, **given: Any) -> Cell:
    """Return the workload's cell over one transport; `flow` changes keys of the workload's flows."""

    def carrier(one: Manifest, codec: str) -> Readiness:
        absent = "no Python has it" if codec == missing else ""
        return Readiness(one.name, "python", ready=not absent, missing=absent, get="hopmeter build", command=("node",))

    flows = {name: {**keys, **(flow or {}).get(name, {})} for name, keys in FLOWS.items()}
    table = {
        "participant": PARTICIPANTS,
        "flow": flows,
        "duration": "2s",
        "wait": "block",
        "language": "python",
        **given,
    }
    where = replace(capabilities(manifest, machine=Machine((0, 1, 2, 3))), carrier=carrier)
    (found,) = [each for each in make_plan(where, **{"language": "python", **table}).cells if each.comparison.ranked]
    return found


def specs(one: Cell, **given: Any) -> list[dict[str, Any]]:
    place = TrialContext("0" * 16, 0, 1, Path("/d"), Path("/s"), {}, **given)
    return [spec for _, spec in node_specs(one, place)]


def test_each_flow_has_the_size_of_its_own_object() -> None:
    one = cell()
    assert not one.dropped
    assert {row.flow: row.carriage.payload_bytes for row in rows_of(one)} == {
        "": 5000,
        "frames": 300,
        "numbers": 5000,
        "raw": 700,
        "pixels": 180,
    }


def test_the_row_of_a_flow_has_its_codec_and_only_a_flow_of_bytes_is_touched() -> None:
    axes = {row.flow: row.axes for row in rows_of(cell())}
    found = {name: (one.codec, one.device, one.share, one.touch) for name, one in axes.items() if name}
    assert found == {
        "frames": ("numpy", "cpu", "none", "none"),
        "numbers": ("pillow", "cpu", "none", "none"),
        "raw": ("none", "cpu", "none", "write"),
        "pixels": ("none", "cpu", "none", "write"),
    }


def test_the_nodes_of_python_know_the_object_of_each_flow() -> None:
    told = [
        [(flow["number"], flow.get("codec"), flow.get("object"), flow["payload"]["kind"]) for flow in spec["flows"]]
        for spec in specs(cell())
    ]
    frames, numbers = (0, "numpy", "image:8x4", "bytes"), (1, "pillow", "array:20x30", "bytes")
    raw, shown = (2, None, None, "bytes"), (3, None, None, "image")
    assert told == [[frames, numbers, raw, shown], [frames, numbers], [raw, shown]]


def test_a_node_runs_with_the_codecs_of_its_own_flows() -> None:
    assert [codecs_of_node(cell(), number) for number in range(3)] == [("numpy", "pillow"), ("numpy", "pillow"), ()]


def picture(payload: str, file: str) -> Decoded:
    size = (10, 6) if "one" in payload else (8, 4)
    return Decoded(Source("image", Path(payload)), Path(file), "png", size, size, frames=2, crc32=0)


def test_each_flow_has_the_picture_of_its_own_file(tmp_path: Path) -> None:
    one = f"image:{image(tmp_path / 'one.png', pixels()[0])}"
    two = f"image:8x4:{image(tmp_path / 'two.png', pixels()[1])}"
    flow = {"pixels": {"payload": one}, "raw": {"payload": two}, "frames": {"payload": two}}
    pictures = {one: picture(one, "/d/0.rgb8"), two: picture(two, "/d/1.rgb8")}
    camera, *_ = specs(cell(flow=flow), pictures=pictures)
    told = {
        each["number"]: (each.get("payload_file"), each["payload_bytes"], each["payload"]) for each in camera["flows"]
    }
    assert told[3] == ("/d/0.rgb8", 180, {"kind": "image", "width": 10, "height": 6})
    assert told[2] == ("/d/1.rgb8", 96, {"kind": "image", "width": 8, "height": 4})
    assert told[0] == (None, 300, {"kind": "bytes"})
    assert camera["flows"][0]["object"] == "image:8x4:2:/d/1.rgb8"


OWN = {"waits": ["block"], "library": "L", "objects": ["numpy"]}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"participant": PARTICIPANTS | {"viewer": {"language": "rust"}}},
            "D-CODEC-LANGUAGE flow frames: numpy rust",
        ),
        ({"flow": {"raw": {"payload": "array:20x30"}}}, "D-PAYLOAD flow raw: array:20x30 codec"),
        ({"flow": {"numbers": {"payload": "timing"}}}, "D-PAYLOAD flow numbers: pillow timing"),
        ({"flow": {"raw": {"device": "gpu"}}}, "D-DEVICE flow raw: gpu codec"),
        ({"flow": {"frames": {"device": "gpu"}}}, "D-DEVICE flow frames: numpy CPU"),
        ({"flow": {"frames": {"share": "cuda-ipc"}}}, "D-SHARE flow frames: cuda-ipc gpu"),
        ({"flow": {"numbers": {"payload": "array:9x9"}}}, "D-NO-OBJECT flow numbers: pillow object"),
        ({"missing": "pillow"}, "D-CODEC-MISSING flow numbers: pillow `hopmeter build`"),
        ({"manifest": transport("bus", max_payload_bytes=4000)}, "D-TOO-LARGE flow numbers: 5000 4000"),
        (
            {
                "manifest": transport(
                    "bus", max_payload_bytes=9000, languages={"python": OWN, "rust": OWN | {"objects": []}}
                )
            },
            "D-OWN-ENCODERS flow numbers: numpy pillow",
        ),
    ],
)
def test_a_flow_that_cannot_be_drops_the_workload_as_it_would_drop_a_cell(given: dict[str, Any], reason: str) -> None:
    assert lacking(cell(**given).dropped, reason) == []


def test_a_transport_that_encodes_itself_does_so_for_the_flows_with_a_codec() -> None:
    python = {"waits": ["block"], "library": "L", "objects": ["numpy", "pillow"]}
    rust = {"waits": ["block"], "library": "L"}
    one = cell(transport("bus", max_payload_bytes=9000, languages={"python": python, "rust": rust}))
    assert not one.dropped
    own = {row.flow: row.carriage.own_encoders for row in rows_of(one) if row.flow}
    assert own == {"frames": True, "numbers": True, "raw": False, "pixels": False}


def test_one_language_is_python_where_there_is_an_object() -> None:
    languages = [each.language for each in cell(language="one").workload.participants]  # type: ignore[union-attr]
    assert languages == ["python", "python", "rust"]


def test_the_size_of_an_object_does_not_set_tables_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [row.group for row in rows_of(cell())]
    monkeypatch.setitem(SIZES, "image:8x4", 304)
    assert [row.group for row in rows_of(cell())] == before
    other = cell(flow={"raw": {"payload": "bytes:701"}})
    assert not {row.group for row in rows_of(other)} & set(before)


def test_a_participant_needs_one_python_for_all_its_codecs(monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = {codec: Interpreter(Path(codec), ()) for codec in ("numpy", "pillow")}
    monkeypatch.setattr(codec_interpreter, "interpreter", lambda codec, _: pythons[codec])
    has = {("numpy", "numpy"), ("pillow", "pillow")}
    monkeypatch.setattr(codec_interpreter, "has", lambda found, codec: (found.program.name, codec) in has)
    assert lacking(cell().dropped, "D-CODECS-APART flow frames: participant camera: numpy pillow") == []
    has.add(("pillow", "numpy"))
    assert not cell().dropped
    assert codec_interpreter.common_codec(["numpy", "pillow"], BUS.offers["python"]) == "pillow"
