"""Sections on the environment: the commands that repeat the runs, the machine, versions and the instrument's own
cost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hopmeter.analysis.cost.process_use import mapped_mb
from hopmeter.analysis.cost.steal import steal_of
from hopmeter.analysis.results.run_results import Run
from hopmeter.images.decoded import describe
from hopmeter.recordings.replay_file import describe as replayed
from hopmeter.report.sections.section import Section
from hopmeter.report.words import formatting
from hopmeter.report.words.run_command import recorded_command, without
from hopmeter.report.words.steal_sentences import describe as describe_steal

Facts = list[tuple[str, str]]

COUNTED = re.compile(r" for \d+ of \d+ frames received")
"""Matches the part of `carried_by` that differs in each cell. A separate warning reports frames that did not take the
requested route."""

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
    ("halt_poll_us", "Guest polls before halting, µs"),
    ("isolated_cores", "Isolated cores"),
    ("clock_source", "Clock source"),
    ("thp", "Huge pages"),
    ("autogroup", "Cores shared by session"),
    ("container", "Container"),
    ("cgroup_cpus", "CPU quota"),
    ("load", "Load before the run"),
    ("busy_percent", "Busy with other processes before the run, %"),
)
"""The most important machine facts. run.json contains all facts."""
HOST = (("address", "Address"), ("name", "Name"), ("hopmeter", "hopmeter"))


def machine(run: Run) -> Facts:
    """Return the known machine facts of a run, and the CPU time stolen during its trials."""
    stolen = steal_of([run])
    facts = _machine_facts(run.part("machine"))
    return [*facts, *([("Stolen during the trials", describe_steal(stolen))] if stolen else [])]


def _machine_facts(machine: Mapping[str, Any]) -> Facts:
    return [(name, str(machine[key])) for key, name in MACHINE if machine.get(key) not in (None, "", "unknown")]


def hosts(run: Run) -> list[tuple[str, Facts]]:
    """Return the facts of each host. The entry of the coordinator contains only an address, because another section
    describes the coordinator's machine."""
    found = []
    for name, host in run.part("hosts").items():
        if host.get("here"):
            found.append((f"Host {name}", [("Address", str(host["address"])), ("Machine", "described above")]))
            continue
        facts = [(title, str(host[key])) for key, title in HOST if host.get(key)]
        trip = [("Fastest round trip", formatting.microseconds(host["round_trip_us"]))]
        found.append((f"Host {name}", [*facts, *trip, *_machine_facts(host.get("machine") or {})]))
    return found


def noise(run: Run) -> Facts:
    """For each core, return how long and how often a spinning thread was interrupted before the run."""
    return [
        (
            f"Core {core['core']}",
            f"longest interruption {formatting.microseconds(core['longest_us'])}; "
            f"{formatting.number(core['gaps_per_s'])} interruptions of over 10{formatting.THIN}µs per second",
        )
        for core in run.part("noise").get("cores", [])
    ]


def versions(runs: Sequence[Run]) -> Facts:
    """Return the versions of hopmeter and of the libraries that the given runs used."""
    own = [("hopmeter", version) for version in formatting.distinct(run.text("hopmeter") for run in runs)]
    rows = [row for run in runs for row in run.measured_rows if row["library_version"]]
    return own + sorted({(formatting.row_name(row), str(row["library_version"])) for row in rows})


def paths(runs: Sequence[Run]) -> Facts:
    """Return how each transport carried messages (such as device, shared memory or rmw), and how much shared memory it
    mapped."""
    taken: dict[str, dict[str, list[str]]] = {}
    mapped: dict[str, float] = {}
    for row in (row for run in runs for row in run.measured_rows if row["carried_by"]):
        way = COUNTED.sub("", str(row["carried_by"])) + (f" [{row['profile']}]" if row["profile"] else "")
        name = formatting.row_name(row)
        taken.setdefault(name, {}).setdefault(way, []).append(row.run.name)
        mapped[name] = max(mapped.get(name, 0.0), mapped_mb(row) or 0.0)
    return [(name, "; ".join([*_of_runs(ways), *_mapped_memory(mapped[name])])) for name, ways in sorted(taken.items())]


