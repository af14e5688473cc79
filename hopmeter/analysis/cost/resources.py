"""Compute the resources used per message: CPU time, context switches, memory and bytes on the loopback device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from hopmeter.analysis.latency.intervals import interval
from hopmeter.analysis.latency.trial import Measured, sum_counter
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.parquet_rows import read_rows

SENDERS = ("source", "client", "relay")


def results_of_transport(cell: Cell, trials: Sequence[TrialResult]) -> list[TrialResult]:
    """Return the trials of a cell; for a flow, keep only the nodes that use the flow's transport."""

    def is_used(node: Mapping[str, Any]) -> bool:
        return not cell.flow or str(node.get("carrier", cell.axes.transport)).split()[0] == cell.axes.transport

    return [replace(trial, nodes=[node for node in trial.nodes if is_used(node)]) for trial in trials]


def resources(trials: Sequence[TrialResult], messages: int) -> dict[str, Any]:
    """Return the resource columns of a cell, computed from its good trials. `messages` is the number of messages that
    the sources recorded."""
    if not messages or not any(_readings(trial) for trial in trials):
        return {}
    return {
        "cpu_us_per_message": _cpu_us(trials) / messages,
        "voluntary_switches_per_message": _sum(trials, "voluntary_switches") / messages,
        "involuntary_switches_per_message": _sum(trials, "involuntary_switches") / messages,
        "minor_faults_per_message": _sum(trials, "minor_faults") / messages,
        "major_faults_per_message": _sum(trials, "major_faults") / messages,
        "loopback_bytes_per_message": sum(_loopback(trial) for trial in trials) / messages,
        "rss_peak_mb": max(_total(trial, "rss_peak_bytes") for trial in trials) / 1e6,
        "pss_mb": _pss_mb(trials),
    }


def _pss_mb(trials: Sequence[TrialResult]) -> float | None:
    """Return the largest total proportional set size (PSS) of any trial, or None if no trial reports the PSS of every
    process."""
    known = [trial for trial in trials if (found := _readings(trial)) and all("pss_bytes" in each for each in found)]
    return max(_total(trial, "pss_bytes") for trial in known) / 1e6 if known else None


def core_share(trials: Sequence[TrialResult], measured: Sequence[Measured], pairs: int) -> dict[str, Any]:
    """Return the CPU use in percent of one core, with a confidence interval from the spread between trials."""
    rates = [each.achieved_hz for each in measured if each.achieved_hz]
    messages = sum(each.counts.messages for each in measured)
    per_trial = [
        _cpu_us([trial]) / each.counts.messages * each.achieved_hz * pairs / 1e4
        for trial, each in zip(trials, measured, strict=True)
        if each.achieved_hz and each.counts.messages
    ]
    if not rates or not messages or not any(map(_readings, trials)):
        return {}
    share = _cpu_us(trials) / messages * sum(rates) / len(rates) * pairs / 1e4
    low, high = interval(per_trial, share, positive=min(per_trial) > 0) or (None, None)
    return {"cpu_core_percent": share, "cpu_core_percent_low": low, "cpu_core_percent_high": high}


def participants_share(trials: Sequence[TrialResult]) -> dict[str, Any]:
    """Return the CPU use of all participants of a workload in percent of one core, with a confidence interval."""
    shares = [share for trial in trials if (share := trial_core_percent(trial)) is not None]
    if not shares:
        return {}
    mean = sum(shares) / len(shares)
    low, high = interval(shares, mean, positive=min(shares) > 0) or (None, None)
    return {"cpu_core_percent": mean, "cpu_core_percent_low": low, "cpu_core_percent_high": high}


def trial_core_percent(trial: TrialResult) -> float | None:
    """Return the total CPU use of all processes of a trial in percent of one core, or None if no process reported
    it."""
    shares = [
        max(0.0, used.get("user_us", 0) + used.get("system_us", 0) - _spun_us(node)) / (used["interval_ns"] / 1e5)
        for node in trial.nodes
        if (used := node.get("resources")) and used.get("interval_ns")
    ]
    return sum(shares) if shares else None


def _spun_us(node: Mapping[str, Any]) -> float:
    return float(sum(each.get("pacing_ns", 0) for each in node.get("endpoints", [])) / 1000)


def _cpu_us(trials: Sequence[TrialResult]) -> float:
    """Return the CPU time of all nodes in µs.

    The time that a source spins to send on time is excluded, because hopmeter, not the transport, uses this time.
    """
    pacing_us = sum(sum_counter(trial, "pacing_ns") for trial in trials) / 1000
    return max(0.0, _sum(trials, "user_us") + _sum(trials, "system_us") - pacing_us)


def _readings(trial: TrialResult) -> list[dict[str, Any]]:
    return [node["resources"] for node in trial.nodes if node.get("resources")]


def _total(trial: TrialResult, name: str) -> int:
    return sum(each.get(name, 0) for each in _readings(trial))


def _sum(trials: Sequence[TrialResult], name: str) -> int:
    return sum(_total(trial, name) for trial in trials)


