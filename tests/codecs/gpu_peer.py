"""A process that lends memory of a real GPU: `python gpu_peer.py FRAMEWORK KEPT`.

The process reads one JSON command per line, answers each with one line, and exits at the end of its input.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import numpy as np

from hopmeter.codecs import Lender, encode
from hopmeter.codecs.lookup import codec_named
from hopmeter.node.payloads import forms


def gpu_object(framework: str, array: Any) -> Any:
    """Copy an array to the GPU as a framework's object."""
    return codec_named(framework).FORM.make(array, forms.place_of(framework, "gpu"))


def address(obj: Any) -> int:
    for word in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(obj, word):
            return int(getattr(obj, word)())
    return int(obj.data.ptr)


def managed_array(array: Any) -> Any:
    """Return a CuPy array in managed memory, which has no handle."""
    import cupy

    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        return cupy.asarray(array)


def stream_ordered_array(array: Any) -> Any:
    """Return a CuPy array allocated with cudaMallocAsync, which has no handle."""
    import cupy

    with cupy.cuda.using_allocator(cupy.cuda.malloc_async):
        return cupy.asarray(array)


class Peer:
    def __init__(self, framework: str, kept: int) -> None:
        self._framework, self._lender = framework, Lender(kept)
        self._objects: dict[str, Any] = {}

    def lend(self, values: Any, dtype: str = "f4", name: str = "one", make: str = "") -> dict[str, Any]:
        """Lend `{"t": values}` on the GPU under a name, and return the frames."""
        array = np.array(values, dtype)
        obj = globals()[make](array) if make else gpu_object(self._framework, array)
        self._objects[name] = obj
        return self._frames({"t": obj})

    def lend_again(self, name: str = "one") -> dict[str, Any]:
        """Return the frames of the same object once more."""
        return self._frames({"t": self._objects[name]})

    def _frames(self, obj: Any) -> dict[str, Any]:
        frames = encode(obj, self._lender)
        return {"frames": [bytes(frame).hex() for frame in frames], "copied": dict(self._lender.copied)}

    def change(self, at: int, value: float, name: str = "one") -> dict[str, Any]:
        """Overwrite one 32-bit number, as the owner may, on the framework's current stream."""
        obj = self._objects[name]
        if self._framework in ("torch", "cupy"):
            obj[at] = value
        else:
            import cupy

            view = cupy.from_dlpack(obj)
            view[at] = value
        self._settle()
        return {}

    def drop(self, name: str = "one") -> dict[str, Any]:
        """Drop a reference to an object, so that only the lender may still hold it."""
        del self._objects[name]
        gc.collect()
        return {}

    def held(self) -> dict[str, Any]:
        """Return how many loans the receivers hold."""
        return {"held": self._lender.held}

    def close(self) -> dict[str, Any]:
        self._lender.close()
        return {}

    def _settle(self) -> None:
        from hopmeter.codecs.cuda.driver import driver

        driver().settle(0)


def main() -> None:
    peer = Peer(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(getattr(peer, asked.pop("do"))(**asked)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
