"""Objects that `encode` accepts arrive equal; all other objects are refused before they are sent."""

from __future__ import annotations

import datetime as dt
import uuid
import zoneinfo
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
import zarr
from carrying import carry
from PIL import Image

from hopmeter.codecs import CodecError, encode


def zone(**offset: int) -> dt.timezone:
    return dt.timezone(dt.timedelta(**offset))


def times(of: Any) -> Any:
    return pd.Series(pd.to_datetime(["2024-07-01"]).tz_localize(of))


def zarr_array(shape: tuple[int, ...], chunks: tuple[int, ...], dtype: Any = "i4") -> Any:
    return zarr.create_array({}, shape=shape, chunks=chunks, dtype=dtype)


def with_attributes(obj: Any, attributes: dict[str, Any]) -> Any:
    made = obj.copy()
    made.attrs = attributes
    return made


GRID = xr.DataArray([1, 2], {"x": ("x", [1, 2], {"unit": "m"}), "m": ("x", [5, 6])}, "x")
FIXED = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12.0).reshape(3, 2, 2))
TEXT = pd.DataFrame({"a": [1.0]}, index=pd.Index(["x"], name="i"))
CARRIED: dict[str, Any] = {
    "dask without dimensions": da.ones(5).sum(),
    "dask without elements": da.ones((0, 3)),
    "the masked constant": np.ma.masked,
    "a masked number": np.ma.array(5, mask=True),
    "masked text": np.ma.array(["a"], mask=[True]),
    "masked records": np.ma.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "tensors of Arrow's": FIXED,
    "a cut of those": FIXED[1:],
    "Arrow's uuid": pa.array([b"1" * 16], pa.uuid()),
    "Arrow's bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
    "a table of those": pa.table({"a": FIXED, "b": pa.array([1, 2, 3])}),
    "a table without columns": pa.table({"a": [1] * 5}, metadata={"a": "b"}).select([]),
    "a batch without columns": pa.record_batch({"a": [1] * 5}).select([]),
    "a frame without columns": pl.DataFrame(height=5),
    "Zarr in a chunk longer than it": zarr_array((4,), (100,)),
    "Zarr without elements": zarr_array((0,), (10,)),
    "Zarr of text": zarr_array((2,), (2,), str),
    "an offset": times(zone(hours=2)),
    "an offset without an hour": times(zone(minutes=-330)),
    "a place": times("Europe/Berlin"),
    "UTC": times("UTC"),
    "UTC of Python's": times(dt.UTC),
    "UTC of the zone database": times(zoneinfo.ZoneInfo("UTC")),
    "a zone named as another": times(dt.timezone(dt.timedelta(hours=2), "CAT")),
    "an offset with seconds": times(zone(hours=2, seconds=7)),
    "a time of a place": pd.Timestamp("2024-07-01T00:00:00.123456789", tz="Europe/Berlin"),
    "a time in seconds": pd.Timestamp("2024").as_unit("s"),
    "a frame without double labels": TEXT.set_flags(allows_duplicate_labels=False),
    "a series without double labels": pd.Series([1]).set_flags(allows_duplicate_labels=False),
    "attributes of other types": with_attributes(pd.Series([1]), {"day": dt.date.min, "id": [uuid.UUID(int=5)]}),
    "names of dimensions of Arrow": pa.Tensor.from_numpy(np.ones((2, 3)), dim_names=["x", "y"]),
    "a variable that is an index": GRID.coords["x"].variable,
    "a frequency of xarray": xr.DataArray([1, 2, 3], {"t": pd.date_range("2024", periods=3, freq="D")}, "t"),
    "times of a place in xarray": xr.DataArray([1], {"t": pd.date_range("2024", periods=1, tz="Asia/Tokyo")}, "t"),
    "a fill value of Zarr": zarr.create_array({}, shape=(2,), dtype="f4", fill_value=7, dimension_names=["x"]),
    "every quarter": pd.date_range("2024", periods=3, freq="QE-FEB"),
    "every day of work": pd.date_range("2024", periods=3, freq="B"),
    "backwards": pd.date_range("2024", periods=3, freq="-1D"),
    "every 36 hours": pd.timedelta_range("1D", periods=3, freq="36h"),
    "across a change of clocks": pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin"),
    "NumPy's array in pandas": pd.arrays.NumpyExtensionArray(np.array([1, 2])),
    "text in it": pd.arrays.NumpyExtensionArray(np.array(["a", None], object)),
    "labels of text": TEXT.to_xarray(),
    "labels of objects": TEXT.set_index(pd.Index(["x"], dtype=object, name="i")).to_xarray(),
    "text as data": pd.DataFrame({"t": ["q", None]}).to_xarray(),
    "pandas's text as data": xr.Dataset({"a": ("x", pd.array(["a"], dtype="str"))}),
    "objects in a grid": xr.Dataset({"o": (("x", "y"), np.array([["a", 1], [None, 2.5]], dtype=object))}),
    "labels of periods": pd.Series([1.0], pd.period_range("2024", periods=1, freq="M", name="k")).to_xarray(),
}


def same_pandas(sent: Any, back: Any) -> bool:
    if isinstance(sent, pd.Timestamp):
        return back == sent and (back.unit, str(back.tz)) == (sent.unit, str(sent.tz))
    compare = pd.testing.assert_frame_equal if isinstance(sent, pd.DataFrame) else pd.testing.assert_series_equal
    compare(back, sent, check_flags=True)
    return bool(back.attrs == sent.attrs)


def chunks_of(obj: Any) -> list[Any]:
    names = getattr(getattr(obj, "metadata", None), "dimension_names", None)
    return [obj.chunks, obj.dtype, getattr(obj, "fill_value", None), names]