def _loopback(trial: TrialResult) -> int:
    """Return the number of bytes that crossed the loopback device. Every node counts the bytes of the whole machine, so
    the largest count is the most complete one."""
    return max((each.get("loopback_bytes", 0) for each in _readings(trial)), default=0)


def reports(trials: Sequence[TrialResult]) -> dict[str, Any]:
    """Return the columns that the nodes report, such as the library version and how the transport carried the
    messages."""
    return {
        "forward_copies_per_message": _forward_copies(trials),
        "send_mean_us": _send_mean_us(trials),
        "empty_hop_us": _empty_hop_us(trials),
        "library_version": _library_version(trials),
        "carried_by": _path(trials),
    }


def _forward_copies(trials: Sequence[TrialResult]) -> float | None:
    """Return how often relays and servers copied the payload per sent message."""
    sent = sum(sum_counter(trial, "sent", SENDERS) for trial in trials)
    return sum(sum_counter(trial, "copies") for trial in trials) / sent if sent else None


def _send_mean_us(trials: Sequence[TrialResult]) -> float | None:
    """Return the mean duration of a source's send call in µs."""
    sent = sum(sum_counter(trial, "sent", ("source",)) for trial in trials)
    return sum(sum_counter(trial, "send_ns", ("source",)) for trial in trials) / sent / 1000 if sent else None


def _empty_hop_us(trials: Sequence[TrialResult]) -> float | None:
    """Return hopmeter's own overhead per message in µs: the median over all sources, measured by calling the receiver
    directly."""
    endpoints = [each for trial in trials for node in trial.nodes for each in node.get("endpoints", [])]
    values = [each["empty_hop_ns"] for each in endpoints if each.get("empty_hop_ns") is not None]
    return median(values) / 1000 if values else None


def _library_version(trials: Sequence[TrialResult]) -> str | None:
    """Return the library versions that the nodes report, joined by commas, or None if no node reports a version."""
    said = (node.get("version") for trial in trials for node in trial.nodes)
    return ", ".join(dict.fromkeys(str(each) for each in said if each)) or None


def _path(trials: Sequence[TrialResult]) -> str | None:
    """Return the route that the transport reports for the messages, such as shared memory, or None if no node reports a
    route."""
    said = (node.get("facts", {}).get("path") for trial in trials for node in trial.nodes)
    return ", ".join(dict.fromkeys(str(each) for each in said if each)) or None


def fallbacks(trials: Sequence[TrialResult]) -> list[str]:
    """Return a warning for each fallback that a transport reports, such as UDP instead of shared memory."""
    return [tag("W-FALLBACK", text) for text in _facts(trials, "fallback")]


def stops(trials: Sequence[TrialResult]) -> list[str]:
    """Return a warning for each process that was stopped during a trial. Latencies include the time during which a
    process was stopped."""
    return [
        tag(
            "W-PROCESS-STOPPED",
            f"{_name(number, node)} was stopped for {node['stopped_s']:.3g} s in trial {trial.trial}",
        )
        for trial in trials
        for number, node in enumerate(trial.nodes)
        if node.get("stopped_s")
    ]


def _name(number: int, node: Mapping[str, Any]) -> str:
    roles = dict.fromkeys(str(each.get("role")) for each in node.get("endpoints", []))
    return f"node {number} ({'+'.join(roles)})" if roles else str(node.get("facts", {}).get("broker", "the broker"))


def losses(trials: Sequence[TrialResult]) -> list[str]:
    """Return the causes of message loss that the transports report."""
    return [tag("W-LOSS-CAUSE", text) for text in _facts(trials, "loss")]


def _facts(trials: Sequence[TrialResult], fact: str) -> list[str]:
    """Return the lines that the nodes report under the name `fact`, without duplicates."""
    said = (node.get("facts", {}).get(fact) for trial in trials for node in trial.nodes)
    return list(dict.fromkeys(line for each in said for line in str(each or "").splitlines() if line))


def cpu_percent(files: Sequence[Path]) -> dict[str, Any]:
    """Return the columns of the sampled CPU use, summed over all nodes. Return an empty dict if CPU use was not
    sampled."""
    tables = [read_rows(file) for file in files if file.exists()]
    trials = [[row for row in table if row["role"] != "launcher"] for table in tables]
    if not any(trials):
        return {}
    sums = [_sum_of_means(rows) for rows in trials]
    mean = sum(sums) / len(sums)
    low, high = interval(sums, mean, positive=min(sums) > 0) or (None, None)
    columns = {"cpu_percent_mean": mean, "cpu_percent_low": low, "cpu_percent_high": high}
    return {**columns, "cpu_samples": sum(map(len, trials))}


def _sum_of_means(rows: Sequence[dict[str, Any]]) -> float:
    """Return the sum of the mean CPU use of all processes."""
    percents: dict[int, list[float]] = {}
    for row in rows:
        percents.setdefault(row["pid"], []).append(row["percent"])
    return sum(sum(each) / len(each) for each in percents.values())
