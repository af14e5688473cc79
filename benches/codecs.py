"""Compare codecs with their time budgets, and verify that decoded objects use the receive buffer.

The bench encodes in this process and decodes plain memoryviews in another. Each row shows the encoding and decoding
time in microseconds over ten rounds, and the budget. The bench then compares the NumPy codec with other codecs.
Frameworks that are installed only for the system Python are measured with the system Python.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ending import Run, orderly
from pairs import PAIRS, Comparison, print_comparisons

from hopmeter.codecs import CodecError, comparison_codec, comparison_codecs, decode, encode, install_hint, packing

ROUND_S = 0.02
MOST_S = 300.0
QUIET = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
ARRAY = ((200, 200), "f8")
SINGLE = ((200, 200), "f4")
IMAGE = ((1080, 1440, 3), "u1")


@dataclass(frozen=True)
class Row:
    """A measured object: its framework, shape, dtype, budget, and the functions that create it and read it as an
    array."""

    framework: str
    made_of: Any
    budget_us: float
    make: Callable[[Any], Any]
    look: Callable[[Any], Any]

    @property
    def name(self) -> str:
        shape, dtype = self.made_of
        return f"{self.framework} {'x'.join(map(str, shape))} {dtype}"


def of(package: str) -> Any:
    return importlib.import_module(package)


def rows() -> list[Row]:
    tensors = {
        "torch": (5, lambda a: of("torch").from_numpy(a), lambda t: t.numpy()),
        "tensorflow": (5, lambda a: of("tensorflow").constant(a), lambda t: np.asarray(memoryview(t))),
        "paddle": (13, lambda a: of("paddle").to_tensor(a), np.from_dlpack),
        "jax": (30, lambda a: of("jax.numpy").asarray(a), np.asarray),
    }
    found = [Row("numpy", what, 2, np.asarray, np.asarray) for what in (ARRAY, IMAGE)]
    found += [Row(name, what, *rest) for name, rest in tensors.items() for what in (SINGLE, IMAGE)]
    found.append(Row("pyarrow", ((40000,), "f8"), 5, lambda a: of("pyarrow").array(a), lambda a: a.to_numpy()))
    found.append(Row("xarray", ARRAY, 15, lambda a: of("xarray").DataArray(a, dims=("y", "x")), lambda x: x.data))
    found.append(Row("pandas", ARRAY, 60, lambda a: of("pandas").DataFrame(a, copy=False), lambda d: d.to_numpy()))
    found.append(Row("pillow", IMAGE, 100, lambda a: of("PIL.Image").fromarray(a), np.asarray))
    return found


def numbers(row: Row) -> Any:
    """Return the array of a row, which is the same in the encoding process and the decoding process."""
    shape, dtype = row.made_of
    return (np.arange(int(np.prod(shape))) % 251).astype(dtype).reshape(shape)


def best(call: Callable[[], Any]) -> list[float]:
    """Return the time of one call in microseconds for each round: the shortest mean of five repetitions."""
    call()
    once = min(timeit.repeat(call, number=1, repeat=5))
    count = max(1, int(ROUND_S / 5 / once))
    return [min(timeit.repeat(call, number=count, repeat=5)) / count * 1e6 for _ in range(PAIRS)]


def decode_file(number: int, file: str) -> None:
    """Decode a file. Print, as JSON, the object's digest, whether the object shares the buffer's memory, and the
    decoding times."""
    row = rows()[number]
    message = Path(file).read_bytes()
    room = np.empty(len(message) + 64, np.uint8)
    start = -room.ctypes.data % 64
    buffer = room.data[start : start + len(message)]
    buffer[:] = message
    frames = packing.unpack(buffer)
    obj = decode(frames)
    told_before = digest(row, obj)
    frames[1][0] ^= 0xFF
    shared = told_before != digest(row, obj)
    frames[1][0] ^= 0xFF
    print(json.dumps({"digest": told_before, "shared": shared, "us": best(lambda: decode(frames))}))


def digest(row: Row, obj: Any) -> str:
    """Return a digest of the object's content as an array."""
    return hashlib.sha256(np.ascontiguousarray(row.look(obj)).tobytes()).hexdigest()


