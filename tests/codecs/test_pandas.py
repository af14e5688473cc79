"""pandas frames come back equal via NumPy and via Arrow, and blocks are not copied."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from carrying import addresses, carry, copy_frames, is_installed, lies_in

from hopmeter.codecs import CodecError, decode, encode

INDEXES = [
    pd.RangeIndex(2, 8, 2, name="r"),
    pd.Index([3.5, np.nan, 1], name=("a", 1)),
    pd.Index(["x", None, "y"]),
    pd.Index([1, "x", None], dtype=object),
    pd.date_range("2024", periods=3, freq="h", tz="Europe/Berlin"),
    pd.to_datetime(["2024-01-01", None, "2023-05-05"]),
    pd.to_timedelta([1, 2, 3], unit="s"),
    pd.period_range("2024-01", periods=3, freq="M"),
    pd.IntervalIndex.from_breaks([0, 1, 2, 3], closed="left"),
    pd.CategoricalIndex(["a", "b", "a"], categories=["b", "a"], ordered=True),
    pd.Index(["a", "b", "c"], dtype=object),
    pd.Index(["a", None, "c"], dtype=object),
    pd.Index([1, 2, 3], dtype=object),
    pd.MultiIndex.from_arrays([pd.Index(["a", "b", "a"], dtype=object), [1, 2, 3]]),
    pd.CategoricalIndex(pd.Categorical.from_codes([0, 1, 0], pd.Index(["b", "a"], dtype=object))),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("a", 2)], names=["x", None]),
]
COLUMNS: dict[str, Any] = {
    "float": [1.5, np.nan, 3],
    "int": [1, 2, 3],
    "small": np.array([1, 2, 3], "u1"),
    "int again": [4, 5, 6],
    "bool": [True, False, True],
    "text": ["a", None, "ü"],
    "object": pd.Series(["a", 1, None], dtype=object),
    "object text": pd.Series(["a", None, "b"], dtype=object),
    "object numbers": pd.Series([1, 2, 3], dtype=object),
    "python text": pd.array(["a", None, "b"], dtype=pd.StringDtype("python")),
    "arrow text": pd.array(["a", None, "b"], dtype=pd.StringDtype("pyarrow")),
    "Int64": pd.array([1, None, 3], dtype="Int64"),
    "boolean": pd.array([True, None, False], dtype="boolean"),
    "Float32": pd.array([1.5, None, 2], dtype="Float32"),
    "category": pd.Categorical(["x", None, "y"]),
    "ordered": pd.Categorical([3, 1, 3], categories=[1, 2, 3], ordered=True),
    "time": pd.to_datetime(["2024-01-01", None, "2023-05-05"]),
    "zone": pd.to_datetime(["2024-01-01", None, "2023-05-05"]).tz_localize("Asia/Tokyo"),
    "delta": pd.to_timedelta([1, 2, 3], unit="s"),
    "period": pd.period_range("2024-01", periods=3, freq="M"),
    "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]),
    "arrow int": pd.array([1, None, 3], dtype="int64[pyarrow]"),
    "arrow string": pd.array(["a", None, "c"], dtype="string[pyarrow]"),
    "arrow list": pd.Series([[1], None, []], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_comes_back_equal(name: str) -> None:
    series = pd.Series(COLUMNS[name], name=name)
    pd.testing.assert_series_equal(carry(series), series)
    pd.testing.assert_frame_equal(carry(series.to_frame()), series.to_frame())


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: type(index).__name__ + str(index.dtype))
def test_every_kind_of_index_comes_back_equal(index: Any) -> None:
    pd.testing.assert_index_equal(carry(index), index, exact=True)
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    pd.testing.assert_frame_equal(carry(frame), frame)
    pd.testing.assert_frame_equal(carry(frame.T), frame.T)


def test_mixed_frames_come_back_equal_with_their_attributes() -> None:
    frame = pd.DataFrame(COLUMNS)
    frame.attrs["unit"] = "m"
    back = carry(frame)
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == {"unit": "m"}
    for cut in (frame.iloc[::2], frame[["int", "text"]], frame.iloc[:0], pd.DataFrame(), pd.DataFrame(index=[1, 2])):
        pd.testing.assert_frame_equal(carry(cut), cut)
    twice = pd.concat([frame[["int"]], frame[["text", "int"]]], axis=1)
    pd.testing.assert_frame_equal(carry(twice), twice)


def test_one_block_is_not_copied_at_either_end() -> None:
    values = np.arange(12.0).reshape(3, 4)
    frame = pd.DataFrame(values, columns=list("abcd"), copy=False)
    frames = encode(frame)
    assert lies_in(values.ctypes.data, frames)
    there = copy_frames(frames)
    back = decode(there)
    assert back.to_numpy().ctypes.data in [start for start, _ in addresses(there)]
    back.columns.name = "mine"
    assert decode(there).columns.name is None


def test_a_frame_may_be_received_by_another_framework() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    assert carry(frame, as_="numpy").tolist() == [[1, 3], [2, 4]]
    assert carry(frame, as_="pyarrow").to_pydict() == {"a": [1, 2], "b": [3.0, 4.0]}
    if is_installed("polars"):
        assert carry(frame, as_="polars")["b"].to_list() == [3, 4]
    assert carry(np.ones((2, 2)), as_="pandas").shape == (2, 2)


def test_a_series_may_be_received_by_another_framework() -> None:
    for series, values in ((pd.Series([1.5, None], name="a"), [1.5, None]), (pd.Series(["a", None]), ["a", None])):
        assert carry(series, as_="pyarrow").to_pylist() == values
        if is_installed("polars"):
            there = carry(series, as_="polars")
            assert (there.name, there.to_list()) == (series.name or "", values)
    with pytest.raises(CodecError, match=r"numpy, pyarrow.*polars.*E-RECEIVE-AS"):
        carry(pd.Series([1]), as_="xarray")


def test_a_frame_may_be_received_with_arrows_columns() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.5], "b": ["x", None]}, index=[7, 8])
    for obj, columns in ((frame, ["a", "b"]), (np.ones((2, 2)), [0, 1])):
        there = carry(obj, as_="pandas_arrow")
        assert all(isinstance(dtype, pd.ArrowDtype) for dtype in there.dtypes)
        assert list(there.columns) == columns
        assert there.iloc[:, 0].tolist() == (obj["a"].tolist() if obj is frame else [1.0, 1.0])
    assert carry(frame, as_="pandas_arrow").index.tolist() == [7, 8]


def test_columns_of_objects_and_sparse_columns_are_refused() -> None:
    for series in (pd.Series([object()]), pd.Series([{}]), pd.Series(pd.arrays.SparseArray([0, 1]))):
        with pytest.raises(CodecError):
            encode(series)


class Table(pd.DataFrame):
    """A DataFrame with additional content, like a GeoPandas frame."""

    _metadata = ("projection",)


class Column(pd.Series):
    """A subclass of Series."""


def test_subclasses_are_refused_with_a_remedy() -> None:
    for obj, remedy in ((Table({"a": [1]}), r"pandas\.DataFrame\(it\)"), (Column([1]), r"pandas\.Series\(it\)")):
        with pytest.raises(CodecError, match=remedy):
            encode(obj)
    pd.testing.assert_frame_equal(carry(pd.DataFrame(Table({"a": [1]}))), pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    "obj",
    [
        pd.Series(["a", pd.NA], dtype=object),
        pd.Series(["a", np.float64(1)], dtype=object),
        pd.Period("2024"),
        pd.Interval(0, 1),
    ],
    ids=repr,
)
def test_what_the_documentation_says_is_refused(obj: Any) -> None:
    with pytest.raises(CodecError):
        encode(obj)


def test_random_damage_gives_a_frame_or_the_one_error() -> None:
    dice = random.Random(4)
    whole = [bytes(frame) for frame in encode(pd.DataFrame(COLUMNS))]
    for _ in range(150):
        frames = [bytearray(frame) for frame in whole]
        one = dice.choice([frame for frame in frames if frame])
        one[dice.randrange(len(one))] = dice.choice(b'019",[]ABz\x00\xff\x7f')
        try:
            assert repr(decode(frames)), "what was decoded can be read"
        except CodecError:
            continue
