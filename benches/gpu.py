"""Compare ways to send a GPU tensor to another process.

The bench compares hopmeter's handles with torch.multiprocessing, and hopmeter's copies with hand-written copies. The
result is the time of a round trip over a pipe, in microseconds. This process encodes; the other process decodes, reads
one number on the GPU, drops the tensor and answers. Both programs of a comparison use the same two processes and the
same pipe.
"""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
from pairs import Comparison, pair_rounds, print_comparisons, sequential

from hopmeter.codecs import Lender, decode, encode, packing

SHAPES = {
    "200x200 f4": ((200, 200), "float32"),
    "1080x1440x3 u1": ((1080, 1440, 3), "uint8"),
    "64 MB": ((1 << 24,), "float32"),
}
BYTES = 1 << 26
"""The number of bytes per measurement, spread over 3 to 100 round trips."""
LIMITS = {"handle": None, "copy": None}


def our_handle(lender: Lender, tensor: Any) -> bytes:
    """Encode a tensor as a handle in a single payload."""
    return payload_of(encode(tensor, lender))


def payload_of(frames: list[Any]) -> bytes:
    room = bytearray(packing.packed_bytes(frames))
    packing.pack_into(frames, room)
    return bytes(room)


def bare_copy(tensor: Any) -> bytes:
    """Copy a tensor to the host; return its dtype, shape and content."""
    array = tensor.cpu().numpy()
    return pickle.dumps((array.dtype.str, array.shape)).ljust(128) + array.tobytes()


def read_bare_copy(data: bytes) -> Any:
    """Return a GPU tensor from the result of `bare_copy`."""
    import torch

    dtype, shape = pickle.loads(data[:128])
    return torch.from_numpy(np.frombuffer(bytearray(data[128:]), dtype).reshape(shape)).cuda()


READERS: dict[str, Callable[[bytes], Any]] = {
    "our handle": lambda data: decode(packing.unpack(bytearray(data)), share="cuda-ipc"),
    "torch's handle": pickle.loads,
    "our copy": lambda data: decode(packing.unpack(bytearray(data))),
    "bare copy": read_bare_copy,
}


def serve(pipe: Connection) -> None:
    """Decode each tensor with the reader that the preceding message names, and answer with the tensor's last number."""
    import torch

    while name := pipe.recv_bytes():
        tensor = READERS[name.decode()](pipe.recv_bytes())
        torch.cuda.synchronize()
        answer = float(tensor.view(-1)[-1])
        del tensor
        pipe.send(answer)


def round_trip_us(pipe: Connection, name: str, tensor: Any, encoded: Callable[[Any], bytes]) -> float:
    """Return the median time of a round trip in microseconds. Raises ValueError if an answer is wrong."""
    right, times = float(tensor.view(-1)[-1]), []
    for _ in range(min(100, max(3, BYTES // tensor.nbytes))):
        start = time.perf_counter()
        pipe.send_bytes(name.encode())
        pipe.send_bytes(encoded(tensor))
        answer = pipe.recv()
        times.append(time.perf_counter() - start)
        if answer != right:
            raise ValueError(f"{name}: {answer} arrived instead of {right}")
    return float(np.median(times)) * 1e6


def main() -> int:
    """Measure all shapes. Without a GPU, print that the bench is skipped."""
    import torch

    if not torch.cuda.is_available():
        print("left out: PyTorch sees no GPU on this machine")
        return 0
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    child = context.Process(target=serve, args=(other,), daemon=True)
    child.start()
    lender, found = Lender(), {}
    for name, (shape, dtype) in SHAPES.items():
        tensor = (
            torch.arange(int(np.prod(shape)), device="cuda").remainder(251).to(getattr(torch, dtype)).reshape(shape)
        )
        found |= {(name, kind): (Comparison(f"torch {name}, {kind}", limit), tensor) for kind, limit in LIMITS.items()}
    sides: dict[str, tuple[Any, Any]] = {
        "handle": (
            ("our handle", lambda t: our_handle(lender, t)),
            ("torch's handle", lambda t: bytes(ForkingPickler.dumps(t))),
        ),
        "copy": (("our copy", lambda t: payload_of(encode(t))), ("bare copy", bare_copy)),
    }
    for index in pair_rounds([each for each, _ in found.values()]):
        for (_, kind), (each, tensor) in found.items():
            ours, theirs = (partial(round_trip_us, pipe, name, tensor, encoded) for name, encoded in sides[kind])
            each.add(*sequential(index, ours, theirs))
    pipe.send_bytes(b"")
    child.join()
    return print_comparisons([each for each, _ in found.values()])


if __name__ == "__main__":
    raise SystemExit(main())