def measure(number: int) -> list[float]:
    """Return the encoding and decoding times in microseconds, by round. Raises WrongError if the decoded content
    differs, or if the object does not use the received memory."""
    row = rows()[number]
    obj = row.make(numbers(row))
    frames = encode(obj)
    message = bytearray(packing.packed_bytes(frames))
    packing.pack_into(frames, message)
    with Run() as run:
        file = Path(run.directory) / "message"
        file.write_bytes(message)
        answer = ask_python(run, sys.executable, "decode", number, file)
    if answer["digest"] != hashlib.sha256(numbers(row).tobytes()).hexdigest():
        raise WrongError("the decoded content is not the content that was sent")
    if not answer["shared"]:
        raise WrongError("the object does not use the memory of the receive buffer")
    return [there + back for there, back in zip(best(lambda: encode(obj)), answer["us"], strict=True)]


def ask_python(run: Run, python: str, *words: object) -> Any:
    """Run this file with a Python interpreter and return its JSON output. Raises WrongError if the run fails."""
    command = [python, __file__, *map(str, words)]
    # Frameworks start threads, so a forked child must not run any code before exec.
    done = run.capture(command, MOST_S, env={"PYTHONPATH": str(Path(__file__).parents[1])}, preexec_fn=None)
    if done.returncode != 0:
        raise WrongError(next(iter(done.stderr.splitlines()[::-1]), f"it ended with {done.returncode}"))
    return json.loads(done.stdout.splitlines()[-1])


class WrongError(Exception):
    """A row could not be measured, or its decoded object is wrong."""


def python_with(framework: str) -> str:
    """Return the path of a Python that has a framework: this Python or the system's. Empty if neither has the
    framework."""
    # The system Python, which runs some rows, lacks the packages that hopmeter's manifests need.
    from hopmeter.manifest import codec_interpreter, interpreter

    if not install_hint(framework):
        return sys.executable
    with contextlib.suppress(interpreter.NoPythonError):
        if codec_interpreter.has(interpreter.system(), framework):
            return str(interpreter.system().program)
    return ""


def compare_with_budget(number: int, row: Row, python: str) -> Comparison:
    here = python == sys.executable
    place = "" if here else ", the system's Python"
    found = Comparison(f"{row.name}, encode + decode{place}", 1.0)
    with Run() as run:
        for took_us in measure(number) if here else ask_python(run, python, "measure", number):
            found.add(took_us, row.budget_us)
    return found


def compare(name: str, what: Any) -> Comparison:
    """Compare hopmeter's NumPy codec with another codec in this process."""
    array, codec = numbers(Row("numpy", what, 2, np.asarray, np.asarray)), comparison_codec(name)
    shape, dtype = what
    found = Comparison(f"numpy {'x'.join(map(str, shape))} {dtype} / {name}", None)
    ours = best(lambda: decode(encode(array)))
    theirs = best(lambda: codec.decode(codec.encode(array)))
    for one, other in zip(ours, theirs, strict=True):
        found.add(one, other)
    return found


def main() -> int:
    """Measure all rows. Return 1 if a row fails or exceeds its budget.

    For a missing framework, print the command that installs it.
    """
    if not install_hint("paddle") and not install_hint("tensorflow"):
        importlib.import_module("paddle")  # importing paddle after TensorFlow crashes
    found, troubles = [], []
    for number, row in enumerate(rows()):
        python = python_with(row.framework)
        if not python:
            print(f"{row.name}: left out, {install_hint(row.framework)}")
            continue
        try:
            found.append(compare_with_budget(number, row, python))
        except (WrongError, CodecError) as error:
            troubles.append(f"{row.name}: FAILED: {error}")
    found += [compare(name, what) for name in comparison_codecs() for what in (ARRAY, IMAGE)]
    code = print_comparisons(found)
    print(*troubles, sep="\n", end="\n" if troubles else "")
    return 1 if troubles else code


if __name__ == "__main__":
    os.environ.update({key: os.environ.get(key, value) for key, value in QUIET.items()})
    if sys.argv[1:2] == ["decode"]:
        decode_file(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        raise SystemExit(orderly(main))
