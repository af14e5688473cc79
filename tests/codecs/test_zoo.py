"""A codec returns an identical object, or refuses the object with its own error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from carrying import copy_frames
from identical import identical
from zoo import ZOO
from zoo_arrays import (
    ALIGNED,
    EMPTY_FIELDS,
    META,
    NESTED_ALIGNED,
    NESTED_RECORD,
    NESTED_TITLE,
    OVERLAPPING,
    PADDED,
    RECORD,
    SWAPPED,
    TITLED,
    fill,
)

from hopmeter.codecs import CodecError, comparison_codec, decode, encode

ALWAYS = ("number", "text", "container", "time", "identifier")
"""Groups of objects that hopmeter's codec must carry without exception."""
DTYPES = (
    TITLED,
    NESTED_TITLE,
    ALIGNED,
    NESTED_ALIGNED,
    PADDED,
    SWAPPED,
    OVERLAPPING,
    RECORD,
    NESTED_RECORD,
    EMPTY_FIELDS,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ZOO)
def test_hopmeters_codec_carries_an_object_exactly_or_refuses_it_with_a_remedy(name: str) -> None:
    sent: Any = ZOO[name]()
    try:
        frames = encode(sent)
    except CodecError as refused:
        assert refused.remedy
        assert name.split()[0] not in ALWAYS
        return
    assert identical(decode(copy_frames(frames)), sent)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_property_of_a_structure_arrives(dtype: Any) -> None:
    assert identical(decode(copy_frames(encode(fill(dtype)))), fill(dtype))


def test_what_numpy_calls_equal_is_not_taken_for_each_other() -> None:
    plain = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16})
    assert plain == ALIGNED
    for dtype in (plain, ALIGNED, plain):
        assert identical(decode(copy_frames(encode(fill(dtype)))), fill(dtype))
    assert encode(np.zeros(3))
    with pytest.raises(CodecError, match=r"unit.*E-DTYPE"):
        encode(np.zeros(3, META))


COMPARED = ("msgpack", "msgspec", "json-base64", "arrow-ipc", "safetensors", "flatbuffers", "protobuf", "cdr")


def change_of(codec: Any, sent: Any) -> str:
    """Return how a codec changed an object that it should have refused, or an empty string if it was refused or
    identical."""
    try:
        frames = codec.encode(sent)
    except CodecError as refused:
        return "" if refused.remedy else f"no remedy: {refused}"
    back = codec.decode(copy_frames(frames))
    return "" if identical(back, sent) else f"{back!r:.100}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPARED)
def test_a_codec_for_comparison_carries_an_object_exactly_or_refuses_it(name: str) -> None:
    codec = comparison_codec(name)
    changes = {one: change_of(codec, make()) for one, make in ZOO.items()}
    assert {one: change for one, change in changes.items() if change} == {}


CARRIED: dict[str, list[Any]] = {
    "msgpack": [{"a": [1, -0.0, None, True, "ü", b"b"], 2**64 - 1: {}}, {"image": np.zeros((2, 2)), b"k": 1}],
    "msgspec": [
        {"a": [1, -0.0, None, True, "ü", b"b"], 2**64 - 1: {}},
        {"image": np.zeros((2, 2)), b"k": 1},
        {"data": 1},
    ],
    "json-base64": [{"a": [1, -0.0, None, True, "\ud800", 2**70]}, [np.array(["ü"]), np.zeros((0, 2), ">f8")]],
    "arrow-ipc": [np.array(5.0), np.asfortranarray(np.ones((2, 3), "f2")), np.arange(9.0)[::-2]],
    "safetensors": [np.array(5.0), {}, {"b": np.ones((2, 3)), "a": np.zeros(2, "u1")}, np.arange(9)[::-2]],
    "flatbuffers": [np.zeros(2, "M8[25s]"), np.array("text")],
    "cdr": [np.zeros(2, "M8[25s]"), np.array("text")],
    "protobuf": [np.zeros(2, TITLED), np.zeros((2, 0, 3))],
}


