"""Where a receiver wants its tensors: one spelling for every framework, one refusal where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable

from hopmeter.codecs.errors import CodecError

SPELLING = re.compile(r"cpu(:0)?|(gpu|cuda)(:(?P<number>\d{1,4}))?")
REMEDY = 'ask for device="cpu", or for none: then what was on a GPU arrives on one where there is one'


def gpu(framework: str, asked: str, count: Callable[[], int]) -> int | None:
    """The number of the GPU that is asked for (`gpu`, `cuda:1`), None for the CPU.

    `count` tells how many GPUs the framework sees; it is called only where one is asked for. CodecError where that
    one is not there, or for another word.
    """
    found = SPELLING.fullmatch(asked)
    if found is None:
        raise CodecError(f"no device {asked[:40]!r}", "ask for cpu, gpu or gpu:1")
    if asked.startswith("cpu"):
        return None
    number, there = int(found["number"] or 0), count()
    if number < there:
        return number
    seen = f"{there} GPU{'' if there == 1 else 's'}" if there else "no GPU"
    raise CodecError(f"{framework} sees {seen} here, and {asked} was asked for", REMEDY)
