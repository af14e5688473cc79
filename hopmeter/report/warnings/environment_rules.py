"""Warnings about the environment: the machine, its noise, and inconsistent versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hopmeter.analysis.cost.steal import steal_of
from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.message_samples import trials
from hopmeter.analysis.results.run_results import Run
from hopmeter.machine.measured import STEAL_PERCENT
from hopmeter.plan.workloads.crowding import crowding
from hopmeter.report.warnings.warning_rules import Caution, measured_rows, names, rule, sentence
from hopmeter.report.words import formatting
from hopmeter.report.words.steal_sentences import steal_sentence

WORST_STEAL_PERCENT = 5.0
"""A trial causes a warning if the hypervisor took at least this percentage of its cores' time."""
NOISY_GAP_US = 100.0
"""Interruptions of a core that are longer than this cause latency tails that do not come from the transport."""


@rule
def noise(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if the machine interrupted a spinning thread for a long time before the run."""
    cores = [core for run in runs for core in run.part("noise").get("cores", [])]
    worst: dict[str, Any] | None = max(cores, key=lambda core: core["longest_us"], default=None)
    if worst and worst["longest_us"] > NOISY_GAP_US:
        yield Caution(
            "W-NOISE",
            "A noisy machine",
            f"Before the run, a spinning thread on core {worst['core']} was interrupted for up to "
            f"{formatting.microseconds(worst['longest_us'])}. Latency tails of this length come from the machine, not "
            "from the transport.",
        )


@rule
def crowding_warning(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if a workload runs many more programs than there are cores."""
    cells = ((run, [row.cell for row in run.measured_rows]) for run in runs)
    for text in formatting.distinct(crowding(own, run.part("machine").get("usable_cores") or ()) for run, own in cells):
        yield Caution("W-CROWDED", "More programs than cores", text)


@rule
def damaged_samples(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn about sample files that cannot be read. The messages in unreadable files are missing from figures, although
    the tables count these messages."""
    rows = [row for row in measured_rows(runs) if len(trials(row)) < sum(map(_has_samples, row.trials))]
    if rows:
        folders = ", ".join(sorted({str(row.run.folder) for row in rows}))
        yield Caution(
            "W-SAMPLES",
            "Sample files are damaged",
            f"{names(rows)}: some sample files under {folders} cannot be read, so figures leave out their trials. "
            "Restore the files from a copy, or measure again.",
            grave=True,
        )


def _has_samples(trial: dict[str, Any]) -> bool:
    return bool(trial["good"] and trial.get("samples"))


@rule
def stolen_time(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if the hypervisor stole a large share of the CPU time during the trials."""
    found = steal_of(runs)
    if found and (100 * found.share >= STEAL_PERCENT or 100 * found.worst >= WORST_STEAL_PERCENT):
        yield Caution(
            "W-STEAL", "Stolen time", f"{steal_sentence(runs)} Stolen time increases tails, and sometimes medians."
        )


@rule
def mixed_versions(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if rows that agree in transport, language and settings used different versions of a library."""
    seen: dict[tuple[str, str, str], set[str]] = {}
    for row in measured_rows(runs):
        if row["library_version"]:
            key = (row["transport"], row["language"], str(row["profile"] or ""))
            seen.setdefault(key, set()).add(str(row["library_version"]))
    versions_of: dict[tuple[str, str], set[str]] = {}
    for (transport, language, _), versions in seen.items():
        if len(versions) > 1:
            versions_of.setdefault((transport, language), set()).update(versions)
    for (transport, language), versions in versions_of.items():
        said = f"{transport} ({language}) was measured with library versions {formatting.join(sorted(versions))}."
        yield Caution("W-MIXED-VERSIONS", "Mixed versions", said, grave=True)


@rule
def mixed_machines(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if the runs come from several machines."""
    if len(machine_names.hosts(runs)) > 1:
        yield Caution(
            "W-MACHINES",
            "Several machines",
            "The runs come from different machines, systems or kernels, so each machine has its own tables. Between "
            "machines, compare the order of rows, not their latencies.",
        )


@rule
def findings(runs: Sequence[Run]) -> Iterator[Caution]:
    """Return the findings of `hopmeter doctor` on the machine and the hosts as warnings."""
    seen: dict[str, Caution] = {}
    for run in runs:
        own = [("Machine", each) for each in run.findings if each.get("level") in ("note", "hurts")]
        others = [(f"Host {formatting.join(machine_names)}", each) for machine_names, each in run.host_findings]
        for place, finding in [*own, *others]:
            title = f"{place}: {finding.get('subject')}"
            text = (str(finding.get(key) or "") for key in ("says", "remedy"))
            code = str(finding.get("code") or "W-MACHINE")
            seen[title] = Caution(code, title, f"{sentence('; '.join(formatting.distinct(text)))}.")
    yield from seen.values()
