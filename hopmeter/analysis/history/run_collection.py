"""Find and read runs in directories."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.run_results import Run, read_finished
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.store.pack import SUFFIX


def read_runs(places: Sequence[Path], trials: bool = True) -> list[Run]:
    """Read the given runs and all runs in the given directories, and return them in chronological order.

    If several copies of a run are found, such as a packed run or a baseline, only one copy is returned. An unreadable
    run inside a directory is skipped with a warning. Raises HopmeterError if no run is found, or if a run that the user
    named directly is unreadable.
    """
    found: dict[tuple[str, ...], Run] = {}
    seen: set[Path] = set()
    for place in places:
        for folder in find_runs(place):
            if folder.resolve() not in seen and (run := _read(folder, folder == place, trials)):
                found.setdefault(_identity(run), run)
            seen.add(folder.resolve())
    if not found:
        where = ", ".join(map(str, places))
        raise UsageError("E-NO-RUN", f"there is no run in {where}", "name a run, or a folder with runs")
    return sorted(found.values(), key=lambda run: (start(run), run.name))


def start(run: Run) -> datetime:
    """Return when the run started. A run without a valid start time sorts before all other runs."""
    try:
        started = datetime.fromisoformat(run.text("started"))
    except ValueError:
        started = datetime.min
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _identity(run: Run) -> tuple[str, ...]:
    """Return a key that is equal for copies of the same run and different for any other run."""
    return run.name, run.text("started"), run.text("seed"), *machine_names.host(run)


def _read(folder: Path, is_named: bool, trials: bool) -> Run | None:
    try:
        return read_finished(folder, trials)
    except HopmeterError as error:
        if is_named:
            raise
        warnings.warn(f"left out: {error}", stacklevel=3)
        return None


def find_runs(place: Path) -> Iterator[Path]:
    """Yield the given run, or all runs inside the given directory, including unfinished and packed runs."""
    if place.is_file() or _is_run(place) or not place.is_dir():
        yield place
        return
    for path, folders, files in os.walk(place):
        here = Path(path)
        yield from (here / name for name in sorted(files) if name.endswith(SUFFIX))
        runs = [name for name in sorted(folders) if _is_run(here / name)]
        yield from (here / name for name in runs)
        folders[:] = [name for name in sorted(folders) if name not in runs and not name.startswith(".")]


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()
