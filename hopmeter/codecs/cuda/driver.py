"""Calls the libcuda.so.1 functions for memory handles, via ctypes. Tests replace libcuda.so.1 with a fake library.

Devices are numbered as this process and its frameworks see them (CUDA_VISIBLE_DEVICES).
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from hopmeter.codecs.errors import CodecError

LIBRARY = "libcuda.so.1"
DLPACK_DEVICE = 2
"""DLPack's device type for CUDA GPU memory (kDLCUDA)."""
HANDLE_BYTES = 64
COPY = "let the sender copy: `encode(obj)` without share"
ORDINAL, EXPORTABLE = 9, 10
"""The numbers of the pointer attributes CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL and …_IS_LEGACY_CUDA_IPC_CAPABLE."""
LAZY_PEER_ACCESS = 1


class Handle(ctypes.Structure):
    """The C struct CUipcMemHandle, which is passed by value."""

    _fields_ = [("reserved", ctypes.c_char * HANDLE_BYTES)]


class Uuid(ctypes.Structure):
    """The C struct CUuuid."""

    _fields_ = [("bytes", ctypes.c_char * 16)]


_numbers, _sizes = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_size_t)
_pointers, _addresses = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint64)
CALLS: dict[str, tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuGetErrorName": (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)),
    "cuDeviceGetCount": (_numbers,),
    "cuDeviceGet": (_numbers, ctypes.c_int),
    "cuDeviceGetUuid": (ctypes.POINTER(Uuid), ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (_pointers, ctypes.c_int),
    "cuCtxPushCurrent_v2": (ctypes.c_void_p,),
    "cuCtxPopCurrent_v2": (_pointers,),
    "cuCtxSynchronize": (),
    "cuPointerGetAttribute": (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64),
    "cuMemGetAddressRange_v2": (_addresses, _sizes, ctypes.c_uint64),
    "cuMemcpyDtoH_v2": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t),
    "cuIpcGetMemHandle": (ctypes.POINTER(Handle), ctypes.c_uint64),
    "cuIpcOpenMemHandle_v2": (_addresses, Handle, ctypes.c_uint),
    "cuIpcCloseMemHandle": (ctypes.c_uint64,),
}
NEWER = {"cuDeviceGetUuid": "cuDeviceGetUuid_v2"}
"""Newer functions that are preferred if the driver has them. cuDeviceGetUuid_v2 distinguishes the MIG partitions of a
GPU."""


def driver() -> Driver:
    """Return this process's driver. Raises CodecError if the machine has no driver, or if the driver finds no GPU."""
    return _load(LIBRARY)


@functools.cache
def _load(path: str) -> Driver:
    return Driver(path)


class Driver:
    """The CUDA driver functions.

    Each function runs in its device's primary context, which all frameworks use. Raises CodecError if a function fails.
    """

    def __init__(self, path: str) -> None:
        try:
            self._library = ctypes.CDLL(path)
            self._functions = {name: self._function(name) for name in CALLS}
        except (OSError, AttributeError) as cause:
            raise CodecError("E-GPU-DRIVER", f"the NVIDIA driver is missing: {cause}", COPY) from cause
        self._contexts: dict[int, Any] = {}
        self._call("cuInit", 0)
        self.uuids = [self._uuid(ordinal) for ordinal in range(self._count())]
        """The 16-byte UUID of each GPU that this process sees."""

    def ordinal_of(self, address: int) -> int:
        """Return the number of the GPU that owns an address. Raises CodecError if CUDA does not know the address."""
        return self._attribute(address, ORDINAL)

    def is_exportable(self, address: int) -> bool:
        """Return whether CUDA IPC can share the allocation. CUDA IPC can share only memory from cudaMalloc."""
        return bool(self._attribute(address, EXPORTABLE))

    def range_of(self, address: int, ordinal: int) -> tuple[int, int]:
        """Return the start address and size of the allocation that contains an address."""
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        with self._device_context(ordinal):
            self._call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address)
        return base.value, size.value

    def settle(self, ordinal: int) -> None:
        """Wait until the GPU has finished all of this process's work, on every stream."""
        with self._device_context(ordinal):
            self._call("cuCtxSynchronize")

    def export(self, base: int, ordinal: int) -> bytes:
        """Return an allocation's 64-byte handle."""
        handle = Handle()
        with self._device_context(ordinal):
            self._call("cuIpcGetMemHandle", ctypes.byref(handle), base)
        return bytes(handle)

    def open(self, handle: bytes, ordinal: int) -> int:
        """Map another process's allocation, and return its address in this process."""
        base = ctypes.c_uint64()
        with self._device_context(ordinal):
            given = Handle.from_buffer_copy(handle)
            self._call("cuIpcOpenMemHandle_v2", ctypes.byref(base), given, LAZY_PEER_ACCESS)
        return base.value

    def close(self, base: int, ordinal: int) -> None:
        """Unmap an allocation that `open` mapped."""
        with self._device_context(ordinal):
            self._call("cuIpcCloseMemHandle", base)

    def read(self, address: int, ordinal: int, target: Any) -> None:
        """Copy GPU memory into an array in host memory."""
        with self._device_context(ordinal):
            self._call("cuMemcpyDtoH_v2", target.ctypes.data, address, target.nbytes)

    def _function(self, name: str) -> Any:
        found = getattr(self._library, NEWER.get(name, name), None) or getattr(self._library, name)
        found.argtypes, found.restype = CALLS[name], ctypes.c_int
        return found

    def _call(self, name: str, *given: Any) -> None:
        result = self._functions[name](*given)
        if result:
            raise CodecError("E-GPU-DRIVER", f"{name} of the NVIDIA driver: {self._name_of(result)}", COPY)

    def _name_of(self, result: int) -> str:
        name = ctypes.c_char_p()
        self._functions["cuGetErrorName"](result, ctypes.byref(name))
        return (name.value or b"error %d" % result).decode("ascii", "replace")

    def _count(self) -> int:
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def _device(self, ordinal: int) -> int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        return device.value

    def _uuid(self, ordinal: int) -> bytes:
        uuid = Uuid()
        self._call("cuDeviceGetUuid", ctypes.byref(uuid), self._device(ordinal))
        return bytes(uuid)

    def _attribute(self, address: int, which: int) -> int:
        # The buffer has 64 bits, which is enough for every attribute, because the width of boolean attributes is not
        # documented.
        value = ctypes.c_uint64()
        self._call("cuPointerGetAttribute", ctypes.byref(value), which, address)
        return value.value

    def _device_context(self, ordinal: int) -> _Current:
        """Make the device's primary context current on this thread. The context is retained until the process exits."""
        if ordinal not in self._contexts:
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device(ordinal))
            self._contexts[ordinal] = context
        self._call("cuCtxPushCurrent_v2", self._contexts[ordinal])
        return _Current(self._functions["cuCtxPopCurrent_v2"])


class _Current:
    """A context that is current until the `with` block ends.

    A context manager made with `contextlib.contextmanager` takes three times as long.
    """

    def __init__(self, pop: Any) -> None:
        self._pop = pop

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        self._pop(ctypes.byref(ctypes.c_void_p()))
