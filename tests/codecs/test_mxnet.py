"""Tests for MXNet arrays, in MXNet's separate environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carrying import addresses, carry, copy_frames, framework, lies_in

from hopmeter.codecs import CodecError, decode, encode

framework("mxnet")
import mxnet as mx  # noqa: E402 (not where it is not installed)

KINDS = [mx.nd.NDArray, mx.np.ndarray]
SHAPES: list[tuple[int, ...]] = [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]
SHARED = ["uint8", "int32", "int64", "float16", "float32", "float64"]


def make_array(kind: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Return an array of the given MXNet type."""
    numbers = (np.arange(int(np.prod(shape))) % 7).reshape(shape).astype(dtype)
    with mx.util.np_shape(True):
        return (mx.nd if kind is mx.nd.NDArray else mx.np).array(numbers, dtype=dtype)


def address(array: Any) -> int:
    place = mx.base.ctypes.c_void_p()
    mx.base.check_call(mx.base._LIB.MXNDArrayGetData(array.handle, mx.base.ctypes.byref(place)))
    return place.value or 0


@pytest.mark.parametrize("kind", KINDS, ids=["nd", "np"])
@pytest.mark.parametrize("dtype", [*SHARED, "int8", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dtype_and_shape_comes_back_equal(kind: Any, dtype: str, shape: tuple[int, ...]) -> None:
    array = make_array(kind, shape, dtype)
    back = carry(array)
    with mx.util.np_shape(True):
        assert type(back) is kind
        assert np.dtype(back.dtype) == dtype
        assert back.shape == shape
        assert back.asnumpy().tolist() == array.asnumpy().tolist()


@pytest.mark.parametrize("kind", KINDS, ids=["nd", "np"])
@pytest.mark.parametrize("dtype", SHARED)
def test_frames_are_the_arrays_memory_and_the_result_the_buffers(kind: Any, dtype: str) -> None:
    array = make_array(kind, (16, 16), dtype)
    frames = encode(array)
    assert lies_in(address(array), frames)
    there = copy_frames(frames)
    back = decode(there)
    assert [address(back)] == [start for start, _ in addresses(there)]


def test_a_picture_of_bytes_stays_one_of_bytes() -> None:
    picture = np.arange(48, dtype="uint8").reshape(4, 4, 3)
    back = carry(picture, as_="mxnet")
    assert back.dtype == np.uint8
    assert back.asnumpy().tolist() == picture.tolist()


def test_an_array_may_be_received_as_mxnets_and_back() -> None:
    for array in (np.arange(6, dtype=">f4"), np.asfortranarray(np.ones((2, 3), "f4")), np.zeros((0, 2), "f4")):
        there = carry({"a": array}, as_="mxnet")["a"]
        assert there.asnumpy().tolist() == array.tolist()
        assert carry(there, as_="numpy").tolist() == array.tolist()


def test_read_only_memory_is_copied_not_written_to() -> None:
    frames = [bytes(frame) for frame in encode(np.arange(12, dtype="f4"))]
    assert not lies_in(address(decode(frames, as_="mxnet")), frames)


def test_what_mxnet_lacks_is_refused() -> None:
    for dtype in ("uint16", "complex64", "M8[s]"):
        with pytest.raises(CodecError, match="E-FRAMEWORK-DTYPE"):
            carry(np.ones(3).astype(dtype), as_="mxnet")
    with pytest.raises(CodecError, match="dense"):
        encode(make_array(mx.nd.NDArray, (2, 2), "float32").tostype("csr"))


def test_the_array_outlives_its_frames() -> None:
    arrays = [carry(make_array(mx.nd.NDArray, (64, 64), "float32")) for _ in range(50)]
    assert all(float(array.asnumpy().sum()) == float(arrays[0].asnumpy().sum()) for array in arrays)
