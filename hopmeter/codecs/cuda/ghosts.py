"""NumPy arrays over GPU memory. Each of these NumPy arrays has the address, shape, strides and dtype of a GPU tensor,
but the host cannot read its values.

Frameworks exchange GPU memory via DLPack. If a DLPack capsule names the host as its device, NumPy creates an array
without reading the memory. Arrays are passed to frameworks in NumPy's own capsules, which release the memory even
during interpreter shutdown.
"""

from __future__ import annotations

import ctypes
from typing import Any

from hopmeter.codecs import arrays
from hopmeter.codecs.cuda import driver
from hopmeter.codecs.errors import CodecError

DEVICE, CODE, BITS = 8, 20, 21
"""The byte offsets of a DLTensor's device (two 32-bit integers) and dtype (code and bits, one byte each)."""
HOST = 1
UNSIGNED, BFLOAT = 1, 4
BFLOAT16 = "bfloat16"

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def _tensor(capsule: Any) -> int:
    """Return the address of the DLTensor in a capsule. The layout of DLPack's first version never changes."""
    return int(_pointer(capsule, b"dltensor"))


def _place(tensor: int) -> Any:
    return (ctypes.c_int32 * 2).from_address(tensor + DEVICE)


def of_capsule(capsule: Any) -> tuple[Any, str | None]:
    """Return an array over a capsule's memory, and the dtype's name if NumPy lacks the dtype.

    Raises CodecError if the memory is not on a CUDA GPU.
    """
    tensor = _tensor(capsule)
    place, code = _place(tensor), ctypes.c_uint8.from_address(tensor + CODE)
    if place[0] != driver.DLPACK_DEVICE:
        raise CodecError("E-GPU-NOT-LENDABLE", f"this memory is not only on a GPU (DLPack device {place[0]})")
    place[:] = (HOST, 0)
    raw = (code.value, ctypes.c_uint8.from_address(tensor + BITS).value) == (BFLOAT, 16)
    if raw:
        code.value = UNSIGNED
    return arrays.from_capsule(capsule), BFLOAT16 if raw else None


class Ghost:
    """GPU memory that frameworks can import via DLPack."""

    def __init__(self, array: Any, device: int, raw: str) -> None:
        self.array, self.device, self._raw = array, device, raw

    def __dlpack__(self, **_: Any) -> Any:
        # The receiver's stream does not have to wait, because the sender waited before sending the handle.
        capsule = self.array.__dlpack__()
        tensor = _tensor(capsule)
        _place(tensor)[:] = (driver.DLPACK_DEVICE, self.device)
        if self._raw == BFLOAT16:
            ctypes.c_uint8.from_address(tensor + CODE).value = BFLOAT
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (driver.DLPACK_DEVICE, self.device)
