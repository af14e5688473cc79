"""Create and read baselines. A baseline is a copy, without samples, of at least three runs that started an hour or more
apart."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hopmeter.analysis.results.run_results import Run, read_finished
from hopmeter.comparison import matching
from hopmeter.errors import UsageError
from hopmeter.store.disk import writing
from hopmeter.store.names import NAMES
from hopmeter.system import paths

FOLDER = "baselines"
LEAST_RUNS = 3
HOUR_S = 3600.0
FILES = ("run.json", "cells.parquet", "trials.parquet", "flows.parquet", "processes.parquet")
"""The files of a run that a comparison reads."""


@dataclass(frozen=True)
class Baseline:
    """A named set of runs."""

    name: str
    runs: tuple[Run, ...]


def baselines_folder() -> Path:
    """Return the directory that contains all baselines."""
    return paths.results() / FOLDER


def names() -> list[str]:
    """Return the sorted names of all baselines."""
    folder = baselines_folder()
    return (
        sorted(each.name for each in folder.iterdir() if each.is_dir() and NAMES.fullmatch(each.name))
        if (folder.is_dir())
        else []
    )


def load(name: str) -> Baseline:
    """Read a baseline. Raises UsageError if there is no baseline with this name."""
    folder = baselines_folder() / name
    if not NAMES.fullmatch(name) or not folder.is_dir():
        known = f"there are {', '.join(names())}" if names() else "`hopmeter baseline NAME RUN RUN RUN` makes one"
        raise UsageError("E-NO-BASELINE", f"{name} is neither a run folder nor a baseline", known)
    runs = [each for each in sorted(folder.iterdir()) if (each / "run.json").exists()]
    return Baseline(name, tuple(map(read_finished, runs)))


def store(name: str, folders: Sequence[Path]) -> Baseline:
    """Create a baseline from runs, and return it.

    Raises UsageError if the name of the baseline is invalid or taken, or if fewer than three runs started at least an
    hour apart. UsageError is also raised if the runs come from several machines or have no cell in common.
    """
    final = baselines_folder() / name
    if not NAMES.fullmatch(name):
        raise UsageError("E-NAME", f"`{name}` is not a valid name of a baseline", "use letters, digits and . _ + -")
    if final.exists():
        raise UsageError("E-EXISTS", f"the baseline {name} exists already", f"choose another name, or remove {final}")
    runs = [read_finished(folder) for folder in folders]
    _check(name, runs)
    with writing(final):
        partial = final.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        for number, run in enumerate(sorted(runs, key=_start)):
            _copy(run.folder, partial / f"{number}-{run.name}")
        partial.rename(final)
    return load(name)


def _copy(run: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in FILES:
        if (run / file).exists():
            shutil.copy2(run / file, target / file)


def _check(name: str, runs: Sequence[Run]) -> None:
    matching.check_machine(runs, f"make a baseline for each machine: hopmeter baseline {name} RUN RUN RUN")
    hours = _hours([_start(run) for run in runs])
    if hours < LEAST_RUNS:
        raise UsageError(
            "E-BASELINE-RUNS",
            f"baseline {name}: {LEAST_RUNS} runs at least an hour apart are needed; these {len(runs)} have {hours}",
            "measure the scenario again at another hour: only runs of different hours show how this machine drifts",
        )
    keys = [set(matching.rows_by_key(run)) for run in runs]
    if not set.intersection(*keys):
        raise UsageError("E-COMPARE-NOTHING", f"baseline {name}: its runs have no cell in common", "name other runs")


def _start(run: Run) -> datetime:
    try:
        return datetime.fromisoformat(run.text("started")).astimezone()
    except ValueError as cause:
        remedy = "name runs of this version of hopmeter"
        raise UsageError("E-RUN-DAMAGED", f"{run.folder} does not contain its start time", remedy) from cause


def _hours(starts: Sequence[datetime]) -> int:
    """Return the size of the largest set of start times that are all at least an hour apart."""
    found: list[datetime] = []
    for start in sorted(starts):
        if not found or (start - found[-1]).total_seconds() >= HOUR_S:
            found.append(start)
    return len(found)
