"""A process that lends memory of a fake GPU: `python cuda_peer.py LIBRARY FRAMEWORK KEPT`.

The process reads one JSON command per line, answers each with one line, and exits at the end of its input.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from hopmeter.codecs import Lender, arrays, encode, lookup, writing
from hopmeter.codecs.cuda import driver, nodes
from hopmeter.codecs.lookup import codec_named

ALLOCATION = 1 << 16


def pretend(library: str) -> None:
    """Replace the CUDA driver with the fake library, whose memory is host memory also for DLPack."""
    driver.LIBRARY, driver.DLPACK_DEVICE = library, 1
    driver._load.cache_clear()


def fake() -> Any:
    """Return the fake library, for functions that only tests call."""
    library = ctypes.CDLL(driver.LIBRARY)
    library.fake_alloc.restype = ctypes.c_uint64
    library.fake_alloc.argtypes = (ctypes.c_size_t, ctypes.c_char, ctypes.c_int)
    return library


def allocate(exportable: bool = True, device: str = "A") -> int:
    """Return the address of memory that is never freed."""
    return int(fake().fake_alloc(ALLOCATION, device.encode(), exportable))


def memory(address: int, shape: Any, dtype: str, order: Any = "C") -> Any:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(address), 0, None, order)


class Tensor:
    """A tensor for a Python without any tensor framework; the tensor is encoded like a NumPy array."""

    def __init__(self, array: Any, device: int = 0) -> None:
        self.array, self.device = array, device

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _write(obj: Any, frames: Any, depth: int) -> str:
    del depth
    lent = nodes.lend_tensor(obj, frames, "numpy") if isinstance(frames, writing.Lending) else None
    return lent or arrays.write(obj.array, frames)


writing._writers[Tensor] = _write


def _import_ghost(ghost: Any) -> Tensor:
    assert np.from_dlpack(ghost).ctypes.data == ghost.array.ctypes.data
    return Tensor(ghost.array, ghost.device)


PLAIN = SimpleNamespace(
    __name__="plain.lent",
    ROOTS=(),
    READERS={},
    from_array=lambda _: Tensor,
    from_device=lambda _: _import_ghost,
)
"""Functions that receive the tensors without a copy, for the framework `lent`."""


def tensor(framework: str, array: Any) -> Any:
    if framework == "lent":
        return Tensor(array)
    if framework == "cupy":
        ghost = SimpleNamespace(array=array, device=0)
        return codec_named("cupy").from_device(None)(ghost)
    ghost = nodes.ghosts.Ghost(array, 0, "")
    return codec_named(framework).from_device(arrays.Wanted("", None, None))(ghost)


class Peer:
    def __init__(self, framework: str, kept: int) -> None:
        self._framework, self._lender = framework, Lender(kept)
        self._bases: dict[str, int] = {}

    def lend(self, base: str = "one", at: int = 0, **told: Any) -> dict[str, Any]:
        """Lend `[values]` at an offset of a named allocation, and return the frames."""
        key = base + told.get("device", "")
        if key not in self._bases:
            self._bases[key] = allocate(told.get("exportable", True), told.get("device", "A"))
        values = np.array(told["values"], told.get("dtype", "f4"))
        array = memory(self._bases[key] + at, values.shape, values.dtype.str, told.get("order", "C"))
        array[...] = values
        frames = encode({"t": tensor(self._framework, array)}, self._lender)
        return {"frames": [bytes(frame).hex() for frame in frames], "copied": dict(self._lender.copied)}

    def change(self, base: str, at: int, value: float) -> dict[str, Any]:
        """Overwrite one 32-bit number in an allocation, as its owner may."""
        memory(self._bases[base] + at, (1,), "f4")[0] = value
        return {}

    def held(self) -> dict[str, Any]:
        """Return how many loans the receivers hold, and how often each driver function was called."""
        return {"held": self._lender.held, "synchronized": fake().fake_calls(b"synchronize")}

    def close(self) -> dict[str, Any]:
        self._lender.close()
        return {}


def main() -> None:
    pretend(sys.argv[1])
    os.environ["FAKE_CUDA"] = "AB"
    if sys.argv[2] == "cupy":
        cupy_with_a_gpu()
    lookup.codecs()["lent"] = PLAIN  # type: ignore[assignment]
    peer = Peer(sys.argv[2], int(sys.argv[3]))
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(getattr(peer, asked.pop("do"))(**asked)) + "\n")
        sys.stdout.flush()


def cupy_with_a_gpu() -> None:
    """Make CuPy find a GPU; CuPy's own library for counting GPUs finds none."""
    codec: Any = codec_named("cupy")
    codec._count = lambda _: 1


if __name__ == "__main__":
    main()
