"""Objects pass through a real node: the source encodes them, the sink decodes and compares them, and both are timed."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.codecs import CodecError, install_hint
from hopmeter.codecs.comparison import comparison_codecs
from hopmeter.node.payloads.forms import arrays_of, codec_names, devices, form_of
from hopmeter.node.payloads.objects import Frames, open_objects
from tests.node.driver import MESSAGES, Measure, Outcome

NONE_NS = -(1 << 63)
HEAD, RECORD = 4096, struct.Struct("<QIIqqqqqq")
ALTERED = """
    class Altering(Publisher):
        def send(self, payload_bytes, fill):
            frame = bytearray(64 + payload_bytes)
            fill(frame)
            frame[-1] ^= 1
            self.line.put(frame)
            return True
    Transport.publisher = lambda self, link: Altering(lines.setdefault(link.name, queue.SimpleQueue()))
"""
LYING = """
    import hopmeter.node.payloads.objects as objects
    whole = objects.unpack
    objects.unpack = lambda received: whole(received)[:1]
"""


def here(codec: str) -> bool:
    return codec in comparison_codecs() or (not install_hint(codec) and devices(codec)[0] == "cpu")


def objects_of(codec: str, made_of: str = "array:20x30") -> dict[str, Any]:
    objects: Any = open_objects(codec, made_of, "cpu")
    frames = objects.encode()
    return {"codec": codec, "device": "cpu", "object": made_of, "payload_bytes": objects.payload_bytes(frames)}


def records(folder: Path, endpoint: int) -> list[tuple[int, ...]]:
    written = (folder / f"samples{endpoint}").read_bytes()
    return [RECORD.unpack_from(written, at) for at in range(HEAD, len(written), RECORD.size)]


def sink(outcome: Outcome) -> dict[str, Any]:
    assert outcome.last["say"] == "done", outcome.last
    found: dict[str, Any] = outcome.last["endpoints"][1]
    return found


@pytest.mark.parametrize("codec", ["numpy", "pickle-in-band"])
def test_objects_are_encoded_decoded_compared_and_stamped(measure: Measure, tmp_path: Path, codec: str) -> None:
    outcome = measure(**objects_of(codec))
    assert (sink(outcome)["received"], sink(outcome)["content_errors"], outcome.log) == (MESSAGES, 0, "")
    assert sink(outcome)["content_checks"] > MESSAGES
    for _, _, _, due, sent, arrived, _, encoded, decoded in records(tmp_path, 0):
        assert due <= sent < encoded
        assert arrived == decoded == NONE_NS
    for _, _, _, _, sent, arrived, _, encoded, decoded in records(tmp_path, 1):
        assert sent < arrived < decoded
        assert encoded == NONE_NS


@pytest.mark.parametrize(
    ("changes", "says"), [(ALTERED, "differs from the sent object"), (LYING, "frames arrived, but the header")]
)
def test_an_object_that_arrives_altered_is_a_wrong_one(measure: Measure, changes: str, says: str) -> None:
    outcome = measure(changes, **objects_of("numpy"))
    assert sink(outcome)["content_errors"] == sink(outcome)["content_checks"] > MESSAGES
    assert outcome.log.count("an object did not arrive correctly") == 1
    assert says in outcome.log


def test_without_checksum_warm_up_and_the_last_are_compared_number_by_number(measure: Measure) -> None:
    found = sink(measure(ALTERED, checksum=False, **objects_of("numpy")))
    assert found["content_checks"] > MESSAGES
    assert 5 + 1 <= found["content_errors"] < MESSAGES


def test_a_payload_that_is_not_as_planned_fails_with_both_lengths(measure: Measure) -> None:
    failed = measure(**{**objects_of("numpy"), "payload_bytes": 100}).last
    assert "the encoded object has 4928 bytes, but had 100 bytes when the run was planned" in failed["error"]


def test_a_framework_that_is_not_there_fails_with_what_gets_it(measure: Measure) -> None:
    said = {"codec": "numpy", "device": "gpu", "object": "array:2x2", "payload_bytes": 100}
    assert "numpy does not support objects on the GPU" in measure(**said).last["error"]


@pytest.mark.parametrize("codec", [name for name in codec_names() if here(name)])
@pytest.mark.parametrize("made_of", ["array:20x30", "image:32x16"])
def test_every_codec_that_is_here_carries_its_object(codec: str, made_of: str) -> None:
    objects = open_objects(codec, made_of, "cpu")
    frames = objects.encode()
    payload = np.empty(objects.payload_bytes(frames), np.uint8)
    objects.write(frames, payload.data)
    assert objects.is_right(objects.decode(payload.data), thoroughly=True)
    assert not objects.is_right(np.zeros((2, 2)), thoroughly=False)


@pytest.mark.parametrize("codec", ["numpy", "pandas", "pandas_arrow", "polars", "pillow", "dask", "pickle-in-band"])
def test_a_pixel_that_differs_is_seen(codec: str) -> None:
    objects, other = open_objects(codec, "image:32x16", "cpu"), open_objects(codec, "image:32x16", "cpu")
    altered = arrays_of("image:32x16", form_of(codec))[0].copy()
    altered[3, 4, 1] ^= 1
    wrong = other._form.make(altered, "")
    assert objects.is_right(wrong, thoroughly=False)
    assert not objects.is_right(wrong, thoroughly=True)


@pytest.fixture
def video(tmp_path: Path) -> str:
    shown = np.random.default_rng(7).integers(0, 256, (3, 16, 32, 3), dtype=np.uint8)
    shown.tofile(tmp_path / "frames.rgb8")
    return f"frames:32x16:3:{tmp_path / 'frames.rgb8'}"


@pytest.mark.parametrize("codec", [name for name in codec_names() if here(name)])
def test_every_codec_carries_the_frames_of_a_file_in_their_order_over_and_over(codec: str, video: str) -> None:
    frames, planned = open_objects(codec, video, "cpu"), open_objects(codec, "frames:32x16", "cpu")
    assert isinstance(frames, Frames)
    assert isinstance(planned, Frames)
    form = form_of(codec)
    numbers = []
    for array in arrays_of(video, form) * 2:
        encoded = frames.encode()
        payload = np.empty(frames.payload_bytes(encoded), np.uint8)
        assert len(payload) == planned.payload_bytes(planned.encode()), "planned before the file was decoded"
        frames.write(encoded, payload.data)
        number, obj = frames.decode(payload.data)
        assert frames.is_right((number, obj), thoroughly=True)
        assert not frames.is_right(((number + 1) % 3, obj), thoroughly=True)
        assert frames.is_any(obj, thoroughly=True)
        assert np.array_equal(np.asarray(form.read(obj)), np.asarray(form.read(form.make(array, ""))))
        numbers.append(number)
    assert numbers == [0, 1, 2, 0, 1, 2]


def test_a_frame_that_there_is_not_is_refused(video: str) -> None:
    frames = open_objects("numpy", video, "cpu")
    assert isinstance(frames, Frames)
    payload = np.empty(frames.payload_bytes(encoded := frames.encode()), np.uint8)
    frames.write(encoded, payload.data)
    payload[-8] = 3
    with pytest.raises(CodecError, match=r"3 of 3.*E-FRAME-COUNT"):
        frames.decode(payload.data)


def test_frames_of_a_file_come_through_a_node_as_they_were_sent(measure: Measure, video: str) -> None:
    found = sink(measure(**objects_of("numpy", video)))
    assert (found["received"], found["content_errors"]) == (MESSAGES, 0)
    assert found["content_checks"] > MESSAGES


def test_a_frame_of_a_file_that_arrives_altered_is_a_wrong_one(measure: Measure, video: str) -> None:
    found = sink(measure(ALTERED.replace("frame[-1]", "frame[-9]"), **objects_of("numpy", video)))
    assert found["content_errors"] == found["content_checks"] > MESSAGES


@pytest.mark.parametrize("made_of", ["array:20x30", "image:32x16"])
def test_a_frame_that_lost_its_arrow_columns_is_a_wrong_one(made_of: str) -> None:
    objects, plain = open_objects("pandas_arrow", made_of, "cpu"), open_objects("pandas", made_of, "cpu")
    assert objects._object.shape == plain._object.shape
    with pytest.raises(CodecError, match="E-PARTS"):
        objects.is_right(plain._object, thoroughly=True)
