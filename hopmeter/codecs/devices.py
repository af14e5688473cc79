"""Parses the device that a receiver requests. Every framework accepts the same device names and raises the same
errors."""

from __future__ import annotations

import re
from collections.abc import Callable

from hopmeter.codecs.errors import CodecError

SPELLING = re.compile(r"cpu(:0)?|(gpu|cuda)(:[0-9]{1,4})?")
REMEDY = 'use device="cpu", or omit `device`: then objects from a GPU arrive on a GPU if there is one'


def check_device(asked: str) -> str:
    """Return `asked` if it is a valid device name. Raises CodecError if `asked` is not a valid device name."""
    if SPELLING.fullmatch(asked) is None:
        raise CodecError("E-VALUE-CHOICE", f"device {asked[:40]!r} is unknown", "use cpu, gpu or gpu:1")
    return asked


def number(asked: str | None) -> int | None:
    """Return the number of the requested GPU. Return None if the CPU is requested, or if no particular GPU is
    requested."""
    _, _, last = ("" if asked is None or asked.startswith("cpu") else asked).partition(":")
    return int(last) if last else None


def refuse_gpu(framework: str, asked: str | None) -> None:
    """Raise CodecError if a GPU is requested for a framework that supports only the CPU."""
    if asked is not None and not check_device(asked).startswith("cpu"):
        raise CodecError("E-NO-DEVICE", f"objects of {framework} cannot be on a GPU, but you requested {asked}", REMEDY)


def gpu(framework: str, asked: str, count: Callable[[], int]) -> int | None:
    """Return the number of the requested GPU, or None for the CPU.

    `count` returns how many GPUs the framework sees, and is called only if a GPU is requested. Raises CodecError if the
    device name is invalid, or if the requested GPU does not exist.
    """
    if check_device(asked).startswith("cpu"):
        return None
    number, there = int(asked.partition(":")[2] or 0), count()
    if number < there:
        return number
    seen = f"{there} GPU{'' if there == 1 else 's'}" if there else "no GPU"
    raise CodecError("E-NO-DEVICE", f"{framework} sees {seen} here, but you requested {asked}", REMEDY)
