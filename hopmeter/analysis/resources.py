"""What a message cost besides time: CPU, switches, memory, bytes over the loopback device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from hopmeter.analysis.percentiles import interval
from hopmeter.analysis.trial import sum_counter
from hopmeter.model.trial import TrialResult

SENDERS = ("source", "client", "relay")


def resources(trials: Sequence[TrialResult], messages: int) -> dict[str, Any]:
    """The columns of the good trials. `messages` is what their sources recorded in all."""
    if not messages or not any(_readings(trial) for trial in trials):
        return {}
    # What a source spun to be punctual is the instrument's CPU; a program that just sends would not spend it.
    pacing_us = sum(sum_counter(trial, "pacing_ns") for trial in trials) / 1000
    cpu_us = max(0.0, _sum(trials, "user_us") + _sum(trials, "system_us") - pacing_us)
    return {
        "cpu_us_per_message": cpu_us / messages,
        "voluntary_switches_per_message": _sum(trials, "voluntary_switches") / messages,
        "involuntary_switches_per_message": _sum(trials, "involuntary_switches") / messages,
        "minor_faults_per_message": _sum(trials, "minor_faults") / messages,
        "major_faults_per_message": _sum(trials, "major_faults") / messages,
        "loopback_bytes_per_message": sum(_loopback(trial) for trial in trials) / messages,
        "rss_peak_mb": max(_total(trial, "rss_peak_bytes") for trial in trials) / 1e6,
    }


def _readings(trial: TrialResult) -> list[dict[str, Any]]:
    return [node["resources"] for node in trial.nodes if node.get("resources")]


def _total(trial: TrialResult, name: str) -> int:
    return sum(each.get(name, 0) for each in _readings(trial))


def _sum(trials: Sequence[TrialResult], name: str) -> int:
    return sum(_total(trial, name) for trial in trials)


def _loopback(trial: TrialResult) -> int:
    """The device is one for all nodes, so each of them saw the bytes of all: the one that saw most looked longest."""
    return max((each.get("loopback_bytes", 0) for each in _readings(trial)), default=0)


def reports(trials: Sequence[TrialResult]) -> dict[str, Any]:
    """The columns that repeat or add up what the nodes reported besides what they used."""
    return {
        "copies_per_hop": _copies_per_hop(trials),
        "send_mean_us": _send_mean_us(trials),
        "empty_hop_us": _empty_hop_us(trials),
        "library_version": _library_version(trials),
        "path": _path(trials),
    }


def _copies_per_hop(trials: Sequence[TrialResult]) -> float | None:
    """Copies of a payload that the instrument had to make, for each message handed over."""
    sent = sum(sum_counter(trial, "sent", SENDERS) for trial in trials)
    return sum(sum_counter(trial, "copies") for trial in trials) / sent if sent else None


def _send_mean_us(trials: Sequence[TrialResult]) -> float | None:
    """How long a source was held by a send, from its stamp to its return, on average."""
    sent = sum(sum_counter(trial, "sent", ("source",)) for trial in trials)
    return sum(sum_counter(trial, "send_ns", ("source",)) for trial in trials) / sent / 1000 if sent else None


def _empty_hop_us(trials: Sequence[TrialResult]) -> float | None:
    """What a message takes by hopmeter's own code alone, where the sender calls the receiver: the median of sources."""
    participants = [each for trial in trials for node in trial.nodes for each in node.get("participants", [])]
    values = [each["empty_hop_ns"] for each in participants if each.get("empty_hop_ns") is not None]
    return median(values) / 1000 if values else None


def _library_version(trials: Sequence[TrialResult]) -> str | None:
    """What the libraries say of themselves; several where languages differ."""
    said = (node.get("version") for trial in trials for node in trial.nodes)
    return ", ".join(dict.fromkeys(str(each) for each in said if each)) or None


def _path(trials: Sequence[TrialResult]) -> str | None:
    """Which way the transport says the bytes went, where it does."""
    said = (node.get("facts", {}).get("path") for trial in trials for node in trial.nodes)
    return ", ".join(dict.fromkeys(str(each) for each in said if each)) or None


def fallbacks(trials: Sequence[TrialResult]) -> list[str]:
    """What the transports did otherwise than asked, in their own words: UDP in place of shared memory."""
    return _facts(trials, "fallback")


def stops(trials: Sequence[TrialResult]) -> list[str]:
    """Which processes were stopped while they measured, and for how long. Figures of such a trial show the pause."""
    return [
        f"{_name(number, node)} was stopped for {node['stopped_s']:.3g} s in trial {trial.trial}"
        for trial in trials
        for number, node in enumerate(trial.nodes)
        if node.get("stopped_s")
    ]


def _name(number: int, node: Mapping[str, Any]) -> str:
    roles = dict.fromkeys(str(each.get("role")) for each in node.get("participants", []))
    return f"node {number} ({'+'.join(roles)})" if roles else str(node.get("facts", {}).get("daemon", "the broker"))


def losses(trials: Sequence[TrialResult]) -> list[str]:
    """What lost messages are due to, as far as the transports know."""
    return _facts(trials, "loss")


def _facts(trials: Sequence[TrialResult], fact: str) -> list[str]:
    said = (node.get("facts", {}).get(fact) for trial in trials for node in trial.nodes)
    return list(dict.fromkeys(str(each) for each in said if each))


def cpu_percent(files: Sequence[Path]) -> dict[str, Any]:
    """The columns of CPU sampled over time: the nodes' means, summed. Empty where it was not sampled."""
    tables = [pq.read_table(file).to_pylist() for file in files if file.exists()]
    trials = [[row for row in table if row["role"] != "launcher"] for table in tables]
    if not any(trials):
        return {}
    sums = [_sum_of_means(rows) for rows in trials]
    mean = sum(sums) / len(sums)
    low, high = interval(sums, mean, positive=min(sums) > 0) or (None, None)
    columns = {"cpu_percent_mean": mean, "cpu_percent_low": low, "cpu_percent_high": high}
    return {**columns, "cpu_samples": sum(map(len, trials))}


def _sum_of_means(rows: Sequence[dict[str, Any]]) -> float:
    """Each process's mean, added up."""
    percents: dict[int, list[float]] = {}
    for row in rows:
        percents.setdefault(row["pid"], []).append(row["percent"])
    return sum(sum(each) / len(each) for each in percents.values())
