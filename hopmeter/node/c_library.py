"""Loads the C library that a transport's Rust crate provides for other languages.

`hopmeter build` copies the C library to the node directory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopmeter.node.contract import HEADER_BYTES, AdapterError
from hopmeter.system import paths

READ, WRITE = 0x100, 0x200  # PyBUF_READ, PyBUF_WRITE
SLOT_BITS = 16
SLOT_MASK = (1 << SLOT_BITS) - 1
MOST_VIEWS = 8192

Signatures = Mapping[str, tuple[Any, Sequence[Any]]]
"""The result type and argument types of each function, by its name without the prefix."""

NOTHING = -1
"""The result of a function that found no frame or no free memory. A smaller result means that the function failed."""

_VIEWER = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
view_memory: Callable[[int, int, int], memoryview] = _VIEWER(("PyMemoryView_FromMemory", ctypes.pythonapi))
"""A function that returns a memoryview for an address, a length in bytes, and READ or WRITE."""


class CFunctions:
    """The functions of a C library as attributes of an object. The attributes are named like the C functions, but
    without their prefix."""

    def __init__(self, library: ctypes.CDLL, prefix: str, signatures: Signatures) -> None:
        for name, (result, arguments) in signatures.items():
            function = getattr(library, prefix + name)
            function.restype, function.argtypes = result, list(arguments)
            setattr(self, name, function)

    def demand(self, result: int | None) -> int:
        """Check the result of a C function, a handle or a count, and return the result.

        Raises an AdapterError that contains the library's message if the C function failed.
        """
        if result is not None and result >= NOTHING:
            return result
        raise AdapterError(self.error().decode(), self.remedy().decode())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(name)


def load_library(transport: str, signatures: Signatures) -> tuple[CFunctions, CFunctions]:
    """Load `libhopmeter_NAME.so`, and return two objects that provide the library's functions.

    The functions of the first object are faster, because they keep the interpreter lock. The functions of the second
    object release the lock, which is necessary if they wait.
    """
    file, prefix = f"libhopmeter_{transport}.so", f"hopmeter_{transport}_"
    found = next((folder / file for folder in paths.node_folders() if (folder / file).exists()), None)
    if found is None:
        raise AdapterError(f"{file} is not built", f"run `hopmeter build {transport} --language rust`")
    kinds = ctypes.PyDLL(str(found)), ctypes.CDLL(str(found))
    keeping, releasing = (CFunctions(library, prefix, signatures) for library in kinds)
    return keeping, releasing


class SlotViews:
    """Memoryviews of frames in equal-sized memory slots, cached by slot number and length."""

    def __init__(self, frame: Callable[[int], int], flags: int) -> None:
        """Create views of the frames. `flags` (READ or WRITE) says whether the views are read-only or writable. `frame`
        is a function that takes a slot number and returns the address of the frame in that slot."""
        self._first = frame(0)
        self._distance = frame(1) - self._first
        self._flags = flags
        self._views: dict[int, memoryview] = {}

    def view(self, word: int) -> memoryview:
        """Return the frame that `word` describes: the low bits are the slot number, and the high bits are the payload
        length."""
        view = self._views.get(word)
        return self._new(word) if view is None else view

    def _new(self, word: int) -> memoryview:
        if len(self._views) >= MOST_VIEWS:
            self._views.clear()
        at = self._first + (word & SLOT_MASK) * self._distance
        view = view_memory(at, HEADER_BYTES + (word >> SLOT_BITS), self._flags)
        self._views[word] = view
        return view
