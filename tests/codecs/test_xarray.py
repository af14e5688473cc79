"""Labelled arrays arrive identical, over NumPy and over Dask."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from carrying import addresses, carry, copy_frames, lies_in

from hopmeter.codecs import CodecError, decode, encode


def labelled_array() -> Any:
    times = pd.date_range("2024", periods=3, freq="D")
    coords = {"time": times, "x": ["a", "b"], "height": ("x", [1.0, 2.0], {"unit": "m"}), "place": 7}
    return xr.DataArray(np.arange(6.0).reshape(3, 2), coords, ("time", "x"), name="heat", attrs={"unit": "K", "n": [1]})


def test_arrays_datasets_and_variables_come_back_identical() -> None:
    array = labelled_array()
    assert carry(array).identical(array)
    assert "time" in carry(array).indexes
    dataset = xr.Dataset({"heat": array, "bare": ("y", [1, 2, 3])}, attrs={"title": "t"})
    assert carry(dataset).identical(dataset)
    assert carry(array.variable).identical(array.variable)
    for bare in (xr.DataArray(5), xr.DataArray(np.zeros((0, 2))), xr.DataArray([1, 2], dims="x"), xr.Dataset()):
        assert carry(bare).identical(bare)


def test_data_is_not_copied_at_either_end() -> None:
    array = labelled_array()
    frames = encode(array)
    assert lies_in(array.data.ctypes.data, frames)
    there = copy_frames(frames)
    assert decode(there).data.ctypes.data in [start for start, _ in addresses(there)]


def test_chunks_stay_chunks() -> None:
    back = carry(xr.DataArray(da.ones((4, 4), chunks=2), dims=("x", "y")))
    assert back.chunks == ((2, 2), (2, 2))
    assert float(back.sum()) == 16


def test_a_stacked_array_without_its_index_comes_back_identical() -> None:
    array = labelled_array().drop_vars("height").stack(both=("time", "x")).reset_index("both")
    assert carry(array).identical(array)


def test_an_array_may_be_received_as_numpys() -> None:
    assert carry(labelled_array(), as_="numpy").tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(CodecError, match="E-RECEIVE-AS"):
        carry(labelled_array(), as_="pillow")
