"""What each process of a cell used: the middle of its trials, and the least and the most of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.report import formatting
from hopmeter.report.grouping import Group
from hopmeter.report.source import Row
from hopmeter.report.studies.beside import published_cpu
from hopmeter.store.processes import rows as of_trial

SEVERAL = 4
"""More processes of one role than this are told together; each by itself stands below."""


@dataclass(frozen=True)
class Spread:
    """One figure over the trials."""

    middle: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """`12.4`; two digits of what is rare."""
        return formatting.number(self.middle, 3 if self.middle >= 1 else 2)

    @property
    def between(self) -> str:
        """`12 to 13`, which two digits tell well enough; empty where all are alike, or there is one."""
        low, high = (formatting.number(end, 2) for end in (self.low, self.high))
        return f"{low} to {high}" if low != high else ""


@dataclass(frozen=True)
class Process:
    """One process of a cell, or several of one role together; docs/metrics.md says what each figure is."""

    name: str
    roles: str
    language: str
    figures: Mapping[str, Spread]
    published: str = ""
    """What a study under the same conditions says of its CPU."""

    def __getitem__(self, figure: str) -> Spread | None:
        return self.figures.get(figure)

    def as_json(self) -> dict[str, Any]:
        """Each figure with its ends."""
        told: dict[str, Any] = {"process": self.name, "roles": self.roles, "language": self.language}
        for name in NAMES:
            found = self[name]
            told |= {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), _ends(found), strict=True)}
        return told


def _ends(found: Spread | None) -> tuple[float | None, float | None, float | None]:
    return (found.middle, found.low, found.high) if found else (None, None, None)


@dataclass(frozen=True)
class Used:
    """A row and its processes."""

    row: Row
    name: str
    processes: tuple[Process, ...]
    told: tuple[Process, ...]
    """The same with those of one role together where they are many."""

    @property
    def summary(self) -> str:
        """`22 processes, 140 % of a core, 88 MB`."""
        whole = {name: [each[name] for each in self.processes] for name in ("cpu_percent", "rss_peak_mb")}
        sums = {name: sum(each.middle for each in found if each) for name, found in whole.items() if any(found)}
        many = formatting.plural(len(self.processes), "process", "processes")
        cpu = f"{formatting.number(sums['cpu_percent'])}{formatting.THIN}% of a core" if "cpu_percent" in sums else ""
        memory = f"{formatting.number(sums['rss_peak_mb'])}{formatting.THIN}MB" if "rss_peak_mb" in sums else ""
        return ", ".join(formatting.distinct([many, cpu, memory]))


NAMES = (
    *("cpu_percent", "user_percent", "system_percent", "spun_percent", "sampled_percent", "cpu_us_per_message"),
    *("voluntary_switches_per_message", "involuntary_switches_per_message"),
    *("minor_faults_per_message", "major_faults_per_message", "rss_peak_mb", "shared_mapped_mb"),
)


def used(group: Group) -> list[Used]:
    """The rows of a group that were measured, in its order; none where its trials told nothing."""
    found = [(row, processes(row)) for row in group.rows]
    return [Used(row, group.label(row), each, tuple(_together(each))) for row, each in found if each]


def is_sampled(rows: Iterable[Used]) -> bool:
    """Whether CPU was sampled every second, so that somebody asks for it."""
    return any(process["sampled_percent"] for each in rows for process in each.processes)


def is_shared(rows: Iterable[Used]) -> bool:
    """Whether any process had shared memory mapped."""
    return any(mapped_mb(each.row) for each in rows)


def mapped_mb(row: Row) -> float | None:
    """The most shared memory that a process of a row had mapped, in 10⁶ bytes; None where none told."""
    return max((found.high for each in processes(row) if (found := each["shared_mapped_mb"])), default=None)


@lru_cache(maxsize=1024)
def processes(row: Row) -> tuple[Process, ...]:
    """Every process of a row's good trials."""
    found: dict[int, list[dict[str, Any]]] = {}
    for trial in row.trials:
        sampled = _sampled(row, trial) if trial["good"] else {}
        for each in of_trial(trial) if trial["good"] else ():
            each["sampled_percent"] = sampled.get(each["pid"])
            found.setdefault(each["process"], []).append(each)
    study = published_cpu(row)
    return tuple(_process(found[number], study, alone=len(found) == 1) for number in sorted(found))


def _sampled(row: Row, trial: Mapping[str, Any]) -> dict[int, float]:
    """The mean of each process's samples, by its number; empty where none were taken, or they are damaged since."""
    path: Path = row.run.folder / "cpu" / f"{row.id}-{trial['trial']}.parquet"
    try:
        table = pq.read_table(path).to_pylist() if path.exists() else []
    except (OSError, pa.ArrowException):
        return {}
    percents: dict[int, list[float]] = {}
    for each in table:
        percents.setdefault(each["pid"], []).append(each["percent"])
    return {pid: fmean(each) for pid, each in percents.items()}


def _process(trials: Sequence[dict[str, Any]], study: Mapping[str, str], alone: bool) -> Process:
    first = trials[0]
    figures = _spreads([_figures(each) for each in trials])
    published = study.get("process" if alone else first["roles"], "")
    return Process(first["name"], first["roles"], first["language"] or "", figures, published)


def _figures(used: dict[str, Any]) -> dict[str, float | None]:
    """One process of one trial. What a source spun to be punctual is left out of `cpu`, as it is everywhere."""
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
        **{name: used[name] for name in ("rss_peak_mb", "shared_mapped_mb")},
    }


def _over(value: float | None, whole: float | None) -> float | None:
    return None if value is None or not whole else value / whole


def _spreads(each: Sequence[Mapping[str, float | None]]) -> dict[str, Spread]:
    found = {name: [known for one in each if (known := one[name]) is not None] for name in NAMES}
    return {name: Spread(median(known), min(known), max(known)) for name, known in found.items() if known}


def _together(processes: Sequence[Process]) -> Iterator[Process]:
    """Processes of one role as one where they are many, at the place of the first."""
    alike: dict[tuple[str, str], list[Process]] = {}
    for each in processes:
        alike.setdefault((each.roles, each.language), []).append(each)
    for (role, language), found in alike.items():
        if len(found) > SEVERAL:
            yield Process(f"{len(found)} {role}s, each", role, language, _joined(found))
        else:
            yield from found


def _joined(processes: Sequence[Process]) -> dict[str, Spread]:
    """The middle one of them; the ends are the least and the most of any."""
    known = {name: [found for each in processes if (found := each[name])] for name in NAMES}
    return {
        name: Spread(median(one.middle for one in each), min(one.low for one in each), max(one.high for one in each))
        for name, each in known.items()
        if each
    }
