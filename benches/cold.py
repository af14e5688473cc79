"""Send a message every 100, 33, 10 or 1 ms, and compare the latency with that of equivalent bare programs.

At these rates, the library's and the instrument's code leaves the CPU caches between two messages. Callbacks on the
sender's thread (`memory`, and `libxr` if LIBXR_ROOT is set) may take 0.3 µs longer than in the bare program. For
receivers that sleep in a separate process (`unix`, `shm`), the limit is a ratio.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons, sequential
from programs import Program, number

RATES_HZ = (10, 30, 100, 1000)
SECONDS = 3
MOST_MESSAGES = 300
CORE, CORES = "1", "0,1"
SIZES = {"bytes:64": 64, "image:1440x1080": 1440 * 1080 * 3}
COLD = Program("cold.cpp")
# The files, relative to LIBXR_ROOT, that contain LibXR's compiler flags after a build with make or Ninja.
RECIPES = ("build/CMakeFiles/xr.dir/flags.make", "build/build.ninja")
SCENARIO = """
title = "Cold"
question = "What does a message cost at a low rate?"
transport = {transport}
language = "c++"
placement = {placement}
wait = {wait}
cores = {cores}
payload = {payload}
rate = {rate}
messages = {messages}
warmup = {warmup}
trials = 1
"""


@dataclass
class Gap(Comparison):
    """A comparison by the difference of two times, whose limit is in microseconds."""

    @property
    def ratios(self) -> list[float]:
        """The difference of each pair in microseconds, in ascending order."""
        return sorted(ours - theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))


def libxr_flags(root: Path) -> tuple[str, ...]:
    """Return the compiler flags that the headers of the user's LibXR need, and the library path.

    Raises FileNotFoundError if the folder `build` of `root` contains no make or Ninja build of LibXR.
    """
    recipe = next((path for path in (root / name for name in RECIPES) if path.exists()), None)
    if recipe is None:
        raise FileNotFoundError(
            f"LibXR is not built in {root / 'build'}: build it there with CMake, or unset LIBXR_ROOT"
        )
    flags = dict(reversed(re.findall(r"^ *(?:CXX_)?(DEFINES|INCLUDES) = (.*)$", recipe.read_text(), re.MULTILINE)))
    return (*shlex.split(flags["DEFINES"]), *shlex.split(flags["INCLUDES"]), f"-L{root / 'build'}")


def libxr() -> Program | None:
    """Return the bare program that uses LibXR, or None if LibXR is not installed."""
    root = os.environ.get("LIBXR_ROOT", "")
    return Program("cold_libxr.cpp", ("xr",), flags=libxr_flags(Path(root))) if root else None


def messages(rate_hz: int) -> int:
    """Return the number of messages in one measurement."""
    return min(MOST_MESSAGES, rate_hz * SECONDS)


def ours(rate_hz: int, **axes: str | tuple[str, ...]) -> list[dict[str, Any]]:
    """Measure a scenario with these axes at one rate, and return its result rows."""
    count = messages(rate_hz)
    words = {name: json.dumps(value) for name, value in axes.items()}
    return hopmeter(SCENARIO.format(rate=rate_hz, messages=count, warmup=count // 10, **words))


def theirs(way: str, payload: str, rate_hz: int) -> float:
    """Return the bare program's median in microseconds."""
    size, count = SIZES[payload], messages(rate_hz) + messages(rate_hz) // 10
    if way != "libxr":
        return number(COLD, way, size, rate_hz, count, CORE if way == "call" else CORES) / 1000
    program = libxr()
    assert program is not None
    return number(program, size, rate_hz, count, CORE) / 1000


def compare_callbacks(rate_hz: int, index: int, found: dict[str, Comparison]) -> None:
    """Add a pair of measurements for callbacks on the sender's thread."""
    transports = ("memory", "libxr") if libxr() else ("memory",)
    ways = {"memory": "call", "libxr": "libxr"}
    rows, bare = sequential(
        index,
        lambda: ours(
            rate_hz,
            transport=transports,
            placement="thread",
            wait="callback",
            cores=CORE,
            payload=tuple(SIZES),
        ),
        lambda: {(each, size): theirs(ways[each], size, rate_hz) for each in transports for size in SIZES},
    )
    for row in rows:
        name = f"{row['transport']} (c++), {row['payload']}, callback, {rate_hz} Hz, difference"
        comparison = found.setdefault(name, Gap(name, 0.3))
        comparison.add(row["service_p50_us"], bare[row["transport"], row["payload"]])


def compare_blocking(transport: str, rate_hz: int, index: int, found: dict[str, Comparison]) -> None:
    """Add a pair of measurements for a receiver that blocks in a separate process."""
    rows, bare = sequential(
        index,
        lambda: ours(
            rate_hz,
            transport=transport,
            placement="process",
            wait="block",
            cores=CORES,
            payload=("bytes:64",),
        ),
        lambda: theirs(transport, "bytes:64", rate_hz),
    )
    name = f"{transport} (c++), bytes:64, block, {rate_hz} Hz"
    found.setdefault(name, Comparison(name, 1.1)).add(rows[0]["service_p50_us"], bare)


def main() -> int:
    """Measure pairs, and repeat only the comparisons that need more pairs."""
    if libxr() is None:
        print("LibXR is left out: LIBXR_ROOT is not set")
    asked: list[tuple[Callable[[int, dict[str, Comparison]], None], dict[str, Comparison]]] = [
        *((partial(compare_callbacks, rate_hz), {}) for rate_hz in RATES_HZ),
        *((partial(compare_blocking, transport, 30), {}) for transport in ("unix", "shm")),
    ]
    every: dict[str, Comparison] = {}
    for index in pair_rounds(every.values()):
        for measure, found in asked:
            if not found or any(each.wants_more for each in found.values()):
                measure(index, found)
                every |= found
    return print_comparisons(every.values())


if __name__ == "__main__":
    raise SystemExit(orderly(main))
