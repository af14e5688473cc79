"""Every array comes back equal, and uses the memory in which it arrived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carrying import addresses, carry, copy_frames

from hopmeter.codecs import CodecError, decode, encode, install_hint
from hopmeter.codecs.lookup import codec_named

RECORD = np.dtype([("id", "<i4"), ("pose", ">f8", (2, 3)), ("name", "U5"), ("in", [("a", "u1"), ("b", "M8[ms]")])])
PADDED = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [3, 16], "itemsize": 32})
DTYPES = [
    *("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "g", "F", "D", "G"),
    *(">i2", ">u4", ">f8", ">c16", ">U3", ">M8[s]", "S4", "U7", "V9"),
    *("M8[ns]", "M8[25s]", "M8[D]", "M8", "m8[us]", "m8"),
    RECORD,
    PADDED,
    np.dtype([("a", "u1"), ("b", "f8")], align=True),
]
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4)]


def fill(dtype: Any, shape: tuple[int, ...]) -> Any:
    array = np.zeros(shape, dtype)
    values = np.random.default_rng(1).integers(48, 57, array.nbytes, np.uint8)
    if array.dtype.kind in "SU":
        return np.arange(array.size).astype(array.dtype).reshape(shape)
    if array.dtype.kind == "b":
        return (np.arange(array.size) % 2).astype(bool).reshape(shape)
    if array.dtype.char not in "gG" and array.dtype.names is None and array.size:
        array.reshape(-1).view(np.uint8)[:] = values
    return array


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert one.dtype.str == other.dtype.str
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dtype_and_shape_comes_back_equal(dtype: Any, shape: tuple[int, ...]) -> None:
    array = fill(dtype, shape)
    same(carry(array), array)


def test_columns_stay_columns_and_are_not_copied() -> None:
    array = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    frames = encode(array)
    assert addresses(frames)[0][0] == array.ctypes.data
    back = decode(copy_frames(frames))
    assert back.flags.f_contiguous
    assert not back.flags.c_contiguous
    same(back, array)


@pytest.mark.parametrize("cut", [np.s_[::2], np.s_[:, ::-1], np.s_[1:, 1:3], np.s_[:, 0]], ids=str)
def test_memory_that_does_not_lie_side_by_side_is_gathered(cut: Any) -> None:
    array = np.arange(20, dtype=">i4").reshape(4, 5)[cut]
    same(carry(array), np.ascontiguousarray(array))


def test_broadcast_array_is_written_out() -> None:
    same(carry(np.broadcast_to(np.float32(3), (5, 6))), np.full((5, 6), 3, np.float32))


@pytest.mark.parametrize("dtype", ["f8", ">f8", "M8[ns]", RECORD], ids=str)
def test_frames_are_the_arrays_own_memory_and_the_result_the_buffers(dtype: Any) -> None:
    array = fill(dtype, (6, 5))
    frames = encode(array)
    assert addresses(frames) == [(array.ctypes.data, array.ctypes.data + array.nbytes)]
    there = copy_frames(frames)
    back = decode(there)
    assert (back.ctypes.data, back.ctypes.data + back.nbytes) == addresses(there)[0]
    assert back.flags.writeable
    there[1][0] ^= 0xFF
    assert back.tobytes() != array.tobytes()


def test_an_array_in_read_only_memory_is_read_only() -> None:
    back = decode([bytes(frame) for frame in encode(np.arange(4))])
    assert not back.flags.writeable
    assert back.tolist() == [0, 1, 2, 3]


def test_a_first_frame_of_each_kind_is_kept_apart() -> None:
    for array in (np.zeros(8, "f8"), np.zeros(8, ">f8"), np.zeros((8, 1), "f8"), np.zeros(8, "i8"), np.zeros((1, 8)).T):
        same(carry(array), np.ascontiguousarray(array).reshape(array.shape))


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.datetime64("2024-01-01", "D"), np.str_("a"), np.bool_(True)])
def test_scalars_stay_scalars(scalar: Any) -> None:
    back = carry(scalar)
    assert type(back) is type(scalar)
    assert back == scalar


def test_masked_arrays_keep_data_mask_and_filling() -> None:
    array = np.ma.MaskedArray([1.0, 2.0, 3.0], [False, True, False], fill_value=-7.0)
    back = carry(array)
    assert back.mask.tolist() == [False, True, False]
    assert back.data.tolist() == [1.0, 2.0, 3.0]
    assert back.fill_value == -7


def test_attributes_of_masked_arrays_are_refused_by_name() -> None:
    named: Any = np.ma.array([1.0], mask=[True])
    carry(named)
    named.unit = "V"
    informed: Any = np.ma.array([1.0])
    informed._optinfo["unit"] = "V"
    for array in (named, informed, informed.copy()):
        with pytest.raises(CodecError, match=r"'unit' of a masked array .*it\.mask.*E-NO-FORM"):
            encode(array)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_record_arrays_and_matrices_keep_their_class() -> None:
    records = np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")])
    assert carry(records).b.tolist() == [2.0, 4.0]
    matrix: Any = np.asmatrix([[1, 2], [3, 4]])
    assert (carry(matrix) * matrix).tolist() == [[7, 10], [15, 22]]


@pytest.mark.parametrize("missing", [None, float("nan"), ""], ids=["None", "nan", "no missing"])
def test_strings_of_any_length(missing: Any) -> None:
    if not hasattr(np, "dtypes"):
        pytest.skip("NumPy 1 has no strings of any length")
    dtype = np.dtypes.StringDType() if missing == "" else np.dtypes.StringDType(na_object=missing)
    array = np.array([["a", "ü" * 5000], [missing, ""]], dtype)
    back = carry(array)
    assert back.dtype == dtype
    assert repr(back.tolist()) == repr(array.tolist())


@pytest.mark.parametrize("array", [np.array([{}]), np.zeros(2, [("a", "O")])], ids=["object", "struct with objects"])
def test_arrays_of_python_objects_are_refused_with_a_remedy(array: Any) -> None:
    with pytest.raises(CodecError, match=r"astype.*E-PYTHON-OBJECTS"):
        encode(array)


def test_headers_are_the_same_in_every_run() -> None:
    assert encode(np.zeros((2, 3), ">i2"))[0] == (
        b'HOPC\x01\x00\x00\x00\x01\x00\x00\x00&\x00\x00\x00["array","numpy",">i2",[2,3],"C",null]'
    )


def test_pytorch_is_torch() -> None:
    assert codec_named("pytorch") is codec_named("torch")
    if install_hint("torch"):
        with pytest.raises(CodecError, match=r"torch .*E-FRAMEWORK-MISSING"):
            carry(np.ones(3), as_="pytorch")
        return
    assert type(carry(np.ones(3), as_="pytorch")) is type(carry(np.ones(3), as_="torch"))
