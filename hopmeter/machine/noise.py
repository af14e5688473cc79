"""Runs the probes of `hopmeter._instrument`. The keys in the result of a probe name the units of the values."""

from __future__ import annotations

import os
from typing import Any

import hopmeter._instrument as _instrument
from hopmeter.machine.description import cpu_ticks
from hopmeter.machine.kernel import Kernel
from hopmeter.system.scratch_dir import ScratchDir

SHORT_S = 0.1
"""How long, in seconds, a probe before a run observes each core by default."""
LONGEST_S = 4.0
"""The maximum total time, in seconds, for observing all cores."""
SLEEPS = ((0.0001, 500), (0.001, 200), (0.01, 30))
"""Pairs of a requested sleep time in seconds and a number of sleeps."""


def noise_probe(seconds: float = SHORT_S, cores: list[int] | None = None) -> dict[str, Any]:
    """Measure how often and for how long a spinning thread is interrupted on each usable core. The cores are probed one
    after another, so that the probes do not disturb each other.

    Returns {`cores`: [{core, seconds, longest_us, gaps_per_s, gaps_percent}], `steal_percent`: the stolen time during
    the probe}.
    """
    watched = sorted(os.sched_getaffinity(0)) if cores is None else cores
    each_s = min(seconds, LONGEST_S / max(len(watched), 1))
    before = cpu_ticks(Kernel())
    seen = [_core(core, each_s) for core in watched]
    return {"cores": seen, "steal_percent": _steal_percent(before, cpu_ticks(Kernel()))}


def _core(core: int, seconds: float) -> dict[str, Any]:
    seen = _instrument.noise_probe(core, seconds)
    watched_s = seen["watched_ns"] / 1e9
    return {
        "core": core,
        "seconds": round(watched_s, 3),
        "longest_us": seen["longest_ns"] / 1e3,
        "gaps_per_s": round(seen["gaps"] / watched_s, 1),
        "gaps_percent": round(100 * seen["gaps_ns"] / seen["watched_ns"], 3),
    }


def _steal_percent(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    if before is None or after is None or after[0] == before[0]:
        return None
    return round(100 * (after[1] - before[1]) / (after[0] - before[0]), 2)


def sleep_errors() -> list[dict[str, Any]]:
    """Measure how much later than requested a thread wakes up after sleeps of 0.1, 1 and 10 ms.

    Returns [{asked_ms, sleeps, p50_us, max_us}].
    """
    return [
        {
            "asked_ms": error["asked_ns"] / 1e6,
            "sleeps": error["sleeps"],
            "p50_us": error["p50_ns"] / 1e3,
            "max_us": error["max_ns"] / 1e3,
        }
        for error in _instrument.sleep_errors(list(SLEEPS))
    ]


def own_cost() -> dict[str, float]:
    """Measure how long the instrument itself takes for each message, and how fast a core copies memory.

    Returns {clock_ns, clock_step_ns, message_ns, copy_bytes_per_ns}.
    """
    with ScratchDir() as ground:
        cost = _instrument.recording_cost(ground.directory)
    return {**cost, "clock_step_ns": _instrument.clock_quality()["resolution_ns"]}
