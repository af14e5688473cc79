"""Arrow and Polars tables and arrays arrive equal and uncopied, or are refused because of their buffers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from carrying import addresses, carry, copy_frames, lies_in

from hopmeter.codecs import CodecError, decode, encode

ARRAYS = [
    pa.array([1.5, None, 3]),
    pa.array([1, 2, 3], pa.int16()),
    pa.array([True, None, False]),
    pa.array(["a", None, "ü" * 40]),
    pa.array(["a", None, "ü" * 40], pa.large_string()),
    pa.array(["a", None, "ü" * 40], pa.string_view()),
    pa.array([b"11", b"22"], pa.binary(2)),
    pa.array([0, None], pa.timestamp("ns", "Europe/Berlin")),
    pa.array([None, None]),
    pa.array([], pa.float32()),
    pa.array([[1, 2], None, []]),
    pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2)),
    pa.array([{"a": 1, "b": ["x"]}, None, {"a": 3, "b": []}]),
    pa.array(["x", "y", "x", None]).dictionary_encode(),
    pa.array([[{"a": "x"}], None]),
    pa.array(range(20))[3:9],
    pa.array(["a", "bb", None, "dddd"])[1:],
    pa.array([[1], [2, 3], [4]])[1:],
]


def test_metadata_within_a_type_is_the_array_s_own() -> None:
    for word in ("one", "other"):
        array = pa.array([{"a": 1}], pa.struct([pa.field("a", pa.int8(), metadata={"unit": word})]))
        assert carry(array).type.field(0).metadata == {b"unit": word.encode()}


def table() -> Any:
    return pa.table({str(number): array.slice(0, 2) for number, array in enumerate(ARRAYS[:8])})


def test_tables_batches_schemas_tensors_and_buffers_come_back_equal() -> None:
    sent = table().replace_schema_metadata({"a": "b"})
    assert carry(sent).equals(sent, check_metadata=True)
    assert carry(pa.concat_tables([sent, sent])).equals(pa.concat_tables([sent, sent]))
    batch = sent.to_batches()[0]
    assert carry(batch).equals(batch)
    assert carry(sent.schema).equals(sent.schema, check_metadata=True)
    tensor = pa.Tensor.from_numpy(np.arange(6.0).reshape(2, 3))
    assert carry(tensor).equals(tensor)
    assert carry(pa.py_buffer(b"bytes")).equals(pa.py_buffer(b"bytes"))
    assert carry(pa.table({})).num_rows == 0


def test_frames_are_arrows_buffers_and_the_result_the_receivers() -> None:
    array = pa.array(np.arange(1000.0))
    frames = encode(array)
    assert [start for start, _ in addresses(frames)] == [array.buffers()[1].address]
    there = copy_frames(frames)
    assert decode(there).buffers()[1].address == addresses(there)[0][0]


def test_lies_about_arrows_buffers_are_refused() -> None:
    head, *rest = encode(pa.array(["a", "bb", "ccc"]))
    offsets, data = (bytearray(frame) for frame in rest[-2:])
    assert decode([head, offsets, data]).to_pylist() == ["a", "bb", "ccc"]
    offsets[4:8] = (10**6).to_bytes(4, "little")
    with pytest.raises(CodecError):
        decode([head, offsets, data])
    for lie in (b"[3,0,", b"[9,0,", b"[4611686018427387904,0,", b"[1,99,"):
        forged = head.replace(b"[3,0,", lie)
        if lie != b"[3,0,":
            with pytest.raises(CodecError):
                decode([forged[:12] + (len(forged) - 16).to_bytes(4, "little") + forged[16:], *rest])
    for short in (rest[0][:3], b""):
        with pytest.raises(CodecError):
            decode([head, short, *rest[1:]])


FRAME = {
    "number": [1, None, 3],
    "text": ["a", None, "long enough not to be kept inside the view"],
    "flag": [True, False, None],
    "list": [[1], [], None],
    "struct": [{"a": 1}, {"a": 2}, None],
}


def test_frames_of_polars_come_back_equal() -> None:
    frame = pl.DataFrame(FRAME).with_columns(
        pl.Series("cat", ["x", "y", "x"], pl.Categorical),
        pl.Series("enum", ["x", "y", None], pl.Enum(["x", "y"])),
        pl.Series("time", [0, 1, None]).cast(pl.Datetime("us", "UTC")),
    )
    back = carry(frame)
    assert back.schema == frame.schema
    assert back.equals(frame)
    series = pl.Series("name", [1.5, None])
    assert carry(series).equals(series, check_names=True)
    assert carry(pl.DataFrame()).shape == (0, 0)


SERIES = [
    pl.Series("enum", ["x", None], pl.Enum(["x", "y"])),
    pl.Series("no enum", [], pl.Enum(["x"])),
    pl.Series("named", ["x"], pl.Categorical(pl.Categories("mine"))),
    pl.Series("nested", [["x"]], pl.List(pl.Enum(["x", "y"]))),
    pl.Series("", [1.5, None]),
    pl.Series("cut", [{"a": 1}, {"a": 2}])[1:],
    pl.concat([pl.Series("pieces", ["a"]), pl.Series("pieces", ["b"])], rechunk=False),
]


@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_series_of_polars_keep_name_and_type(series: Any) -> None:
    back = carry(series)
    assert back.dtype == series.dtype
    assert back.equals(series, check_names=True, null_equal=True)
    assert carry(series, as_="pyarrow").to_pylist() == series.to_list()


@pytest.mark.parametrize("of", [pl.Int128, pl.UInt128, pl.List(pl.Int128)], ids=str)
def test_what_arrow_has_no_form_for_is_refused_with_a_remedy(of: Any) -> None:
    for obj in (pl.Series([], dtype=of), pl.DataFrame(schema={"a": of})):
        with pytest.raises(CodecError, match="cast the column"):
            encode(obj)


def test_polars_is_not_copied() -> None:
    series = pl.Series("a", np.arange(1000.0))
    frames = encode(series)
    assert lies_in(series.to_numpy().ctypes.data, frames)
    there = copy_frames(frames)
    assert lies_in(decode(there).to_numpy().ctypes.data, there)


def test_a_table_may_be_received_by_another_framework() -> None:
    sent = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert carry(sent, as_="polars").to_dict(as_series=False) == sent.to_pydict()
    assert carry(pl.DataFrame({"a": [1, 2]}), as_="pyarrow").to_pydict() == {"a": [1, 2]}
    assert carry(pa.array([1, 2]), as_="numpy").tolist() == [1, 2]
    with pytest.raises(CodecError, match=r" plain .*E-RECEIVE-AS"):
        carry(sent, as_="plain")


@pytest.mark.parametrize(
    "obj",
    [pl.LazyFrame({"a": [1]}), pl.Series([object()], dtype=pl.Object), pa.scalar(1)],
    ids=lambda obj: type(obj).__name__,
)
def test_what_is_no_data_is_refused(obj: Any) -> None:
    with pytest.raises(CodecError, match="E-NO-CODEC"):
        encode(obj)


def test_numbers_of_the_other_byte_order_keep_their_value_in_arrow() -> None:
    for shape in ((6,), (2, 3)):
        sent = np.arange(6.0).reshape(shape).astype(">f8")
        assert np.asarray(carry(sent, as_="pyarrow")).tolist() == sent.tolist()


def test_hostile_schemas_are_refused() -> None:
    from hopmeter.codecs.header import pack

    for schema in ("", "AAAA", "not base64", "/" * 400, 5):
        for node in (["arrow.array", schema, [1, 0, [0, 1], [], None]], ["arrow.schema", schema]):
            with pytest.raises(CodecError):
                decode([pack(json.dumps(node), 1), bytes(8)])


def test_arrays_that_are_alike_but_for_what_is_missing_are_told_apart() -> None:
    for _ in range(2):
        for kind in (pa.float64(), pa.int8(), pa.uint32()):
            whole = pa.array([1, 2, 3, 4], kind)
            for array in (whole, pa.array([1, None, 3, 4], kind), whole[1:], whole[:0], pa.array([], kind), whole[4:]):
                back = carry(array)
                assert back.equals(array)
                assert back.type == kind
            bare = pa.Array.from_buffers(kind, 0, [None, None])
            assert carry(bare).equals(bare)
