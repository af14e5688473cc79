"""Valid frames of every Arrow type that hopmeter encodes, for tests that corrupt them."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from hopmeter.codecs import comparison_codec, encode

REFUSED = {
    "INTERVAL_DAY_TIME": "PyArrow has no arrays of it",
    "INTERVAL_MONTHS": "PyArrow has no arrays of it",
    "LARGE_LIST_VIEW": "rows may overlap",
    "LIST_VIEW": "rows may overlap",
    "RUN_END_ENCODED": "few bytes stand for many rows",
}
"""The types that `decode` refuses, each with the reason."""

LONG = "too long to stand inside the descriptor of a view"


def arrays() -> list[Any]:
    """Return one array of each type, and variants: with nulls, sliced, nested and empty."""
    plain = [_numbers(), _moments(), _decimals(), _words()]
    found = [array for some in plain for array in some]
    found += [array[1:3] for array in found]
    return [*found, *_nested_arrays(), *_unions(), *_dictionaries(), *_extensions()]


def _numbers() -> list[Any]:
    ints = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
    kinds = [*ints, pa.float32(), pa.float64()]
    return [
        *[pa.array([1, 2, 3, 4], kind) for kind in kinds],
        pa.array([1, None, 3, 4], pa.int32()),
        pa.array(np.arange(4, dtype="f2"), pa.float16()),
        pa.array([True, None, False, True]),
        pa.nulls(4),
        pa.array([], pa.float64()),
    ]


def _moments() -> list[Any]:
    return [
        pa.array([1, None, 3], pa.date32()),
        pa.array([dt.date(2020, 1, 1), None, None], pa.date64()),
        pa.array([1, 2, None], pa.time32("ms")),
        pa.array([1, 2, None], pa.time64("ns")),
        pa.array([1, 2, None], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([1, 2, None], pa.timestamp("us")),
        pa.array([1, 2, None], pa.duration("ms")),
        pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
    ]


def _decimals() -> list[Any]:
    value = decimal.Decimal("1.5")
    kinds = [getattr(pa, f"decimal{bits}") for bits in (32, 64, 128, 256) if hasattr(pa, f"decimal{bits}")]
    return [pa.array([value, None, -value], kind(5, 2)) for kind in kinds]


def _words() -> list[Any]:
    some = ["a", None, LONG, ""]
    texts = [pa.array(some, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    raw = [word and word.encode() for word in some]
    kinds = (pa.binary(), pa.large_binary(), pa.binary_view())
    fixed = [pa.array([b"ab", None, b"cd"], pa.binary(2)), pa.array([b"", b"", None], pa.binary(0))]
    return [*texts, *[pa.array(raw, kind) for kind in kinds], *fixed, pa.array([], pa.string())]


def _nested_arrays() -> list[Any]:
    pairs = pa.array([{"a": 1, "b": ["x"]}, None, {"a": 3, "b": []}])
    mapped = pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int8()))
    lists = pa.array([[1, 2], None, [], [3]])
    deep = pa.struct([("a", pa.map_(pa.string(), pa.list_(pa.int8(), 1)))])
    fixed = pa.array([[1.0, 2.0], None, [5.0, 6.0]], pa.list_(pa.float64(), 2))
    return [
        *(pairs, pairs[1:], mapped, mapped[1:], lists, lists[1:3], fixed, fixed[1:]),
        pa.array([[LONG], None, ["b", LONG]], pa.large_list(pa.string_view())),
        pa.array([[], None, []], pa.list_(pa.int8(), 0)),
        pa.array([[None, None], None], pa.list_(pa.null())),
        pa.array([{}, None, {}], pa.struct([])),
        pa.array([[{"a": [("k", [1])]}], []], pa.list_(deep)),
        pa.array([], pa.list_(pa.struct([("a", pa.large_string())]))),
    ]


def _unions() -> list[Any]:
    kinds, places = pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())
    few = [pa.array([1, 2]), pa.array(["x"])]
    many = [pa.array([1, None, 2]), pa.array(["x", LONG, None])]
    dense, sparse = pa.UnionArray.from_dense(kinds, places, few), pa.UnionArray.from_sparse(kinds, many)
    codes = pa.UnionArray.from_sparse(pa.array([5, 9, 5], pa.int8()), many, ["a", "b"], [5, 9])
    return [dense, dense[1:], sparse, sparse[1:], codes, pa.StructArray.from_arrays([dense], ["u"])]


def _dictionaries() -> list[Any]:
    words = pa.array(["x", "y", "x", None]).dictionary_encode()
    kind = pa.dictionary(pa.uint8(), pa.string_view(), ordered=True)
    views = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.uint8()), pa.array([LONG, "b"], kind.value_type))
    return [words, words[1:], views, pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), words)]


def _extensions() -> list[Any]:
    tensor = pa.fixed_shape_tensor(pa.int8(), [2, 1])
    return [
        pa.ExtensionArray.from_storage(tensor, pa.array([[1, 2], [3, 4]], tensor.storage_type)),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16), None], pa.binary(16))),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, None, 1], pa.int8())),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None])),
        pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "mine", "me"), pa.array([1, None], pa.int8())),
    ]


def ids(of: Any) -> Iterator[int]:
    yield of.id
    if isinstance(of, pa.BaseExtensionType):
        yield from ids(of.storage_type)
    elif pa.types.is_dictionary(of):
        yield from ids(of.value_type)
    else:
        for number in range(of.num_fields):
            yield from ids(of.field(number).type)


def objects() -> list[Any]:
    """Return all kinds of objects that are sent as Arrow memory: arrays, tables, pandas and Polars frames."""
    each = arrays()
    table = pa.table({str(number): array for number, array in enumerate(each) if len(array) == 3})
    plain = pa.table({"a": [1.5, 2.5], "b": ["x", LONG], "c": [True, None]})
    return [
        *each,
        *[pa.chunked_array([array, array]) for array in each[::3]],
        *(table, plain, table.to_batches()[0], plain.schema, pa.table({"a": pa.nulls(3)}).select([])),
        *(pa.Tensor.from_numpy(np.arange(6.0).reshape(2, 3)), pa.py_buffer(b"bytes")),
        *(*_of_polars(), *_of_pandas(plain)),
    ]


def _of_polars() -> list[Any]:
    frame = pl.DataFrame(
        {
            "number": [1, None, 3],
            "text": ["a", None, LONG],
            "list": [[LONG], [], None],
            "struct": [{"a": 1}, {"a": 2}, None],
            "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y"])),
            "cat": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int8, 2)),
        }
    )
    return [frame, frame[1:], *frame.get_columns()]


def _of_pandas(table: Any) -> list[Any]:
    backed = table.to_pandas(types_mapper=pd.ArrowDtype)
    words = pd.Series(["a", None, LONG], dtype="string")
    spans = pd.DataFrame({"i": pd.interval_range(0, 2), "p": pd.period_range("2020", periods=2, freq="M")})
    return [backed, words, pd.Categorical(["a", "b", "a"]), table.to_pandas(), pa.Table.from_pandas(spans)]


def messages() -> list[tuple[str, list[bytes]]]:
    """Return the encoded frames, each with its codec name."""
    own = [("", [bytes(frame) for frame in encode(sent)]) for sent in objects()]
    codec = comparison_codec("arrow-ipc")
    tables = [pa.table({"a": array}) for array in arrays()]
    sent = [*tables, np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3), "i2"))]
    return own + [("arrow-ipc", [bytes(frame) for frame in codec.encode(one)]) for one in sent]
