"""Executes the trials of a run one after another, stores the results, and always cleans up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from hopmeter.images.decoded import Decoded
from hopmeter.manifest.readiness import Readiness, readiness_with_codecs
from hopmeter.messages import split_code, tag, with_remedy
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Carrier
from hopmeter.plan import Cell, Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import carriers
from hopmeter.plan.duets import turn_s
from hopmeter.plan.placement.background_load import load_of
from hopmeter.plan.sides import OLD
from hopmeter.plan.topology import codecs_of_node, topology
from hopmeter.recordings.replay_file import ReplayFile
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.runtime.interim_table import Median
from hopmeter.runtime.order import PlannedTrial, planned_trials, with_counterparts
from hopmeter.runtime.processes.host import Host
from hopmeter.runtime.progress import BudgetProgress, RunBar, RunProgress
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import Outcome, execute_duet, execute_trial
from hopmeter.runtime.why import why_trials
from hopmeter.runtime.work import Work
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.why_folder import WhyFolder
from hopmeter.system.scratch_dir import ScratchDir
from hopmeter.system.terminal import Console

HOPELESS = 2
"""A cell is abandoned after this many failed trials without a good trial, because each further trial may last until its
timeout."""


class RoundSource(Protocol):
    """Supplies the rounds of a run that has a time budget."""

    budget_s: float

    @property
    def left_s(self) -> float:
        """Return how many seconds of the time budget remain."""

    @property
    def status(self) -> str:
        """Return how many comparisons or medians are undecided and how much time is left, as text for the progress
        line."""

    @property
    def medians(self) -> list[Median]:
        """Return the current medians of the compared cells, for the terminal."""

    @property
    def looks(self) -> dict[str, list[dict[str, Any]]]:
        """Return all interim analyses (looks) of the run so far, keyed by table."""

    def next_round(self) -> list[PlannedTrial]:
        """Return the trials of the next round, or an empty list if the run is over."""

    def note(self, result: TrialResult) -> None:
        """Record the result of a finished trial."""


NOT_TRIED = "not tried again"


@dataclass
class Executor:
    """Executes the trials of a plan."""

    plan: Plan
    capabilities: Capabilities
    folder: RunFolder
    console: Console
    further: Callable[[], list[Cell]] = list
    """A function that returns the cells that a search adds after earlier trials. By default, no cells are added."""
    pictures: Mapping[str, Decoded] = field(default_factory=dict)
    """The frames of image and video files, by payload."""
    recordings: Mapping[str, ReplayFile] = field(default_factory=dict)
    """The replay file of each flow that replays a recording, by flow name."""
    old: Capabilities | None = None
    """The transports and nodes of the old side, in a run with two sides."""
    rounds: RoundSource | None = None
    """The source of rounds in a run with a budget, or None in a run without a budget."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """The remote hosts of the run, by name."""
    after_trial: Callable[[], None] = lambda: None
    """A function that is called after each trial, while no trial is running."""
    keeps_cut: bool = False
    """Whether to keep the samples of an interrupted trial, for example after Ctrl-C or the loss of a host."""
    brokers: Mapping[str, str] = field(default_factory=dict)
    """The addresses of running brokers that the user named, by transport. hopmeter starts no broker for these
    transports."""

    def run(self, done: Sequence[TrialResult] = ()) -> bool:
        """Execute the remaining trials. Return False if the run was interrupted. The results of finished trials are
        stored even if the run was interrupted."""
        self._bad = Counter(result.cell for result in done if not result.good)
        self._good = Counter(result.cell for result in done if result.good)
        self._reasons = {result.cell: result.reason for result in done if not result.good}
        self.folder.logs.mkdir(exist_ok=True)
        with Alarm() as alarm, ScratchDir() as ground:
            try:
                self._execute(done, ground, alarm)
                self._explain(ground, alarm)
            except InterruptedRunError:
                return False
            return True

    def _execute(self, done: Sequence[TrialResult], ground: ScratchDir, alarm: Alarm) -> None:
        if self.rounds is not None:
            self._work_within(self.rounds, ground, alarm)
            return
        self._work_through(planned_trials(self.plan.runnable, self.plan.seed, done), ground, alarm)
        while todo := self._further():
            self._work_through(todo, ground, alarm)

    def _further(self) -> list[PlannedTrial]:
        """Add the next cells of a search for the highest rate to the plan, and return their trials."""
        cells = self.further()
        if cells:
            self.plan = replace(self.plan, cells=[*self.plan.cells, *cells])
            self.folder.note(cells=[cell.as_json() for cell in self.plan.cells])
        before = len(self.folder.trials)
        return [
            replace(planned, order=planned.order + before)
            for planned in planned_trials(cells, self.plan.seed + len(self.plan.cells))
        ]

    def _work_through(self, todo: Sequence[PlannedTrial], ground: ScratchDir, alarm: Alarm) -> None:
        with RunProgress(self.console, todo) as progress:
            for together in with_counterparts(todo):
                alarm.check()
                progress.begin(together[0])
                self._take(together, ground, alarm, progress)
                progress.end(together)

    def _explain(self, ground: ScratchDir, alarm: Alarm) -> None:
        """If the scenario requests `why`, run an additional trial of each cell, which records why the cell's messages
        are slow."""
        todo = why_trials(self.plan, self.folder)
        with RunProgress(self.console, todo) as progress:
            for planned in todo:
                alarm.check()
                progress.begin(planned)
                with execute_trial(replace(self._work(planned), cpu=None, why=True), ground, alarm) as outcome:
                    WhyFolder(self.folder.path).add(outcome.result, outcome.raw_files)
                progress.end([planned])

    def _work_within(self, rounds: RoundSource, ground: ScratchDir, alarm: Alarm) -> None:
        """Execute rounds until the source has no further rounds. Each interim analysis (look) is stored immediately."""
        with BudgetProgress(self.console, rounds) as progress:
            while todo := rounds.next_round():
                self.folder.note(looks=rounds.looks)
                for together in with_counterparts(todo):
                    alarm.check()
                    progress.begin(together[0])
                    self._take(together, ground, alarm, progress)
            self.folder.note(looks=rounds.looks)

    def _take(self, together: Sequence[PlannedTrial], ground: ScratchDir, alarm: Alarm, progress: RunBar) -> None:
        works = [work for planned in together if (work := self._work_if_possible(planned, progress))]
        if length_s := self._turn_s(works):
            with execute_duet(works, length_s, ground, alarm) as outcomes:
                self._add_all(outcomes, progress)
            self.after_trial()
            return
        for work in works:
            alarm.check()
            with execute_trial(work, ground, alarm) as outcome:
                self.after_trial()
                self._add_all([outcome], progress)

    def _turn_s(self, works: Sequence[Work]) -> float | None:
        """Return the length of a duet turn in seconds, or None if the trials cannot run as a duet, in which two sides
        alternate."""
        can = all(state.has_turns for work in works for state in work.ready.values())
        if len(works) < 2 or not can or self.plan.scenario.sample_cpu:
            return None
        lengths_s = {turn_s(work.cell, work.manifest) for work in works}
        return lengths_s.pop() if len(lengths_s) == 1 else None

    def _work_if_possible(self, planned: PlannedTrial, progress: RunBar) -> Work | None:
        """Return the Work object with everything needed to execute a trial. If the trial cannot be executed, store its
        failure and return None."""
        if self._is_hopeless(planned):
            first, _ = split_code(self._reasons[planned.cell.id])
            reason = tag("E-NOT-TRIED", f"{NOT_TRIED} after {HOPELESS} failures: {first}")
            self._add(_failure(planned, reason), [], progress)
            return None
        work = self._work(planned)
        absent = next((state for state in work.ready.values() if not state.ready), None)
        if absent is not None:
            self._add(_failure(planned, tag(absent.code, absent.missing), absent.get), [], progress)
            return None
        return work

    def _is_hopeless(self, planned: PlannedTrial) -> bool:
        return self._bad[planned.cell.id] >= HOPELESS and not self._good[planned.cell.id]

    def _work(self, planned: PlannedTrial) -> Work:
        cell, capabilities = planned.cell, self._capabilities_of(planned.cell)
        manifests = [capabilities.manifests[name] for name in dict.fromkeys(each.transport for each in carriers(cell))]
        return Work(
            cell=cell,
            trial=planned.trial,
            order=planned.order,
            round=planned.round,
            seed=planned.seed,
            manifest=manifests[0],
            others={each.name: each for each in manifests[1:]},
            ready=self._programs(cell),
            logs=self.folder.logs,
            cpu=self.folder.cpu_path(cell.id, planned.trial) if self.plan.scenario.sample_cpu else None,
            pictures=self.pictures,
            recordings={flow: one.file for flow, one in self.recordings.items()},
            load=load_of(self.plan.scenario, self.capabilities.machine),
            hosts=self.hosts,
            addresses={name: each.address for name, each in capabilities.hosts.items()},
            keeps_cut=self.keeps_cut,
            brokers=self.brokers,
        )

    def _capabilities_of(self, cell: Cell) -> Capabilities:
        return self.old if self.old is not None and cell.comparison.side == OLD else self.capabilities

    def _programs(self, cell: Cell) -> dict[int, Readiness]:
        """Return the program of each node of a cell, keyed by node number. Python nodes that use a codec may need a
        different Python interpreter than other nodes."""
        ends = [hosted[0] for hosted in topology(cell).nodes]
        found: dict[Any, Readiness] = {}
        programs = {}
        for number, each in enumerate(ends):
            codecs = codecs_of_node(cell, number)
            key = (each.host, each.carrier.key, each.language, codecs)
            found[key] = found.get(key) or self._ready(cell, each.host, each.carrier, each.language, codecs)
            programs[number] = found[key]
        return programs

    def _ready(self, cell: Cell, host: str, carrier: Carrier, language: str, codecs: tuple[str, ...]) -> Readiness:
        capabilities = self._capabilities_of(cell)
        if host in self.hosts:
            return capabilities.hosts[host].ready[carrier.transport, language]
        if language != "python" or not codecs or capabilities is not self.capabilities:
            node = capabilities.node(carrier.transport, language, carrier.settings)
            assert node is not None, "the cell is runnable"
            return node
        return readiness_with_codecs(
            self.capabilities.manifests[carrier.transport].for_settings(carrier.settings), codecs
        )

    def _add_all(self, outcomes: Sequence[Outcome], progress: RunBar) -> None:
        for each in outcomes:
            self._add(each.result, each.raw_files, progress)

    def _add(self, result: TrialResult, raw_files: list[Path], progress: RunBar) -> None:
        kept = self.folder.add_trial(result, raw_files)
        (self._good if kept.good else self._bad)[kept.cell] += 1
        if self.rounds is not None:
            self.rounds.note(kept)
        if kept.good or kept.reason.startswith(NOT_TRIED):
            return
        self._reasons.setdefault(kept.cell, kept.reason)
        progress.note(f"{kept.cell} trial {kept.trial}: {with_remedy(kept.reason, kept.remedy)}")


def _failure(planned: PlannedTrial, reason: str, remedy: str = "") -> TrialResult:
    """Return the result of a trial that failed before it started."""
    return TrialResult(
        planned.cell.id,
        planned.trial,
        good=False,
        reason=reason,
        remedy=remedy,
        order=planned.order,
        round=planned.round,
    )
