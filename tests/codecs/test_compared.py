"""Tests for the comparison codecs: they carry arrays, refuse foreign frames, and are used only if requested by name."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from carrying import copy_frames

from hopmeter import codecs
from hopmeter.codecs import CodecError, comparison_codec, comparison_codecs

NAMES = [
    *("arrow-ipc", "cdr", "flatbuffers", "json-base64", "msgpack", "msgspec", "pickle-in-band", "pickle-out-of-band"),
    *("protobuf", "safetensors"),
]
SAFE = [name for name in NAMES if not name.startswith("pickle")]


def test_every_codec_is_found_by_its_file() -> None:
    assert comparison_codecs() == NAMES
    with pytest.raises(CodecError, match=r"arrow-ipc.*E-UNKNOWN-CODEC"):
        comparison_codec("pickle")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4), np.zeros((2, 3, 3), "u1"), np.arange(3, dtype="i8")])
def test_arrays_come_back_equal(name: str, array: Any) -> None:
    codec = comparison_codec(name)
    back = codec.decode(copy_frames(codec.encode(array)))
    assert (back.dtype, back.shape, back.tolist()) == (array.dtype, array.shape, array.tolist())


def test_what_holds_arrays_comes_back_where_there_is_a_form_for_it() -> None:
    sent: Any = {"a": np.arange(3), "b": np.ones(2)}
    for name in ("msgpack", "msgspec", "json-base64", "safetensors", "pickle-in-band"):
        back = comparison_codec(name).decode(copy_frames(comparison_codec(name).encode(sent)))
        assert {key: value.tolist() for key, value in back.items()} == {"a": [0, 1, 2], "b": [1, 1]}
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    assert comparison_codec("arrow-ipc").decode(copy_frames(comparison_codec("arrow-ipc").encode(table))).equals(table)


@pytest.mark.parametrize("name", SAFE)
def test_what_has_no_form_and_what_was_damaged_is_refused(name: str) -> None:
    codec, dice = comparison_codec(name), random.Random(6)
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


@pytest.mark.parametrize("name", ["msgpack", "msgspec", "protobuf"])
def test_text_of_what_is_no_character_is_refused(name: str) -> None:
    codec = comparison_codec(name)
    (frame,) = codec.encode(np.array(["abc"]))
    assert codec.decode([frame]).tolist() == ["abc"]
    forged = bytes(frame).replace("a".encode("utf-32-le"), b"\xff" * 4)
    with pytest.raises(CodecError, match=r" 0x.*E-TEXT"):
        codec.decode([forged])


def test_msgspec_decodes_an_array_in_the_memory_of_its_frame() -> None:
    codec = comparison_codec("msgspec")
    (frame,) = copy_frames(codec.encode(np.arange(1000)))
    assert np.shares_memory(codec.decode([frame]), np.frombuffer(frame, "u1"))


@pytest.mark.parametrize(
    "value",
    [
        (7, b"unknown code"),
        (1, b""),
        (1, b"\xff\xff\xff\xff"),
        (1, b"\x01\0\0\0\xc0"),
        (1, b"\x0c\0\0\0" + b"\x92\xa3<i8\x91\xce\xff\xff\xff\xff" + b"1" * 8),
    ],
)
def test_an_extension_value_of_msgspec_that_is_no_array_is_refused(value: tuple[int, bytes]) -> None:
    import msgspec

    with pytest.raises(CodecError, match="E-UNDECODABLE"):
        comparison_codec("msgspec").decode([msgspec.msgpack.encode([msgspec.msgpack.Ext(*value)])])


@pytest.mark.parametrize(("old", "new"), [("named", "comparison_codec"), ("names", "comparison_codecs")])
def test_a_name_of_the_release_before_still_works_and_warns(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"codecs.{old} is now `{new}`"):
        assert getattr(codecs, old) is getattr(codecs, new)
    with pytest.raises(AttributeError, match="unheard_of"):
        _ = codecs.unheard_of  # type: ignore[attr-defined]
