"""Messages that would cost far more memory than their size are refused: lengths without content, and harmful types."""

from __future__ import annotations

import base64
import decimal
import json
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from carrying import carry

from hopmeter.codecs import CodecError, decode, encode, lookup
from hopmeter.codecs.header import pack


def refuse(node: Any, *frames: Any, match: str | None, **asked: Any) -> None:
    """Check that decoding is refused and allocates little memory in Python, NumPy and Arrow."""
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
    present = [0] * of.num_buffers
    return ["arrow.table", schema(pa.field("a", of)), rows, [[[rows, 0, present, [], None]]]]


@pytest.mark.parametrize("as_", ["pandas", "polars", "numpy", "pyarrow", None])
@pytest.mark.parametrize("rows", [2**27, 2**33, 2**62])
def test_rows_of_arrow_s_without_bytes_are_few(rows: int, as_: str | None) -> None:
    for of in (pa.null(), pa.struct([])):
        refuse(column(of, rows), match="E-ROWS", as_=as_)


def test_a_list_of_nulls_that_are_in_no_frame_is_refused() -> None:
    nulls = [2**32 - 2, 0, [0], [], None]
    of = schema(pa.field("", pa.list_(pa.null(), 2**31 - 1)))
    refuse(["arrow.array", of, [2, 0, [0], [nulls], None]], match="E-ROWS", as_="pandas")
    ends = bytes(8) + (2**31).to_bytes(8, "little")
    of = schema(pa.field("", pa.large_list(pa.null())))
    refuse(["arrow.array", of, [1, 0, [0, 1], [nulls], None]], ends, match="E-ROWS", as_="pandas")


def test_many_columns_of_nulls_count_together() -> None:
    fields = [pa.field(str(number), pa.null()) for number in range(9)]
    columns = [[[2**17 + 1, 0, [0], [], None]]] * 9
    refuse(["arrow.table", schema(*fields), 2**17 + 1, columns], match="E-ROWS")


def test_nulls_beside_bytes_arrive() -> None:
    rows = 2**20 + 5
    sent = pa.table({"a": pa.nulls(rows, pa.int8())})
    sent = sent.append_column("b", pa.nulls(rows))
    assert carry(sent).equals(sent)
    assert carry(pa.nulls(2**20)).equals(pa.nulls(2**20))
    assert carry(pl.DataFrame({"a": [None] * 9})).height == 9


@pytest.mark.parametrize("of", [pa.list_view(pa.int8()), pa.large_list_view(pa.int8())], ids=str)
def test_types_that_nobody_writes_are_refused(of: Any) -> None:
    for each in (of, pa.struct([("a", of)]), pa.list_(of)):
        with pytest.raises(CodecError, match="E-ARROW-TYPE"):
            encode(pa.array([], each))
    parts = [1, 0, [0] * of.num_buffers, [[0, 0, [0, 0], [], None]], None]
    refuse(["arrow.array", schema(pa.field("", of)), parts], match="E-ARROW-TYPE")


@pytest.mark.parametrize("as_", [None, "polars", "pandas"])
def test_addresses_of_python_s_objects_never_reach_polars(as_: str | None) -> None:
    told = {"ARROW:extension:name": "POLARS_EXTENSION_TYPE", "ARROW:extension:metadata": "1;2"}
    field = pa.field("a", pa.binary(8), metadata=told)
    for inner in (field, pa.field("a", pa.struct([field])), pa.field("a", pa.list_(pa.struct([field])))):
        node = ["arrow.table", schema(inner), 1, [[[1, 0, [0, 1], [], None]]]]
        for one in (node, ["polars.frame", node], ["polars.series", "a", node]):
            refuse(one, b"A" * 8, match="E-PYTHON-OBJECTS", as_=as_)


def test_what_polars_panics_at_is_refused_before(capfd: pytest.CaptureFixture[str]) -> None:
    wide = pa.array([decimal.Decimal("1.5")], pa.decimal256(50, 2))
    for sent in (
        wide,
        pa.chunked_array([wide]),
        pa.table({"a": wide}),
        pa.array([[decimal.Decimal("1")]], pa.list_(wide.type)),
    ):
        with pytest.raises(CodecError, match="E-FRAMEWORK-DTYPE"):
            carry(sent, as_="polars")
    assert "panicked" not in capfd.readouterr().err


