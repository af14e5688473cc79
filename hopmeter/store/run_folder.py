"""Read and write a run folder, which contains all results of one execution of a scenario and is readable after every
trial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.model.columns import CELLS, PROCESSES, TRIALS
from hopmeter.model.trial import TrialResult
from hopmeter.store import processes
from hopmeter.store.causes import remove_samples, write_causes
from hopmeter.store.disk import DamagedRunError, DiskFullError, StoreError, append_lines, replacing, write_json, writing
from hopmeter.store.formats import FORMAT, convert_nodes, convert_run
from hopmeter.store.names import check_name
from hopmeter.store.pack import refuse_packed, run_directory, write_pack
from hopmeter.store.parquet_rows import read_rows
from hopmeter.store.samples import write_parquet
from hopmeter.store.schemas import table
from hopmeter.system.input_files import read_text
from hopmeter.system.untrusted_json import parse

LATER = (
    *("round", "steal_share", "turn_s", "background_cpu_percent", "background_memory_gb_s"),
    *("killed_ns", "restarted_ns", "ready_ns", "restart_error"),
)
"""The trial columns that runs of older versions lack."""
BY_HAND = "by-hand.json"
"""The file that an interactive measurement writes instead of `run.json`: the request, the machines and the result."""


class RunFolder:
    """A run on disk. The run folder is named `.NAME.partial` until `finish` renames it."""

    def __init__(self, path: Path, about: dict[str, Any], trials: dict[tuple[str, int], TrialResult]) -> None:
        self.path = path
        self.about = about
        """The content of `run.json`."""
        self._trials = trials
        self._judged: dict[tuple[str, int], dict[str, Any]] = {}

    @classmethod
    def create(cls, results: Path, name: str, about: dict[str, Any]) -> RunFolder:
        """Create the folder of a new run.

        Raises UsageError if a finished or unfinished run named `name` exists, and StoreError if the folder cannot be
        written.
        """
        check_name(name, "run")
        about = {"format": FORMAT, **about}
        partial = _partial(results / name)
        for taken in (results / name, partial):
            if taken.exists():
                remedy = "continue with --resume, or name another folder with --out"
                raise UsageError("E-RUN-EXISTS", f"the results folder {taken} already exists", remedy)
        with writing(partial):
            for part in ("samples", "logs", "cpu"):
                (partial / part).mkdir(parents=True)
        write_json(partial / "run.json", about)
        return cls(partial, about, {})

    @classmethod
    def open(cls, path: Path, trials: bool = True) -> RunFolder:
        """Open a finished, unfinished or packed run for reading. If `trials` is False, the trials of the run are not
        read.

        Raises UsageError if there is no run at `path`, and StoreError if the run is damaged.
        """
        path = run_directory(path if path.exists() or not _partial(path).exists() else _partial(path))
        about = _read_about(path)
        try:
            about = convert_run(about)
        except (AttributeError, KeyError, TypeError) as cause:
            raise _odd(path, cause) from cause
        return cls(path, about, {(each.cell, each.trial): each for each in (_read_trials(path) if trials else [])})

    @classmethod
    def resume(cls, path: Path) -> RunFolder:
        """Open a run to resume it. A resumed run keeps its good trials, and runs all other trials again."""
        refuse_packed(path)
        run = cls.open(path)
        run._trials = {key: each for key, each in run._trials.items() if each.good}
        _write_lines(run.path / "trials.jsonl", run.trials)
        if not run.is_finished:
            return run
        partial = _partial(run.path)
        with writing(partial):
            run.path = run.path.rename(partial)
        return run

    @property
    def is_finished(self) -> bool:
        """Return whether the run is finished. A finished run's folder has its final name."""
        return not self.path.name.startswith(".")

    @property
    def final_path(self) -> Path:
        """Return the path of the run folder after `finish`. `open` also accepts this path for an unfinished run."""
        return _final(self.path)

    @property
    def logs(self) -> Path:
        """Return the directory that contains the logs of the nodes."""
        return self.path / "logs"

    @property
    def cells(self) -> list[Cell]:
        """Return the planned cells of the run, including dropped cells. Raises StoreError if this version of hopmeter
        cannot read the cells."""
        try:
            return [Cell.from_json(row) for row in self.about.get("cells", [])]
        except (KeyError, TypeError) as cause:
            raise self.odd(cause) from cause

    def odd(self, cause: object) -> StoreError:
        """Return the error to raise if `run.json` has unexpected content."""
        return _odd(self.path, cause)

    @property
    def trials(self) -> list[TrialResult]:
        """Return all trials that the run has stored so far, in execution order."""
        return list(self._trials.values())

    def trials_of(self, cell: str) -> list[TrialResult]:
        """Return the trials of one cell, sorted by trial number."""
        return sorted((each for each in self.trials if each.cell == cell), key=lambda each: each.trial)

    def has(self, cell: str, trial: int) -> bool:
        """Return whether the run already contains the trial number `trial` of a cell."""
        return (cell, trial) in self._trials

    def cpu_path(self, cell: str, trial: int) -> Path:
        """Return the path of a trial's CPU samples."""
        return self.path / "cpu" / f"{cell}-{trial}.parquet"

    def note(self, **facts: Any) -> None:
        """Add facts to `run.json`, and write `run.json` to disk."""
        self.about |= facts
        write_json(self.path / "run.json", self.about)

    def add_trial(self, result: TrialResult, raw_files: Sequence[Path]) -> TrialResult:
        """Store a trial and its samples, and return the stored trial.

        A trial with missing or damaged samples is stored as failed, with the reason for the failure. Raises
        DiskFullError or StoreError if the trial cannot be written. If storing a trial fails, earlier trials remain
        intact.
        """
        check_name(result.cell, "cell")
        kept = self._with_samples(result, raw_files)
        append_lines(self.path / "trials.jsonl", kept.as_json())
        self._trials.pop((kept.cell, kept.trial), None)
        self._trials[kept.cell, kept.trial] = kept
        return kept

    def _with_samples(self, result: TrialResult, raw_files: Sequence[Path]) -> TrialResult:
        """Store the samples of a trial, and return the trial with the path of the stored samples. A failed trial may
        lack samples."""
        present = raw_files if result.good else [raw for raw in raw_files if raw.exists()]
        if not present:
            return replace(result, samples="")
        name = f"samples/{result.cell}-{result.trial}.parquet"
        try:
            recorded = write_parquet(present, self.path / name)
            write_causes(present, self.path / name)
        except StoreError as error:
            remove_samples(self.path / name)
            if isinstance(error, DiskFullError):
                raise
            bad = replace(result, good=False, reason=error.message, remedy=error.remedy) if result.good else result
            return replace(bad, samples="")
        if not recorded:
            remove_samples(self.path / name)
        return replace(result, samples=name if recorded else "")

    def judge(self, trial: TrialResult, values: dict[str, Any]) -> None:
        """Record for `trials.parquet` whether a trial is good, together with the trial's statistics."""
        names = ("good", "reason", "remedy", "order", "round", "start_ns", "steal_us", "steal_share")
        verdict = {name: getattr(trial, name) for name in names}
        self._judged[trial.cell, trial.trial] = verdict | values

    def finish(self, cells: Iterable[dict[str, Any]]) -> Path:
        """Write the tables, rename the folder to its final name and return its path. `cells` contains the rows of the
        cells, which the analysis has computed."""
        self.write_tables(cells)
        final = _final(self.path)
        if final.exists() and final != self.path:
            raise UsageError(
                "E-RUN-EXISTS",
                f"the results folder {final} already exists",
                f"move that folder; the run stays in {self.path}",
            )
        (self.path / "trials.jsonl").unlink(missing_ok=True)
        with writing(final):
            for part in ("logs", "cpu"):
                _remove_if_empty(self.path / part)
            self.path = self.path.rename(final)
        return final

    def write_tables(self, cells: Iterable[dict[str, Any]]) -> None:
        """Write `cells.parquet`, `trials.parquet` and `processes.parquet`. The tables of an unfinished run can be
        written too."""
        _write_table(self.path / "cells.parquet", table(cells, CELLS))
        rows = [each.as_json() | {"nodes": json.dumps(each.nodes)} | self._verdict(each) for each in self.trials]
        _write_table(self.path / "trials.parquet", table(rows, TRIALS))
        if parts := self._flow_rows():
            _write_table(self.path / "flows.parquet", table(parts, TRIALS))
        used = (each for trial in self.trials for each in processes.rows(trial.as_json() | self._verdict(trial)))
        _write_table(self.path / "processes.parquet", table(used, PROCESSES))

    def pack(self, out: Path) -> Path:
        """Write the run as one ZIP file. Raises UsageError if the run is unfinished, and StoreError if a file is
        missing."""
        if not self.is_finished:
            remedy = f"finish it with `hopmeter run --resume {_final(self.path)}`"
            raise UsageError("E-RUN-UNFINISHED", f"{self.path} is not finished", remedy)
        return write_pack(self.path, [each.samples for each in self.trials if each.samples], out)

    def _flow_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `flows.parquet`: one per trial of each flow and path of a workload."""
        own = {(trial.cell, trial.trial) for trial in self.trials}
        return [
            {"cell": cell, "trial": trial} | values
            for (cell, trial), values in self._judged.items()
            if (cell, trial) not in own
        ]

    def _verdict(self, trial: TrialResult) -> dict[str, Any]:
        return self._judged.get((trial.cell, trial.trial), {})


def _partial(final: Path) -> Path:
    return final if final.name.startswith(".") else final.with_name(f".{final.name}.partial")


def _final(path: Path) -> Path:
    return path.with_name(path.name.removeprefix(".").removesuffix(".partial"))


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _write_table(path: Path, table: pa.Table) -> None:
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _write_lines(path: Path, trials: Iterable[TrialResult]) -> None:
    with replacing(path) as temporary:
        temporary.write_text("".join(json.dumps(each.as_json()) + "\n" for each in trials), encoding="utf-8")


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = parse(read_text(path / "run.json"))
    except (FileNotFoundError, NotADirectoryError) as cause:
        own = f"this folder contains results of programs that you started by hand: run `hopmeter report {path}`"
        remedy = own if (path / BY_HAND).exists() else "name a folder below results/"
        raise UsageError("E-NO-RUN", f"{path} is not a run folder: it contains no run.json", remedy) from cause
    except (OSError, ValueError) as cause:
        raise _damage_error(path / "run.json", cause) from cause
    if not isinstance(about, dict):
        raise _damage_error(path / "run.json", "its content is not a JSON object")
    return about


def _odd(path: Path, cause: object) -> DamagedRunError:
    said = f"it has no {cause}" if isinstance(cause, KeyError) else cause
    return DamagedRunError(
        "E-RUN-DAMAGED",
        f"{path / 'run.json'} is damaged, or another version of hopmeter wrote it: {said}",
        "read the run with the version that made it (`hopmeter` in run.json), or measure again",
    )


def _damage_error(path: Path, cause: object) -> DamagedRunError:
    return DamagedRunError("E-FILE-DAMAGED", f"{path} is damaged: {cause}", "restore it from a copy, or measure again")


def _read_trials(path: Path) -> list[TrialResult]:
    """Read trials from JSON lines if the run is unfinished, otherwise from the table `trials.parquet`."""
    lines = path / "trials.jsonl"
    if lines.exists():
        return _read_lines(lines)
    if not (path / "trials.parquet").exists():
        return []
    try:
        return [_trial(row) for row in read_rows(path / "trials.parquet")]
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        raise _damage_error(path / "trials.parquet", cause) from cause


def _trial(row: dict[str, Any]) -> TrialResult:
    fields = {name: row.get(name) if name in LATER else row[name] for name in TrialResult.__dataclass_fields__}
    return TrialResult.from_json(fields | {"nodes": convert_nodes(parse(row["nodes"]))})


def _read_lines(path: Path) -> list[TrialResult]:
    """Read the trials of an unfinished run from JSON lines. An incomplete last line is skipped, because it belongs to
    an unfinished trial."""
    try:
        lines = read_text(path).split("\n")
        rows = [parse(line) for line in lines[:-1] if line]
        return [TrialResult.from_json(row | {"nodes": convert_nodes(row["nodes"])}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
        raise _damage_error(path, cause) from cause
