"""What costs the receiver more than the message has bytes is refused: lengths without bytes, types that do harm."""

from __future__ import annotations

import base64
import decimal
import json
import tracemalloc
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from carrying import carried

from hopmeter.codecs import CodecError, decode, encode
from hopmeter.codecs.header import pack


def refused(node: Any, *frames: Any, match: str, **asked: Any) -> None:
    """With little memory of Python's or NumPy's, and little of Arrow's."""
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    with pytest.raises(CodecError, match=match):
        decode([pack(json.dumps(node), len(frames)), *frames], **asked)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000
    assert pool.bytes_allocated() - before < 10_000_000


def schema(*fields: Any) -> str:
    return base64.b64encode(pa.schema(list(fields)).serialize()).decode()


def column(of: Any, rows: int) -> list[Any]:
    """A table of one column without any frame."""
    present = [0] * of.num_buffers
    return ["arrow.table", schema(pa.field("a", of)), rows, [[[rows, 0, present, [], None]]]]


@pytest.mark.parametrize("as_", ["pandas", "polars", "numpy", "pyarrow", None])
@pytest.mark.parametrize("rows", [2**27, 2**33, 2**62])
def test_rows_of_arrow_s_without_bytes_are_few(rows: int, as_: str | None) -> None:
    for of in (pa.null(), pa.struct([])):
        refused(column(of, rows), match="rows that are in no frame", as_=as_)


def test_a_list_of_nulls_that_are_in_no_frame_is_refused() -> None:
    nulls = [2**32 - 2, 0, [0], [], None]
    of = schema(pa.field("", pa.list_(pa.null(), 2**31 - 1)))
    refused(["arrow.array", of, [2, 0, [0], [nulls], None]], match="in no frame", as_="pandas")
    ends = bytes(8) + (2**31).to_bytes(8, "little")
    of = schema(pa.field("", pa.large_list(pa.null())))
    refused(["arrow.array", of, [1, 0, [0, 1], [nulls], None]], ends, match="in no frame", as_="pandas")


def test_many_columns_of_nulls_count_together() -> None:
    fields = [pa.field(str(number), pa.null()) for number in range(9)]
    columns = [[[2**17 + 1, 0, [0], [], None]]] * 9
    refused(["arrow.table", schema(*fields), 2**17 + 1, columns], match="in no frame")


def test_nulls_beside_bytes_arrive() -> None:
    rows = 2**20 + 5
    sent = pa.table({"a": pa.nulls(rows, pa.int8())})
    sent = sent.append_column("b", pa.nulls(rows))
    assert carried(sent).equals(sent)
    assert carried(pa.nulls(2**20)).equals(pa.nulls(2**20))
    assert carried(pl.DataFrame({"a": [None] * 9})).height == 9


@pytest.mark.parametrize("of", [pa.list_view(pa.int8()), pa.map_(pa.int8(), pa.int8())], ids=["views", "map"])
def test_types_that_nobody_writes_are_refused(of: Any) -> None:
    for each in (of, pa.struct([("a", of)]), pa.list_(of)):
        with pytest.raises(CodecError, match="no form on the wire"):
            encode(pa.array([], each))
    parts = [1, 0, [0] * of.num_buffers, [[0, 0, [0, 0], [], None]], None]
    refused(["arrow.array", schema(pa.field("", of)), parts], match="no form on the wire")


@pytest.mark.parametrize("as_", [None, "polars", "pandas"])
def test_addresses_of_python_s_objects_never_reach_polars(as_: str | None) -> None:
    told = {"ARROW:extension:name": "POLARS_EXTENSION_TYPE", "ARROW:extension:metadata": "1;2"}
    field = pa.field("a", pa.binary(8), metadata=told)
    for inner in (field, pa.field("a", pa.struct([field])), pa.field("a", pa.list_(pa.struct([field])))):
        node = ["arrow.table", schema(inner), 1, [[[1, 0, [0, 1], [], None]]]]
        for one in (node, ["polars.frame", node], ["polars.series", "a", node]):
            refused(one, b"A" * 8, match="Python objects", as_=as_)


def test_what_polars_panics_at_is_refused_before(capfd: pytest.CaptureFixture[str]) -> None:
    wide = pa.array([decimal.Decimal("1.5")], pa.decimal256(50, 2))
    for sent in (
        wide,
        pa.chunked_array([wide]),
        pa.table({"a": wide}),
        pa.array([[decimal.Decimal("1")]], pa.list_(wide.type)),
    ):
        with pytest.raises(CodecError, match="256 bits"):
            carried(sent, as_="polars")
    assert "panicked" not in capfd.readouterr().err
