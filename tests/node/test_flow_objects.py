"""Each flow of a node has its own objects, but equal objects exist only once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.node.payloads.flow_objects import FlowObjects
from hopmeter.node.payloads.native_objects import NativeObjects
from hopmeter.node.payloads.objects import Frames, Objects

PLAIN = """
class Transport:
    def __init__(self, setup): ...
"""
ENCODING = PLAIN + "    def carry(self, objects): ...\n"


def flow(number: int, codec: str | None = "numpy", made_of: str = "array:20x30") -> dict[str, Any]:
    return (
        {"number": number} if codec is None else {"number": number, "codec": codec, "device": "cpu", "object": made_of}
    )


def objects_of(folder: Path, *flows: dict[str, Any], adapter: str = PLAIN) -> FlowObjects:
    """Return the objects of a node that sends each flow over a link and makes calls with flow 1."""
    place = folder / "example/python"
    place.mkdir(parents=True)
    (place / "adapter.py").write_text(adapter)
    ends = [{"flow": each["number"], "in": [], "out": [f"l{each['number']}"]} for each in flows]
    names = ["l0", "l1.request", "l1.reply", "l2"]
    links = {link: {"name": f"run_{link.replace('.', '_')}"} for link in names}
    return FlowObjects({"flows": list(flows), "endpoints": ends, "links": links}, place)


def test_each_flow_with_a_codec_has_its_own_object(tmp_path: Path) -> None:
    made = objects_of(tmp_path, flow(0), flow(1, None), flow(2, "pillow", "image:8x4"))
    assert made.numbers == [0, 2]
    numbers, image = made.make(0), made.make(2)
    assert numbers.obj.shape == (20, 30)
    assert image.obj.size == (8, 4)
    assert not numbers.is_right(image.obj, thoroughly=False)


def test_flows_with_the_same_object_share_it(tmp_path: Path) -> None:
    made = objects_of(tmp_path, flow(0), flow(1), flow(2, "pickle-in-band"))
    first, same, other = (made.make(number) for number in range(3))
    assert isinstance(first, Objects)
    assert first.obj is same.obj
    assert first.obj is not other.obj, "another codec, whose framework may make another object"


def test_flows_with_the_same_video_send_its_frames_each_in_its_own_order(tmp_path: Path) -> None:
    np.random.default_rng(7).integers(0, 256, (3, 4, 8, 3), dtype=np.uint8).tofile(tmp_path / "frames.rgb8")
    moving = f"frames:8x4:3:{tmp_path / 'frames.rgb8'}"
    made = objects_of(tmp_path, flow(0, made_of=moving), flow(1, made_of=moving))
    first, second = made.make(0), made.make(1)
    assert isinstance(first, Frames) and isinstance(second, Frames)
    assert [first.encode()[0], second.encode()[0], first.encode()[0], second.encode()[0]] == [0, 0, 1, 1]


@pytest.mark.parametrize("number", [0, 1])
def test_a_transport_that_encodes_gets_the_object_of_each_link(tmp_path: Path, number: int) -> None:
    made = objects_of(tmp_path, flow(0), flow(1), flow(2, None), adapter=ENCODING)
    native = made.make(number)
    assert isinstance(native, NativeObjects)
    names = {0: {"run_l0"}, 1: {"run_l1_request", "run_l1_reply"}}[number]
    assert set(made.by_link) == names
    assert all(each is native for each in made.by_link.values())
