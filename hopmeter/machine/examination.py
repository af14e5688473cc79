"""Defines the steps of `hopmeter doctor`. Each step measures one aspect of the machine and returns findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hopmeter.machine import advice, description, floors, measured, noise
from hopmeter.machine.finding import Finding


@dataclass(frozen=True)
class Part:
    """A step of `hopmeter doctor`: the observed facts as plain data, and the findings."""

    name: str
    seen: Any
    findings: list[Finding]


STEPS: dict[str, tuple[str, Callable[[], Any], Callable[[Any], list[Finding]]]] = {
    "machine": ("reading the machine's settings", description.describe, advice.findings),
    "noise": ("watching each core, at most 4 s", lambda: noise.noise_probe(1.0), measured.judge_noise),
    "sleep": ("sleeping 0.1, 1 and 10 ms", noise.sleep_errors, measured.judge_sleep),
    "cost": ("measuring the instrument itself", noise.own_cost, measured.judge_cost),
    "floors": ("measuring the floors, about 4 s", floors.measure, floors.judge),
}


def examine(name: str) -> Part:
    """Run the step of `hopmeter doctor` that has the given key in STEPS."""
    _, look, judge = STEPS[name]
    seen = look()
    return Part(name, seen, judge(seen))
