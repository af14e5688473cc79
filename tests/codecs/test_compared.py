"""The codecs to compare with carry arrays, refuse what they did not write, and are asked for by name only."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from carrying import received

from hopmeter.codecs import CodecError, named, names

NAMES = ["arrow-ipc", "json-base64", "msgpack", "pickle-in-band", "pickle-out-of-band", "protobuf", "safetensors"]
SAFE = [name for name in NAMES if not name.startswith("pickle")]


def test_every_codec_is_found_by_its_file() -> None:
    assert names() == NAMES
    with pytest.raises(CodecError, match="known are arrow-ipc"):
        named("pickle")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4), np.zeros((2, 3, 3), "u1"), np.arange(3, dtype="i8")])
def test_arrays_come_back_equal(name: str, array: Any) -> None:
    codec = named(name)
    back = codec.decode(received(codec.encode(array)))
    assert (back.dtype, back.shape, back.tolist()) == (array.dtype, array.shape, array.tolist())


def test_what_holds_arrays_comes_back_where_there_is_a_form_for_it() -> None:
    sent: Any = {"a": np.arange(3), "b": np.ones(2)}
    for name in ("msgpack", "json-base64", "safetensors", "pickle-in-band"):
        back = named(name).decode(received(named(name).encode(sent)))
        assert {key: value.tolist() for key, value in back.items()} == {"a": [0, 1, 2], "b": [1, 1]}
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    assert named("arrow-ipc").decode(received(named("arrow-ipc").encode(table))).equals(table)


@pytest.mark.parametrize("name", SAFE)
def test_what_has_no_form_and_what_was_damaged_is_refused(name: str) -> None:
    codec, dice = named(name), random.Random(6)
    with pytest.raises(CodecError):
        codec.encode(object())
    whole = [bytes(frame) for frame in codec.encode(np.arange(20.0))]
    for frames in ([], [b""], [whole[-1][:20]], [b"\xff" * 40, b"\xff" * 40]):
        with pytest.raises(CodecError):
            codec.decode(frames)
    for _ in range(300):
        frames = [bytearray(frame) for frame in whole]
        one = frames[-1]
        one[dice.randrange(len(one))] = dice.randrange(256)
        try:
            assert repr(codec.decode(frames)), "what was decoded can be read"
        except CodecError:
            continue


@pytest.mark.parametrize("name", ["msgpack", "protobuf"])
def test_text_of_what_is_no_character_is_refused(name: str) -> None:
    codec = named(name)
    (frame,) = codec.encode(np.array(["abc"]))
    assert codec.decode([frame]).tolist() == ["abc"]
    forged = bytes(frame).replace("a".encode("utf-32-le"), b"\xff" * 4)
    with pytest.raises(CodecError, match="character 0x"):
        codec.decode([forged])
