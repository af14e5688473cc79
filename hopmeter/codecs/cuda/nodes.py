"""The header node `["cuda.memory", array]` describes an array whose frame contains a GPU memory handle instead of the
data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices, dtypes, header
from hopmeter.codecs.checks import listing, one_of, text
from hopmeter.codecs.cuda import driver, ghosts
from hopmeter.codecs.cuda.borrowing import borrow
from hopmeter.codecs.cuda.lending import log
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import codec_named
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Lending

UNASKED = "these frames contain a handle of GPU memory, but this receiver does not accept handles"
ASK = f'on the sender\'s machine use `decode(frames, share="cuda-ipc")`, elsewhere {driver.COPY}'


def on_gpu(tensor: Any) -> bool:
    """Return whether a tensor's memory belongs to a CUDA GPU, according to DLPack."""
    try:
        return int(tensor.__dlpack_device__()[0]) == driver.DLPACK_DEVICE
    except Exception:  # noqa: BLE001 (frameworks raise different errors for devices unknown to DLPack)
        return False


def lend_tensor(tensor: Any, frames: Lending, framework: str, extra: Any = None) -> str | None:
    """Append the frame of a DLPack tensor, and return its header node.

    If the tensor must be copied instead of loaned, count the reason and return None.
    """
    try:
        if not hasattr(tensor, "__dlpack_device__") or tensor.__dlpack_device__()[0] != driver.DLPACK_DEVICE:
            return None
    except Exception as cause:  # noqa: BLE001 (the array is in several pieces, or on a device unknown to DLPack)
        frames.lender.copy(f"{framework}: {cause}")
        return None
    return lend_array(lambda: _contiguous_array(tensor), frames, framework, extra)


def _contiguous_array(tensor: Any) -> tuple[Any, str | None]:
    """Return an array over a tensor in row-major or column-major order.

    If a tensor is neither in row-major nor in column-major order, it is reordered on the GPU if the framework can do
    this.
    """
    array, dtype = ghosts.of_capsule(tensor.__dlpack__())
    if array.flags.forc or not hasattr(tensor, "contiguous"):
        return array, dtype
    return ghosts.of_capsule(tensor.contiguous().__dlpack__())


def lend_array(seen: Callable[[], Any], frames: Lending, framework: str, extra: Any = None) -> str | None:
    """Append the frame of an array over GPU memory, and return its header node, or None if the array must be copied.

    `seen` returns an array over the GPU memory, and the dtype's name if NumPy lacks the dtype.
    """
    try:
        array, dtype = seen()
        if not array.nbytes:
            return None
        if not array.flags.forc:
            raise CodecError("E-GPU-NOT-LENDABLE", "the memory of the tensor is not contiguous")
        node = arrays.array_node(array, framework, extra, dtype)
        frames.append(memoryview(frames.lender.lend(array, frames.since)))
    except Exception as cause:  # noqa: BLE001 (tensors without DLPack are copied)
        frames.lender.copy(cause.what if isinstance(cause, CodecError) else f"{framework}: {cause}")
        return None
    frames.flags |= header.LENT
    return f'["cuda.memory",{node}]'


def read(node: list[Any], reading: Reading) -> Maker:
    """Return a function that opens a GPU memory handle.

    The returned function builds a tensor in the handle's memory, or copies the memory to the requested device.
    """
    if not reading.share:
        raise CodecError("E-GPU-UNREQUESTED", UNASKED, ASK)
    if not reading.flags & header.LENT:
        raise CodecError("E-GPU-HANDLE", "the frames contain a GPU memory handle that the header does not announce")
    array = listing(listing(node, 2)[1], 6)
    one_of(array[0], "array")
    place, raw = reading.taken + 1, array[2] if dtypes.raw_dtype(array[2]) is not None else ""
    direct, wanted = _gpu_tensor_maker(array, raw, reading), devices.number(reading.device)
    whole, copied = arrays.array_maker_as_sent(array, place), arrays.read(array, reading)

    def make(frames: Any) -> Any:
        hold = borrow(frames[place])
        try:
            ghost = ghosts.Ghost(whole(_frames_of_one(place, np.asarray(hold))), hold.device, raw)
            if direct is not None and wanted in (None, hold.device):
                with _copying_on_failure():
                    return direct(ghost)
            data = hold.read()
        except BaseException:
            hold.close()
            raise
        hold.close()
        return copied(_frames_of_one(place, data))

    return make


@contextmanager
def _copying_on_failure() -> Iterator[None]:
    """Log an error that is raised in the `with` block. After the logged error, the caller copies the tensor, because
    the framework cannot import it in place."""
    try:
        yield
    except CodecError:
        raise
    except Exception as cause:  # noqa: BLE001 (frameworks raise different errors)
        log.warning("the receiver copies a shared tensor: %s", cause)


def _frames_of_one(place: int, data: Any) -> Any:
    """Return a mapping that contains only an array's own frame, keyed by the frame's position in the message."""
    return {place: data}


def _gpu_tensor_maker(array: list[Any], raw: str, reading: Reading) -> Callable[[Any], Any] | None:
    """Return a function that builds a tensor over GPU memory. Return None if the framework cannot build tensors over
    GPU memory, or if the receiver requests the CPU."""
    name = text(array[1]) if reading.as_ is None else reading.as_
    codec = None if name == "numpy" else codec_named(name)
    if (
        codec is None
        or not hasattr(codec, "from_device")
        or (reading.device or "").startswith("cpu")
        or raw not in ("", ghosts.BFLOAT16)
    ):
        return None
    extra = array[5] if name == array[1] else None
    made: Callable[[Any], Any] = codec.from_device(arrays.Wanted(raw, reading.device, extra))
    return made
