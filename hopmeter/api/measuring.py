"""Measure a new run or resume one, and analyse it. All output during the run is printed on the given consoles."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hopmeter import scenario
from hopmeter.api.planning import Prepared, check_measurable, check_still_ready, local_capabilities, prepare_old_side
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.session import HostSession
from hopmeter.messages import tag
from hopmeter.plan import Plan, budget
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.sides import OldSide
from hopmeter.store.names import NAMES
from hopmeter.store.pack import refuse_packed
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.run_lock import lock_run
from hopmeter.system import paths, scratch_dir
from hopmeter.system.terminal import Console
from hopmeter.system.toml_files import validate


@dataclass(frozen=True)
class Consoles:
    """The consoles for the notes and the progress of a run."""

    notes: Console
    progress: Console

    @classmethod
    def on_stderr(cls) -> Consoles:
        """Return consoles that print on stderr."""
        console = Console(stderr=True, highlight=False)
        return cls(console, console)

    @classmethod
    def silent(cls) -> Consoles:
        """Return consoles that print nothing."""
        console = Console(file=io.StringIO(), quiet=True, force_jupyter=False)
        return cls(console, console)


@dataclass(frozen=True)
class Outcome:
    """A measured and analysed run. `complete` is False if Ctrl-C ended the run before its last trial."""

    folder: RunFolder
    rows: list[dict[str, Any]]
    complete: bool


class StoppedRunError(KeyboardInterrupt):
    """Ctrl-C stopped a run. The finished trials are stored in `folder`."""

    def __init__(self, stored: RunFolder) -> None:
        path = str(stored.path)
        further = f"hopmeter.open_run({path!r})" if stored.is_finished else f"hopmeter.run(resume={path!r})"
        super().__init__(tag("E-STOPPED", f"stopped; finished trials are in {path}; continue with {further}"))
        self.stored = stored

    @property
    def folder(self) -> Path:
        """Return the path of the run directory."""
        return self.stored.path


def measure(prepared: Prepared, out: Path | None, command: Sequence[str], consoles: Consoles) -> Outcome:
    """Measure a new run. Raises UsageError if nothing can be measured, and StoppedRunError on Ctrl-C."""
    from hopmeter.runtime.inputs.run_files import facts
    from hopmeter.runtime.run_metadata import about

    made, capabilities, old = prepared.plan, prepared.capabilities, prepared.old
    final = _run_path(out) if out else paths.results() / f"{datetime.now():%Y-%m-%dT%H%M%S}-{made.name}"
    check_measurable(made, command)
    budget.check(made)
    for note in (*prepared.notes, *budget.notes(made)):
        consoles.notes.print(note, style="yellow", markup=False, soft_wrap=True)
    sweep_leftovers(consoles.notes)

    def create_folder(shown: Any, replayed: Any) -> RunFolder:
        more: dict[str, Any] = {"pictures": facts(shown)} if shown else {}
        more |= {"recordings": facts(replayed)} if replayed else {}
        more |= {"against": old.name, "against_commit": old.commit} if old else {}
        more |= {"hosts": prepared.hosts.describe()} if prepared.hosts else {}
        folder = RunFolder.create(final.parent, final.name, about(made, capabilities, command) | more)
        lock.enter_context(lock_run(folder.path))
        return folder

    with ExitStack() as lock:
        return _run_trials(prepared, create_folder, consoles)


def _run_path(out: Path) -> Path:
    if not NAMES.fullmatch(out.name):
        raise UsageError(
            "E-NAME",
            f"--out {out}: the name of a run folder may contain only letters, digits and . _ + -",
            "--out results/first",
        )
    return out


def has_sides(folder: Path) -> bool:
    """Return whether a run was measured with `--against`. The run may be unfinished. Raises UsageError if the directory
    contains no run."""
    return bool(RunFolder.open(folder, trials=False).about.get("against"))


def resume(asked: Path, consoles: Consoles, hosts: HostSession | None = None) -> Outcome:
    """Resume a run with the cells, order, seed and hosts of its plan."""
    refuse_packed(asked)
    with lock_run(RunFolder.open(asked).path):
        return _resume_locked(asked, consoles, hosts)


def _resume_locked(asked: Path, consoles: Consoles, hosts: HostSession | None) -> Outcome:
    """Resume the run. The run directory is not renamed before all checks have passed, so that a finished run keeps its
    name."""
    from hopmeter.runtime.inputs.run_files import check_unchanged

    made = _stored_plan(RunFolder.open(asked))
    capabilities = local_capabilities(hosts)
    if (before := list(RunFolder.open(asked).about.get("hosts", {}))) != list(capabilities.hosts):
        what = f"the run was planned for {', '.join(before) or 'this machine alone'}"
        raise UsageError("E-RUN-HOSTS", what, "give the same --hosts file or --cluster as when the run began")
    check_still_ready(made, capabilities)
    old = _prepare_again(RunFolder.open(asked).about, made, capabilities, consoles.notes)
    sweep_leftovers(consoles.notes)

    def open_folder(shown: Any, replayed: Any) -> RunFolder:
        before = RunFolder.open(asked).about
        check_unchanged(shown, before.get("pictures", {}))
        check_unchanged(replayed, before.get("recordings", {}), "the recording of flow ")
        return RunFolder.resume(asked)

    return _run_trials(Prepared(made, capabilities, old, hosts=hosts), open_folder, consoles)


def _stored_plan(folder: RunFolder) -> Plan:
    about = folder.about
    try:
        wanted = validate(scenario.Scenario, about["scenario"], "its scenario")
        return Plan(about["scenario_name"], wanted, folder.cells, about["seed"])
    except (KeyError, UsageError) as cause:
        raise folder.odd(cause) from cause


def _prepare_again(
    about: Mapping[str, Any], made: Plan, capabilities: Capabilities, console: Console
) -> OldSide | None:
    """Prepare the old version for a resumed run that compares two versions. Return None if the run does not compare two
    versions."""
    return prepare_old_side(str(about["against"]), made, capabilities, console) if about.get("against") else None


def sweep_leftovers(console: Console) -> None:
    """Clean up after hopmeter commands that were killed, and print the path of each removed directory."""
    for directory in scratch_dir.sweep():
        console.print(f"cleaned up after a run that was killed: {directory}", style="dim", markup=False)


def _run_trials(prepared: Prepared, begin: Callable[[Any, Any], RunFolder], consoles: Consoles) -> Outcome:
    """Run the trials of a plan, and analyse their results. Payload files are decoded and copied before `begin` creates
    the run directory, so that a damaged payload file leaves no run directory."""
    from hopmeter.runtime.failures import InterruptedRunError
    from hopmeter.runtime.inputs.frames import decode_payloads
    from hopmeter.runtime.inputs.recordings import write_recordings

    folder = None
    try:
        with decode_payloads(prepared.plan) as pictures, write_recordings(prepared.plan) as recordings:
            folder = begin(pictures, recordings)
            complete = _execute(prepared, folder, {"pictures": pictures, "recordings": recordings}, consoles.progress)
        return _analyse(folder, complete)
    except (KeyboardInterrupt, InterruptedRunError):
        if folder is None:
            raise KeyboardInterrupt from None
        raise StoppedRunError(folder) from None


def _execute(prepared: Prepared, folder: RunFolder, payloads: Mapping[str, Any], console: Console) -> bool:
    """Run the trials. Return whether all trials of the run were executed."""
    from hopmeter.analysis.budget.budgeted_rounds import BudgetedRounds
    from hopmeter.analysis.budget.candidates import InQuestion, measure_trials
    from hopmeter.analysis.cells.rate_search import Hunt
    from hopmeter.analysis.cells.requirements import judge_trials
    from hopmeter.analysis.cells.trial_percentiles import median_us
    from hopmeter.runtime.executor import Executor

    made, old = prepared.plan, prepared.old
    search = made.scenario.search
    further = Hunt(made.scenario, search, folder).next_cells if search else list
    before = old.capabilities if old else None
    done = folder.trials
    rounds = None
    if made.scenario.budget_s:
        rounds = BudgetedRounds(
            made,
            done,
            median_us(folder),
            folder.about.get("looks"),
            is_judged=judge_trials(folder, made.scenario.require),
            in_question=InQuestion(made.runnable, measure_trials(folder)) if made.scenario.alone else None,
        )
    hosts = prepared.hosts.remote if prepared.hosts else {}
    executor = Executor(
        made, prepared.capabilities, folder, console, further, old=before, rounds=rounds, hosts=hosts, **payloads
    )
    if prepared.hosts is None:
        return executor.run(done)
    with prepared.hosts.compare_clocks(folder.path) as clocks:
        executor.after_trial = clocks.compare
        return executor.run(done)


def _analyse(folder: RunFolder, complete: bool) -> Outcome:
    """Analyse the trials and write the result tables."""
    from hopmeter.analysis.cells.whole_run import analyse_run

    rows = analyse_run(folder)
    if complete:
        folder.finish(rows)
    else:
        folder.write_tables(rows)
    return Outcome(folder, rows, complete)