def _of_runs(ways: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the routes by which a transport carried messages. If runs used different routes, each route is followed by
    the names of the runs that used the route."""
    every = {name for names in ways.values() for name in names}
    return [
        way if set(names) == every else f"{way} (in {formatting.join(formatting.distinct(names))})"
        for way, names in ways.items()
    ]


def _mapped_memory(most_mb: float) -> list[str]:
    return [f"a process maps up to {formatting.payload_bytes(most_mb * 1e6)} of shared memory"] if most_mb else []


def payload_files(runs: Sequence[Run]) -> Facts:
    """Return descriptions of the image files and recordings that the runs sent."""
    found = [(payload, describe(about)) for run in runs for payload, about in run.part("pictures").items()]
    found += [(f"flow {flow}", replayed(about)) for run in runs for flow, about in run.part("recordings").items()]
    return list(dict.fromkeys(found))


def builds(run: Run) -> Facts:
    """Return the compilers and flags of the nodes. Nodes with identical builds share an entry."""
    alike: dict[str, list[str]] = {}
    for name, how in run.part("builds").items():
        alike.setdefault(str(how), []).append(name)
    return [(formatting.join(names), how) for how, names in alike.items()]


def instrument(run: Run) -> Facts:
    """Return the instrument's own cost, which is included in each latency."""
    own = run.part("instrument")
    named = (
        ("clock_ns", "Reading the clock", "ns"),
        ("clock_step_ns", "Smallest step of the clock", "ns"),
        ("message_ns", "Recording a message", "ns"),
        ("copy_bytes_per_ns", "Copying by one core", "GB/s"),
    )
    facts = [
        (name, f"{formatting.number(own[key])}{formatting.THIN}{unit}")
        for key, name, unit in named
        if own.get(key) is not None
    ]
    for column, name in (("pacing_error_p50_us", "Pacing error, median"), ("pacing_error_p99_us", "Pacing error, p99")):
        ends = _ends(row.get(column) for row in run.measured_rows if row.ok)
        if ends:
            facts.append((name, ends))
    return facts


def _ends(values: Iterable[Any]) -> str:
    """Return the range of the values as text, or an empty string if there are no values."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return ""
    if known[0] == known[-1]:
        return formatting.microseconds(known[0])
    return f"{formatting.number(known[0])} to {formatting.microseconds(known[-1])} across the cells"


def section(runs: Sequence[Run]) -> Section:
    """Return the section on machines, versions and the instrument."""
    parts: list[tuple[str, Facts]] = []
    for run in runs:
        parts += [
            ("Machine" if len(runs) == 1 else f"Machine of {run.name}", machine(run)),
            *hosts(run),
            ("Noise before the run", noise(run)),
            ("Cost of the instrument", instrument(run)),
            ("Compilers of the nodes", builds(run)),
        ]
    parts += [("Versions", versions(runs)), ("Paths of the messages", paths(runs))]
    parts += [("Files sent as payloads", payload_files(runs))]
    return fact_section("Machine, versions, instrument", [each for each in parts if each[1]])


def fact_section(title: str, parts: Sequence[tuple[str, Facts]]) -> Section:
    """Return a section with several lists of facts side by side."""
    return Section(title, parts=[Section(name, terms=facts) for name, facts in parts], id="machine", style="facts")


def repeat_section(runs: Sequence[Run]) -> Section:
    """Return the section with the commands that repeat the given runs."""
    return Section("Repeat the run", commands=[command(run) for run in runs], id="repeat")


def command(run: Run) -> str:
    """Return the command of a run with the run's seed, so that a repetition uses the run's order of trials."""
    words = recorded_command(run)
    has_seed = any(word == "--seed" or word.startswith("--seed=") for word in words)
    seed = ["--seed", run.text("seed")] if run.text("seed") and not has_seed else []
    return shlex.join([*without(words, ["--out"]), *seed])
