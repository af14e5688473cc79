"""Slices of Arrow arrays, of every type and at every bit offset, come back equal and no larger than necessary."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from carrying import carry

from hopmeter.codecs import encode

ROWS = 40
CUTS = [(0, ROWS), (0, 4), (1, 5), (8, 9), (11, 7), (3, 0), (ROWS, 0), (ROWS - 3, 3)]
TEXT = [str(number) * number for number in range(ROWS)]
INNER = pa.struct([("f", pa.int8()), ("m", pa.map_(pa.string(), pa.int8()))])
VALUES: list[tuple[list[Any], Any]] = [
    (list(range(ROWS)), pa.int16()),
    ([number % 3 == 0 for number in range(ROWS)], pa.bool_()),
    (TEXT, pa.string()),
    (TEXT, pa.string_view()),
    ([decimal.Decimal(number) for number in range(ROWS)], pa.decimal128(9, 1)),
    ([b"%02d" % number for number in range(ROWS)], pa.binary(2)),
    ([(number, number, number) for number in range(ROWS)], pa.month_day_nano_interval()),
    ([None] * ROWS, pa.null()),
    ([{}] * ROWS, pa.struct([])),
    ([str(number % 4) for number in range(ROWS)], pa.dictionary(pa.int8(), pa.string())),
    ([[number, number + 1] for number in range(ROWS)], pa.list_(pa.int8(), 2)),
    ([[True, number % 2 == 0, False] for number in range(ROWS)], pa.list_(pa.bool_(), 3)),
    ([[{"a": number}] * (number % 3) for number in range(ROWS)], pa.list_(pa.struct([("a", pa.int8())]))),
    ([[(f"k{number}", number)] * (number % 3) for number in range(ROWS)], pa.map_(pa.string(), pa.int8())),
    (
        [{"a": number, "b": [number] * (number % 3), "e": {"f": number, "m": [("x", 1)]}} for number in range(ROWS)],
        pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int8())), ("e", INNER)]),
    ),
]


def with_gaps(values: list[Any]) -> list[Any]:
    return [None if number % 5 == 2 else value for number, value in enumerate(values)]


def unions() -> list[Any]:
    kinds = pa.array([number % 2 for number in range(ROWS)], pa.int8())
    places = pa.array([number // 2 for number in range(ROWS)], pa.int32())
    half = ROWS // 2
    dense = pa.UnionArray.from_dense(kinds, places, [pa.array(range(half)), pa.array(TEXT[:half])])
    inner = pa.array(with_gaps([{"q": number} for number in range(ROWS)]))
    return [dense, pa.UnionArray.from_sparse(kinds, [pa.array(range(ROWS)), inner])]


def arrays() -> list[Any]:
    made = [pa.array(gaps(values), of) for values, of in VALUES for gaps in (list, with_gaps)]
    made += [*unions(), pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(ROWS * 4.0).reshape(ROWS, 2, 2))]
    hidden = pa.array([number % 3 == 0 for number in range(ROWS - 5)])
    names = [str(number) for number in range(len(made))]
    return [*made, pa.StructArray.from_arrays([array.slice(5) for array in made], names, mask=hidden)]


@pytest.mark.parametrize("array", arrays(), ids=lambda array: str(array.type)[:30])
def test_every_slice_of_every_type_comes_back_equal(array: Any) -> None:
    for start, length in CUTS:
        cut = array.slice(start, length)
        for sent in (cut, array.slice(1).slice(max(start - 1, 0), length), pa.chunked_array([cut, array])):
            for _ in range(2):  # the second message uses the cached schema of the first
                back = carry(sent)
                assert back.equals(sent)
                assert back.to_pylist() == sent.to_pylist()
        table = pa.table({"a": array}).slice(start, length)
        assert carry(table).equals(table)
        assert carry(table.to_batches()).__repr__() == table.to_batches().__repr__()


def sent_bytes(obj: Any) -> int:
    return sum(memoryview(frame).nbytes for frame in encode(obj)[1:])


@pytest.mark.parametrize(
    "array",
    [
        pa.array(np.arange(100_000.0)),
        pa.array([1.5, None] * 10_000),
        pa.array([{"a": 1}, None] * 10_000),
        pa.array([[1, 2], None] * 10_000, pa.list_(pa.int8(), 2)),
        pa.array(["b", None] * 10_000).dictionary_encode(),
        pa.table({"a": np.arange(100_000.0), "b": np.arange(100_000)}),
    ],
    ids=["numbers", "gaps", "structs", "pairs", "words", "table"],
)
def test_of_a_slice_of_one_width_only_its_bytes_travel(array: Any) -> None:
    for _ in range(2):
        assert sent_bytes(array.slice(5001, 12)) < 300
        assert sent_bytes(array.slice(0, 12)) < 300


def test_a_slice_of_structs_in_pandas_comes_back_equal() -> None:
    series = pd.Series([{"a": 1}, {"a": 2}], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())])))[1:]
    pd.testing.assert_series_equal(carry(series), series)
