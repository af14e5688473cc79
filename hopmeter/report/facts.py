"""Machine, versions and the instrument's own cost, as pairs of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hopmeter.images.decoded import describe
from hopmeter.report import formatting
from hopmeter.report.processes import mapped_mb
from hopmeter.report.source import Run

Facts = list[tuple[str, str]]

COUNTED = re.compile(r" for \d+ of \d+ frames received")
"""Of every cell another number; whether it is all of them, a warning says."""

MACHINE = (
    ("cpu_model", "Processor"),
    ("architecture", "Architecture"),
    ("cores", "Cores"),
    ("smt", "SMT"),
    ("virtualisation", "Virtual machine"),
    ("distribution", "System"),
    ("kernel", "Kernel"),
    ("preemption", "Preemption"),
    ("governor", "Governor"),
    ("turbo", "Turbo"),
    ("idle_driver", "Idle driver"),
    ("idle_exit_us", "Deepest idle exit, µs"),
    ("halt_poll_us", "A guest looks before it halts, µs"),
    ("isolated_cores", "Isolated cores"),
    ("clock_source", "Clock source"),
    ("thp", "Huge pages"),
    ("autogroup", "Cores shared by session"),
    ("container", "Container"),
    ("cgroup_cpus", "CPU quota"),
    ("load", "Load before the run"),
    ("steal_percent", "Stolen since boot, %"),
)
"""What a reader asks first; the rest is in run.json."""


def machine(run: Run) -> Facts:
    """The machine, where it is known."""
    known = run.part("machine")
    return [(name, str(known[key])) for key, name in MACHINE if known.get(key) not in (None, "", "unknown")]


def noise(run: Run) -> Facts:
    """What each core did to a thread that wanted it, before the run."""
    return [
        (
            f"Core {core['core']}",
            f"away for up to {formatting.microseconds(core['longest_us'])}, "
            f"{formatting.number(core['gaps_per_s'])} times a second over 10{formatting.THIN}µs",
        )
        for core in run.part("noise").get("cores", [])
    ]


def versions(runs: Sequence[Run]) -> Facts:
    """hopmeter and every library that took part."""
    own = [("hopmeter", version) for version in formatting.distinct(run.text("hopmeter") for run in runs)]
    rows = [row for run in runs for row in run.measured if row["library_version"]]
    seen = formatting.distinct(f"{row['transport']} ({row['language']})\t{row['library_version']}" for row in rows)
    return own + [_pair(each) for each in sorted(seen)]


def ways(runs: Sequence[Run]) -> Facts:
    """Which way the messages took, as the transports themselves say: the device, the memory, the rmw; and how much
    shared memory their processes had mapped, which nobody has to say."""
    taken: dict[str, dict[str, list[str]]] = {}
    mapped: dict[str, float] = {}
    for row in (row for run in runs for row in run.measured if row["path"]):
        way = COUNTED.sub("", str(row["path"])) + (f" [{row['profile']}]" if row["profile"] else "")
        name = f"{row['transport']} ({row['language']})"
        taken.setdefault(name, {}).setdefault(way, []).append(row.run.name)
        mapped[name] = max(mapped.get(name, 0.0), mapped_mb(row) or 0.0)
    return [(name, "; ".join([*_of_runs(ways), *_mapped(mapped[name])])) for name, ways in sorted(taken.items())]


def _of_runs(ways: Mapping[str, Sequence[str]]) -> list[str]:
    """Each way, with its runs where others took another: those of ROS 2 may differ in nothing but the rmw."""
    every = {name for names in ways.values() for name in names}
    return [
        way if set(names) == every else f"{way} (in {formatting.listed(formatting.distinct(names))})"
        for way, names in ways.items()
    ]


def _mapped(most_mb: float) -> list[str]:
    return [f"a process maps up to {formatting.payload_bytes(most_mb * 1e6)} of shared memory"] if most_mb else []


def pictures(runs: Sequence[Run]) -> Facts:
    """Image and video files whose pixels were sent, and what came out of them."""
    shown = [(payload, describe(told)) for run in runs for payload, told in run.part("pictures").items()]
    return list(dict.fromkeys(shown))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("\t")
    return name, value


def builds(run: Run) -> Facts:
    """Compilers and flags of the nodes, those alike together."""
    alike: dict[str, list[str]] = {}
    for name, how in run.part("builds").items():
        alike.setdefault(str(how), []).append(name)
    return [(formatting.listed(names), how) for how, names in alike.items()]


def instrument(run: Run) -> Facts:
    """Who measures the meter: what it takes itself, which is in every figure."""
    own = run.part("instrument")
    named = (
        ("clock_ns", "Reading the clock", "ns"),
        ("clock_step_ns", "Clock's smallest step", "ns"),
        ("message_ns", "Recording a message", "ns"),
        ("copy_bytes_per_ns", "One core copies, from memory", "GB/s"),
    )
    facts = [
        (name, f"{formatting.number(own[key])}{formatting.THIN}{unit}")
        for key, name, unit in named
        if own.get(key) is not None
    ]
    for column, name in (("pacing_error_p50_us", "Pacing error, median"), ("pacing_error_p99_us", "Pacing error, p99")):
        ends = _ends(row[column] for row in run.measured if row.ok)
        if ends:
            facts.append((name, ends))
    return facts


def _ends(values: Iterable[Any]) -> str:
    """The least and the greatest over all cells."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return ""
    if known[0] == known[-1]:
        return formatting.microseconds(known[0])
    return f"{formatting.number(known[0])} to {formatting.microseconds(known[-1])} over the cells"
