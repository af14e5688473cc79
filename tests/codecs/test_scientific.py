"""Tests for Pint, Zarr and Dask objects."""

from __future__ import annotations

import json
from typing import Any

import dask.array as da
import numpy as np
import pint
import pytest
import zarr
from carrying import addresses, carry, copy_frames

from hopmeter.codecs import CodecError, decode, encode
from hopmeter.codecs.header import pack
from hopmeter.codecs.lookup import codec_named


def test_quantities_and_units_come_back_equal() -> None:
    units = pint.get_application_registry()
    speed = np.arange(3.0) * units.meter / units.second**2
    back = carry(speed)
    assert back.units == speed.units
    assert back.magnitude.tolist() == [0, 1, 2]
    assert carry(5 * units.kilogram) == 5 * units.kilogram
    assert carry(units.parse_units("km/hour")) == units.parse_units("km/hour")
    frames = encode(speed)
    assert addresses(frames)[0][0] == speed.magnitude.ctypes.data


@pytest.mark.parametrize(
    "units", [[["2**9**9", 1.0]], [["meter", 1]], [["nothing_known", 1.0]], 3, [["meter"]]], ids=str
)
def test_units_that_are_none_are_refused(units: Any) -> None:
    nodes = ["list", [["tuple", pair] for pair in units]] if isinstance(units, list) else units
    with pytest.raises(CodecError):
        decode([pack(json.dumps(["quantity", 1, nodes]), 0)])


def test_arrays_of_zarr_come_back_with_chunks_and_attributes() -> None:
    array = zarr.create_array({}, shape=(6, 4), chunks=(2, 4), dtype="f4", attributes={"a": [1]})
    array[...] = np.arange(24).reshape(6, 4)
    back = carry(array)
    assert back.chunks == (2, 4)
    assert back.attrs["a"] == [1]
    assert (back[...] == array[...]).all()
    assert type(carry(array, as_="numpy")) is np.ndarray
    with pytest.raises(CodecError, match="E-NO-CODEC"):
        encode(zarr.create_group({}))


def test_arrays_of_dask_come_back_in_their_chunks_sharing_memory() -> None:
    array = da.from_array(np.arange(30.0).reshape(5, 6), chunks=((2, 3), (4, 2))) + 1
    there = copy_frames(encode(array))
    back = decode(there)
    assert back.chunks == array.chunks
    assert (back.compute() == array.compute()).all()
    assert len(addresses(there)) == 4
    assert {chunk.ctypes.data for chunk in dict(back.dask).values()} == {start for start, _ in addresses(there)}
    unknown = da.from_array(np.arange(6), chunks=3)
    assert carry(unknown[unknown > 1]).compute().tolist() == [2, 3, 4, 5]
    assert type(carry(array, as_="numpy")) is np.ndarray


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.zeros((0, 2)), np.array(5)], ids=lambda one: str(one.shape)
)
def test_an_array_may_be_received_by_each(array: Any) -> None:
    kinds = {"dask": da.Array, "zarr": zarr.Array, "pint": pint.Quantity}
    for name, kind in kinds.items():
        back = carry(array, as_=name)
        assert isinstance(back, kind)
        assert (back.shape, back.dtype) == (array.shape, array.dtype)
        plain = codec_named(name).FORM.read(back)
        assert np.asarray(plain).tolist() == array.tolist()
        with pytest.raises(CodecError, match="E-NO-DEVICE"):
            carry(array, as_=name, device="gpu")
    assert carry(array, as_="pint").unitless


def test_an_array_received_by_dask_is_not_copied() -> None:
    there = copy_frames(encode(np.arange(9.0)))
    (chunk,) = dict(decode(there, as_="dask").dask).values()
    assert chunk.ctypes.data == addresses(there)[0][0]


def test_what_is_of_a_framework_stays_so_where_that_is_asked_for() -> None:
    speed = np.ones(3) * pint.get_application_registry().meter
    assert type(carry(speed, as_="pint").magnitude) is np.ndarray
    array = da.ones((4, 4), chunks=2)
    assert carry(array, as_="dask").chunks == array.chunks
    assert carry(zarr.array(np.ones(4)), as_="zarr")[...].tolist() == [1, 1, 1, 1]
    assert isinstance(carry(zarr.array(np.ones(4)), as_="dask"), da.Array)


def test_lies_about_chunks_are_refused() -> None:
    head, *rest = encode(da.ones((4, 4), chunks=2))
    for lie in (b"[2,3]", b"[9,2]"):
        forged = head.replace(b"[2,2]", lie, 1)
        with pytest.raises(CodecError):
            decode([forged, *rest])
