"""Compute the resource use of each process of a cell: the median, minimum and maximum over its trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

from hopmeter.analysis.results.run_results import Row
from hopmeter.store.disk import DamagedRunError
from hopmeter.store.parquet_rows import read_rows
from hopmeter.store.processes import rows as of_trial

SEVERAL = 4
"""If a role has more processes than this, all processes of the role share one row of the table."""


@dataclass(frozen=True)
class Spread:
    """The median, minimum and maximum of one statistic over all trials."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Process:
    """One process of a cell, or several combined processes. docs/metrics.md explains each statistic."""

    name: str
    roles: str
    language: str
    statistics: Mapping[str, Spread]

    def __getitem__(self, statistic: str) -> Spread | None:
        return self.statistics.get(statistic)

    def as_json(self) -> dict[str, Any]:
        """Return each statistic with its minimum and maximum, or None for unknown statistics."""
        found: dict[str, Any] = {"process": self.name, "roles": self.roles, "language": self.language}
        for name in NAMES:
            each = self[name]
            ends = (each.middle, each.low, each.high) if each else (None, None, None)
            found |= {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), ends, strict=True)}
        return found


NAMES = (
    *("cpu_percent", "user_percent", "system_percent", "spun_percent", "sampled_percent", "cpu_us_per_message"),
    *("voluntary_switches_per_message", "involuntary_switches_per_message"),
    *("voluntary_switches_per_s", "involuntary_switches_per_s"),
    *("minor_faults_per_message", "major_faults_per_message", "rss_peak_mb", "shared_mapped_mb"),
)


def sampled_percent(row: Row, role: str) -> float | None:
    """Return the mean CPU use, in percent, of all processes with the given role, or None if CPU use was not sampled."""
    trials = [trial for trial in row.trials if trial["good"]]
    samples = [each["percent"] for trial in trials for each in _samples(row, trial) if each["role"] == role]
    return fmean(samples) if samples else None


def mapped_mb(row: Row) -> float | None:
    """Return the largest amount of shared memory that any process of a row mapped, in megabytes, or None if the amount
    is unknown."""
    return max((found.high for each in processes(row) if (found := each["shared_mapped_mb"])), default=None)


@lru_cache(maxsize=1024)
def processes(row: Row) -> tuple[Process, ...]:
    """Return the processes in a row's good trials. The processes of one workload participant are combined."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for trial in row.trials:
        sampled = _mean_by_process(row, trial) if trial["good"] else {}
        together: dict[str, list[dict[str, Any]]] = {}
        for each in of_trial(trial) if trial["good"] else ():
            each["sampled_percent"] = sampled.get(each["pid"])
            together.setdefault(each["participant"] or str(each["process"]), []).append(each)
        for key, used in together.items():
            found.setdefault(key, []).append(used)
    return tuple(map(_process, found.values()))


def _mean_by_process(row: Row, trial: Mapping[str, Any]) -> dict[int, float]:
    """Return the mean CPU use of each process, keyed by process id."""
    percents: dict[int, list[float]] = {}
    for each in _samples(row, trial):
        percents.setdefault(each["pid"], []).append(each["percent"])
    return {pid: fmean(each) for pid, each in percents.items()}


def _samples(row: Row, trial: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the CPU samples of a trial, or an empty list if the samples are missing or damaged."""
    path: Path = row.run.folder / "cpu" / f"{row.id}-{trial['trial']}.parquet"
    try:
        return read_rows(path) if path.exists() else []
    except DamagedRunError:
        return []


def _process(trials: Sequence[Sequence[dict[str, Any]]]) -> Process:
    """Summarise the readings of one process over all trials. If a workload participant has several processes, their
    readings are added up."""
    first, *others = trials[0]
    name = f"{first['participant']}, {len(others) + 1} processes" if others else first["name"]
    roles = "+".join(dict.fromkeys(role for each in trials[0] for role in each["roles"].split("+")))
    return Process(name, roles, first["language"] or "", _spreads([_sum(map(_statistics, each)) for each in trials]))


def _sum(statistics: Iterable[dict[str, float | None]]) -> dict[str, float | None]:
    """Sum each statistic over all processes. The sum of a statistic that no process reports is None."""
    each = list(statistics)
    known = {name: [value for one in each if (value := one[name]) is not None] for name in NAMES}
    return {name: sum(values) if values else None for name, values in known.items()}


def _statistics(used: dict[str, Any]) -> dict[str, float | None]:
    """Return the statistics of one process in one trial. `cpu_percent` excludes the time that a source spins to send on
    time."""
    messages, seconds = used["messages"], used["interval_s"]
    user, system, spun = used["user_us"] or 0, used["system_us"] or 0, used["spun_us"]
    cpu = max(0.0, user + system - spun)
    shares = {"cpu_percent": cpu, "user_percent": user, "system_percent": system, "spun_percent": spun or None}
    counts = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
    return {
        **{name: _over(us, seconds and seconds * 1e4) for name, us in shares.items()},
        "sampled_percent": used["sampled_percent"],
        "cpu_us_per_message": _over(cpu, messages),
        **{f"{name}_per_message": _over(used[name], messages) for name in counts},
        **{f"{name}_per_s": _over(used[name], seconds) for name in counts[:2]},
        **{name: used[name] for name in ("rss_peak_mb", "shared_mapped_mb")},
    }


def _over(value: float | None, whole: float | None) -> float | None:
    return None if value is None or not whole else value / whole


def _spreads(each: Sequence[Mapping[str, float | None]]) -> dict[str, Spread]:
    found = {name: [known for one in each if (known := one[name]) is not None] for name in NAMES}
    return {name: Spread(median(known), min(known), max(known)) for name, known in found.items() if known}


def merge_roles(processes: Sequence[Process]) -> Iterator[Process]:
    """Yield all processes; if a role has many processes, merge them into one."""
    alike: dict[tuple[str, str], list[Process]] = {}
    for each in processes:
        alike.setdefault((each.roles, each.language), []).append(each)
    for (role, language), found in alike.items():
        if len(found) > SEVERAL:
            yield Process(f"{len(found)} {role}s, each", role, language, _merge(found))
        else:
            yield from found


def _merge(processes: Sequence[Process]) -> dict[str, Spread]:
    """Return the median of the processes' medians, with the minimum and the maximum over all processes."""
    known = {name: [found for each in processes if (found := each[name])] for name in NAMES}
    return {
        name: Spread(median(one.middle for one in each), min(one.low for one in each), max(one.high for one in each))
        for name, each in known.items()
        if each
    }