@pytest.mark.parametrize("name", CARRIED)
def test_what_a_codec_for_comparison_can_represent_still_arrives(name: str) -> None:
    codec = comparison_codec(name)
    for sent in CARRIED[name]:
        assert identical(codec.decode(copy_frames(codec.encode(sent))), sent)


@pytest.mark.parametrize(
    ("name", "sent", "message"),
    [
        ("msgpack", {"a": [1, (2,)]}, r'msgpack cannot represent tuple, at obj\["a"\]\[1\]'),
        (
            "msgpack",
            {"x": {"dtype": 1, "shape": 2, "data": 3}},
            r'keys are those of an array\), at obj\["x"\] \(rename',
        ),
        ("msgpack", {"a": 2**64}, r"int \(the integer is too large\)"),
        ("msgpack", {"a": np.float64(1)}, r"numpy.float64"),
        ("msgpack", ["\ud800"], r"surrogate\), at obj\[0\]"),
        ("msgspec", {"a": [1, (2,)]}, r'msgspec cannot represent tuple, at obj\["a"\]\[1\]'),
        ("msgspec", {"a": 2**64}, r"int \(the integer is too large\)"),
        ("json-base64", {1: 2}, r"int \(as a key\), at obj\[1\]"),
        ("json-base64", {"a": {"__numpy__": "x"}}, r'array\), at obj\["a"\]'),
        ("json-base64", [float("nan")], r"JSON has no such number\), at obj\[0\]"),
        ("json-base64", {"m": np.ma.array([1, 2], mask=[0, 1])}, r'numpy.ma.MaskedArray, at obj\["m"\]'),
        ("arrow-ipc", np.zeros(2, ">f8"), r"dtype >f8 and shape \(2,\): it would arrive as float64"),
        ("arrow-ipc", np.zeros(2, "?"), r"it would arrive as"),
        ("safetensors", {"array": np.zeros(2)}, r"keys are those of an array"),
        ("safetensors", {"a": np.zeros(2), "b": np.zeros(2, "M8[s]")}, r'datetime64.*at obj\["b"\]'),
        ("safetensors", {"a": np.zeros(2, "u1"), "b": np.zeros(2)}, r"order the arrays: b, a"),
        ("safetensors", {"a": {"b": np.zeros(2)}}, r"nested deeper than 1 levels"),
        ("protobuf", np.ma.array([1]), r"MaskedArray"),
        ("pickle-in-band", {"f": lambda: 1}, r"pickle cannot represent dict"),
        ("pickle-out-of-band", memoryview(b"a"), r"pickle cannot represent memoryview"),
    ],
)
def test_a_codec_for_comparison_says_what_it_cannot_represent_and_where(name: str, sent: Any, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        comparison_codec(name).encode(sent)


def test_tables_and_tensors_of_arrow_arrive_as_they_are() -> None:
    codec = comparison_codec("arrow-ipc")
    tensor = pa.Tensor.from_numpy(np.ones((2, 3)), dim_names=["x", "y"])
    back = codec.decode(copy_frames(codec.encode(tensor)))
    assert type(back) is pa.Tensor
    assert back.equals(tensor)
    assert back.dim_names == ["x", "y"]
    words = pa.field("a", pa.dictionary("i1", "str", ordered=True), metadata={"k": "v"})
    times = pa.field("t", pa.timestamp("s", "CET"))
    columns = [pa.array(["x"]).dictionary_encode().cast(words.type), pa.array([1], times.type)]
    table = pa.Table.from_arrays(columns, schema=pa.schema([words, times], {"m": "n"}))
    for sent in (table, table.slice(0, 0), pa.table({"a": [1] * 5}).select([]), pa.table({"a": pa.nulls(3)})):
        assert codec.decode(copy_frames(codec.encode(sent))).equals(sent, check_metadata=True)
    with pytest.raises(CodecError, match="RecordBatch"):
        codec.encode(table.to_batches()[0])