def array(dtype: str, *shape: int) -> list[Any]:
    return ["array", "numpy", dtype, list(shape), "C", None]


def numbers(end: int) -> list[Any]:
    return ["pandas.range", None, 0, end, 1]


NOTHING = ["dict", []]
LONG = ["range", ["list", [0, 2**25, 1]]]
MANY = 2**23


@pytest.mark.parametrize(
    "node",
    [
        ["pandas.multi", ["list", [None]], ["list", [array("|i1", 3)]], ["list", [numbers(2**30)]]],
        ["pandas.array", ["categorical", array("|i1", 3), numbers(2**30), False]],
        ["pandas.index", None, None, ["categorical", array("|i1", 3), numbers(2**30), False]],
        ["list", [["bytes"], ["pandas.array", ["interval", "left", numbers(MANY), numbers(MANY)]]]],
        ["list", [["bytes"], *[["pandas.array", ["interval", "left", numbers(2**19), numbers(2**19)]]] * 3]],
    ],
    ids=["levels", "categories", "categories of an index", "intervals", "three times intervals"],
)
def test_ranges_whose_numbers_are_in_no_frame_are_refused(node: Any) -> None:
    refuse(node, bytes(3), match="E-ROWS")


@pytest.mark.parametrize(
    "node",
    [
        ["pandas.multi", LONG, ["list", [array("|i1", 3)]], ["list", [numbers(3)]]],
        ["pandas.multi", ["list", [None]], ["list", [LONG, array("|i1", 3)]], ["list", [numbers(3)]]],
        ["pandas.multi", ["list", [None]], ["list", [array("|i1", 3)]], ["list", [LONG]]],
        ["pandas.array", ["categorical", array("|i1", 3), LONG, False]],
        ["list", [["bytes"], ["pandas.array", ["interval", "left", LONG, LONG]]]],
        ["pandas.series", None, NOTHING, numbers(2**30), ["list", [array("|i1", 3)]]],
        ["list", [["bytes"], ["pandas.array", ["object", ["list", [1]], ["list", [LONG]]]]]],
        ["list", [["bytes"], ["range", LONG]]],
        ["list", [["bytes"], ["slice", LONG]]],
        ["image", "L", 3, 1, "bytes", LONG],
        ["xarray.variable", [LONG, NOTHING, array("|i1", 3)]],
        ["zarr", ["list", [["list", [3]], LONG]], array("|i1", 3)],
        ["zarr", ["list", [["list", [3]], ["dict", [["a", LONG]]]]], array("|i1", 3)],
    ],
)
def test_a_range_of_python_s_is_written_down_nowhere(node: Any) -> None:
    refuse(node, bytes(3), match=None)


@pytest.mark.parametrize(
    "held", [["numpy", array("<f8")], ["object", ["list", []], ["list", [0.5]]]], ids=["f8", "object"]
)
def test_one_number_is_not_made_as_many_as_the_index_is_long(held: Any) -> None:
    frames = [bytes(8)] if held[0] == "numpy" else []
    refuse(["pandas.series", None, NOTHING, numbers(2**30), held], *frames, match="E-PARTS")
    frame = ["pandas.frame", numbers(1), numbers(2**30), NOTHING, [[[0], held]]]
    refuse(frame, *frames, match="E-PARTS")


def test_long_ranges_that_are_backed_arrive() -> None:
    ends = pd.RangeIndex(2**20), pd.RangeIndex(1, 2**20 + 1)
    spans = carry(pd.arrays.IntervalArray.from_arrays(*ends))
    assert (spans.left.equals(ends[0]), spans.right.equals(ends[1])) == (True, True)
    sent = pd.MultiIndex([pd.RangeIndex(2**20 + 9), pd.Index(["a"])], [np.arange(2**20 + 9), np.zeros(2**20 + 9, "i1")])
    assert type(carry(sent).levels[0]) is pd.RangeIndex
    sent = pd.CategoricalIndex(pd.Categorical.from_codes([0], pd.RangeIndex(2**20 + 9)))
    assert carry(sent).equals(sent)
    assert len(carry(pd.RangeIndex(2**40))) == 2**40


def test_chunks_of_dask_s_are_counted_before_they_are_listed() -> None:
    lookup.import_package("dask.array", "dask")  # the cost of the import does not count
    chunks = ["list", [["list", [1] * 10] for _ in range(9)]]
    refuse(["dask", chunks, ["list", []]], match="E-PARTS")
