"""Objects through a real node: encoded by the source, decoded and compared by the sink, and stamped."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.codecs import CodecError, missing
from hopmeter.codecs.naming import names
from hopmeter.node.forms import codec_names, devices
from hopmeter.node.objects import Objects
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
    import hopmeter.node.objects as objects
    whole = objects.unpack
    objects.unpack = lambda received: whole(received)[:1]
"""


def here(codec: str) -> bool:
    return codec in names() or (not missing(codec) and devices(codec)[0] == "cpu")


def asked(codec: str, made_of: str = "array:20x30") -> dict[str, Any]:
    objects = Objects(codec, made_of, "cpu")
    frames = objects.encode()
    return {"codec": codec, "device": "cpu", "object": made_of, "payload_bytes": objects.payload_bytes(frames)}


def records(folder: Path, participant: int) -> list[tuple[int, ...]]:
    written = (folder / f"samples{participant}").read_bytes()
    return [RECORD.unpack_from(written, at) for at in range(HEAD, len(written), RECORD.size)]


def sink(outcome: Outcome) -> dict[str, Any]:
    assert outcome.last["say"] == "done", outcome.last
    found: dict[str, Any] = outcome.last["participants"][1]
    return found


@pytest.mark.parametrize("codec", ["numpy", "pickle-in-band"])
def test_objects_are_encoded_decoded_compared_and_stamped(measure: Measure, tmp_path: Path, codec: str) -> None:
    outcome = measure(**asked(codec))
    assert (sink(outcome)["received"], sink(outcome)["content_errors"], outcome.log) == (MESSAGES, 0, "")
    assert sink(outcome)["content_checks"] > MESSAGES
    for _, _, _, intended, sent, arrived, _, encoded, decoded in records(tmp_path, 0):
        assert intended <= sent < encoded
        assert arrived == decoded == NONE_NS
    for _, _, _, _, sent, arrived, _, encoded, decoded in records(tmp_path, 1):
        assert sent < arrived < decoded
        assert encoded == NONE_NS


@pytest.mark.parametrize(("changes", "says"), [(ALTERED, "not what was sent"), (LYING, "frames where the header")])
def test_an_object_that_arrives_altered_is_a_wrong_one(measure: Measure, changes: str, says: str) -> None:
    outcome = measure(changes, **asked("numpy"))
    assert sink(outcome)["content_errors"] == sink(outcome)["content_checks"] > MESSAGES
    assert outcome.log.count("an object arrived wrong") == 1
    assert says in outcome.log


def test_without_checksum_warm_up_and_the_last_are_compared_number_by_number(measure: Measure) -> None:
    found = sink(measure(ALTERED, checksum=False, **asked("numpy")))
    assert found["content_checks"] > MESSAGES
    assert 5 + 1 <= found["content_errors"] < MESSAGES


def test_a_payload_that_is_not_as_planned_fails_with_both_lengths(measure: Measure) -> None:
    failed = measure(**{**asked("numpy"), "payload_bytes": 100}).last
    assert "4928 bytes when it was encoded, and 100 when it was planned" in failed["error"]


def test_a_framework_that_is_not_there_fails_with_what_gets_it(measure: Measure) -> None:
    said = {"codec": "numpy", "device": "gpu", "object": "array:2x2", "payload_bytes": 100}
    assert "numpy keeps nothing on the GPU" in measure(**said).last["error"]


@pytest.mark.parametrize("codec", [name for name in codec_names() if here(name)])
@pytest.mark.parametrize("made_of", ["array:20x30", "image:32x16"])
def test_every_codec_that_is_here_carries_its_object(codec: str, made_of: str) -> None:
    objects = Objects(codec, made_of, "cpu")
    frames = objects.encode()
    payload = np.empty(objects.payload_bytes(frames), np.uint8)
    objects.write(frames, payload.data)
    assert objects.is_right(objects.decode(payload.data), thoroughly=True)
    assert not objects.is_right(np.zeros((2, 2)), thoroughly=False)


@pytest.mark.parametrize("codec", ["numpy", "pandas", "pandas_arrow", "polars", "pillow", "dask", "pickle-in-band"])
def test_a_pixel_that_differs_is_seen(codec: str) -> None:
    objects, other = Objects(codec, "image:32x16", "cpu"), Objects(codec, "image:32x16", "cpu")
    altered = other._array.copy()
    altered[3, 4, 1] ^= 1
    wrong = other._form.make(altered, "")
    assert objects.is_right(wrong, thoroughly=False)
    assert not objects.is_right(wrong, thoroughly=True)


@pytest.mark.parametrize("made_of", ["array:20x30", "image:32x16"])
def test_a_frame_that_lost_its_arrow_columns_is_a_wrong_one(made_of: str) -> None:
    objects, plain = Objects("pandas_arrow", made_of, "cpu"), Objects("pandas", made_of, "cpu")
    assert objects._object.shape == plain._object.shape
    with pytest.raises(CodecError, match="columns are not all of one type of Arrow's"):
        objects.is_right(plain._object, thoroughly=True)