def properties_of(obj: Any) -> list[Any]:
    return [getattr(obj, name, None) for name in ("shape", "dim_names")]


def same_xarray(sent: Any, back: Any) -> bool:
    if isinstance(sent, xr.Variable):
        return bool(back.identical(sent))
    freqs = [[str(getattr(index, "freq", None)) for index in one.indexes.values()] for one in (sent, back)]
    kinds = [[(of.dtype, type(of.variable)) for of in one.coords.values()] for one in (sent, back)]
    return bool(back.identical(sent)) and freqs[0] == freqs[1] and kinds[0] == kinds[1]


def same(sent: Any, back: Any) -> bool:
    """Return whether the framework considers type, content and metadata equal."""
    if isinstance(sent, pd.DataFrame | pd.Timestamp) or (isinstance(sent, pd.Series) and sent.dtype.kind != "M"):
        return same_pandas(sent, back)
    if isinstance(sent, np.ma.MaskedArray):
        return repr(back) == repr(sent)
    if isinstance(sent, xr.DataArray | xr.Variable):
        return same_xarray(sent, back)
    if isinstance(sent, pd.Series):
        pd.testing.assert_series_equal(back, sent)
        assert (type(back.dtype.tz), str(back.dtype.tz)) == (type(sent.dtype.tz), str(sent.dtype.tz))
        return bool(
            back.dtype.tz.utcoffset(dt.datetime(2024, 7, 1)) == sent.dtype.tz.utcoffset(dt.datetime(2024, 7, 1))
        )
    if isinstance(sent, pd.Index):
        pd.testing.assert_index_equal(back, sent, exact=True)
        return bool(back.freq == sent.freq)
    if isinstance(sent, xr.Dataset):
        dtypes = [{name: index.dtype for name, index in one.indexes.items()} for one in (sent, back)]
        return bool(back.identical(sent)) and dtypes[0] == dtypes[1]
    if isinstance(sent, zarr.Array | da.Array):
        return chunks_of(back) == chunks_of(sent) and bool((back[...] == sent[...]).all())
    if isinstance(sent, pa.Table | pa.RecordBatch):
        return bool(back.equals(sent, check_metadata=True)) and back.num_rows == sent.num_rows
    return bool(back.equals(sent)) and properties_of(back) == properties_of(sent)


@pytest.mark.parametrize("name", CARRIED)
def test_what_encode_accepts_arrives_equal(name: str) -> None:
    back = carry(CARRIED[name])
    assert type(back) is type(CARRIED[name])
    assert same(CARRIED[name], back)


def test_the_masked_constant_stays_the_one_there_is() -> None:
    assert carry([np.ma.masked])[0] is np.ma.masked


class File(dt.tzinfo):
    """A time zone that is read from a file, like dateutil's time zones."""

    def utcoffset(self, _: Any) -> dt.timedelta:
        return dt.timedelta(hours=2)

    def dst(self, _: Any) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, _: Any) -> str:
        return "CEST"


def every(freq: Any) -> Any:
    return pd.date_range("2024", periods=3, freq=freq)


class OwnFrame(pl.DataFrame):
    pass


class OwnSeries(pl.Series):
    pass


class OwnArray(xr.DataArray):
    __slots__ = ()


class OwnDataset(xr.Dataset):
    __slots__ = ()


def picture(**info: Any) -> Any:
    made = Image.new("L", (2, 2))
    made.info = info
    return made


REFUSED: dict[str, tuple[Any, str]] = {
    "a class of one's own in Polars": (OwnFrame({"a": [1]}), r"polars.DataFrame\(it\)"),
    "a series of one's own in Polars": (OwnSeries("a", [1]), r"polars.Series\(it\)"),
    "an array of one's own in xarray": (OwnArray(np.ones(2)), r"xarray.DataArray\(it\)"),
    "a dataset of one's own in xarray": (OwnDataset({"a": ("x", [1])}), r"xarray.Dataset\(it\)"),
    "an index beside the dimension's": (GRID.set_xindex("m"), "'m' would not be recreated"),
    "a dimension without its index": (GRID.drop_indexes("x"), "'x' would not be recreated"),
    "an index of a range": (
        xr.Dataset(coords=xr.Coordinates.from_xindex(xr.indexes.RangeIndex.arange(0.0, 3.0, 1.0, dim="x"))),
        "would not be recreated",
    ),
    "an object in the info of a picture": (picture(file=object()), r'object, at obj.info\["file"\]'),
    "an attribute of a class": (with_attributes(TEXT, {"a": [1, File()]}), r'File, at obj.attrs\["a"\]\[1\]'),
    "a zone of one's own": (times(File()), "tz_convert"),
    "every second day of DateOffset": (every(pd.DateOffset(days=2)), "freq = None"),
    "other hours of business": (every(pd.offsets.BusinessHour(start="10:00")), "freq = None"),
    "other days of work": (every(pd.offsets.CustomBusinessDay(weekmask="Mon Tue")), "freq = None"),
    "days of work made whole": (every(pd.offsets.BDay(1, normalize=True)), "freq = None"),
    "Zarr in one vast chunk": (zarr_array((4,), (2**40,)), "send its data"),
    "an index of several levels": (xr.DataArray(np.ones((1, 1)), dims=("x", "y")).stack(z=("x", "y")), "reset_index"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_arrive_as_something_else_is_refused_before_it_is_sent(name: str) -> None:
    obj, remedy = REFUSED[name]
    with pytest.raises(CodecError, match=remedy):
        encode(obj)
