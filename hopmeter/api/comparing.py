"""Compare two runs, a run with a baseline, or the two sides of one run. Create and list baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from hopmeter.analysis.results import run_results as results
from hopmeter.api import tables
from hopmeter.api.comparison_request import Request, check_second_side
from hopmeter.api.runs import Run, RunPath
from hopmeter.comparison import baselines as stored
from hopmeter.comparison import between_runs, gate, interleaved, missed, run_facts, sources
from hopmeter.comparison.baselines import Baseline
from hopmeter.comparison.change import METRICS, MISSED, Change
from hopmeter.comparison.gate import Failure, Gate
from hopmeter.errors import UsageError
from hopmeter.report.comparisons import words
from hopmeter.report.words import formatting
from hopmeter.store.disk import replacing, writing
from hopmeter.store.schemas import table
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True, repr=False)
class Comparison:
    """The changes between two sides of a comparison, for each metric."""

    by_metric: Mapping[str, Sequence[Change]]
    gate: Gate | None
    broken: Sequence[Failure]
    """The changes that fail the gate."""
    notes: Sequence[str] = ()
    """Sentences on differences between the two sides that the user should know about."""

    def __repr__(self) -> str:
        many = [f"{metric}: {formatting.plural(len(own), 'cell')}" for metric, own in self.by_metric.items()]
        return f"<hopmeter.Comparison {', '.join(many)}; {formatting.plural(len(self.broken), 'failure')}>"

    @property
    def all_changes(self) -> list[Change]:
        """The changes of all metrics in one list."""
        return [each for own in self.by_metric.values() for each in own]

    @property
    def changes(self) -> pa.Table:
        """A table with a row for each cell and metric; its columns are the keys of `hopmeter compare --json`."""
        return table((each.as_json() for each in self.all_changes), tables.CHANGES)

    @property
    def answer(self) -> list[str]:
        """For each metric, a sentence that summarises its changes."""
        return [words.sentence(own, between_runs.drift(own)) for own in self.by_metric.values()]

    @property
    def failures(self) -> list[str]:
        """A sentence for each change that fails the gate. The list is empty if the gate passes or there is no gate."""
        return [f"{each.change.name} ({each.change.metric}): {each.why}" for each in self.broken]

    def write_files(self, request: Request) -> None:
        """Write the requested summary and export files."""
        for path, export in request.files:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as partly:
                    partly.write_text(export(self.all_changes, self.broken), encoding="utf-8")


def compare(
    old: RunPath | Run,
    new: RunPath | Run | None = None,
    *,
    metric: str = "p50",
    fail_if: str | Iterable[str] = (),
    summary: RunPath | None = None,
    junit: RunPath | None = None,
    export: str | Iterable[str] = (),
) -> Comparison:
    """Compare `new` with `old`, cell by cell. Each side is a run or the name of a baseline.

    Without `new`, compare the two sides of the run `old`, which was measured with `against`. A comparison of two single
    runs gives ratios but no verdicts, because the machine's performance drifts between runs. The options have the names
    and meanings of `hopmeter compare`. A failed gate raises no error, but is reported by `failures`.
    """
    markdown, xml = (None if each is None else Path(each) for each in (summary, junit))
    request = Request.of(_as_list(fail_if), markdown, xml, _as_list(export))
    found = judge(_name(old), None if new is None else _name(new), metric, request)
    found.write_files(request)
    return found


def judge(old: str, new: str | None, metric: str, request: Request) -> Comparison:
    """Compare two sides, and apply the gate. Raises UsageError for an unknown metric."""
    if metric not in METRICS:
        raise UsageError("E-OPTION-VALUE", f"--metric {one_of(metric, METRICS)}", "choose one of them")
    if new is None:
        return judge_sides(sources.open_sides(old), metric, request)
    before, after = sources.open_runs(old), sources.open_runs(new)
    check_second_side(request, len(before.runs) + len(after.runs) > 2)
    shares = missed.compare_runs(before, after)
    found = _judge(partial(between_runs.compare, before, after), shares, metric, request)
    drift = words.drift_note(found.all_changes, between_runs.drift(found.all_changes))
    return replace(found, notes=[*drift, *run_facts.notes(before, after)])


def judge_sides(run: results.Run, metric: str, request: Request) -> Comparison:
    """Compare the two sides of a run, and apply the gate."""
    found = _judge(partial(interleaved.compare_sides, run), missed.compare_sides(run), metric, request)
    return replace(found, notes=run_facts.notes_of_sides(run))


def _judge(
    compare_metric: Callable[[str], list[Change]], shares: list[Change], metric: str, request: Request
) -> Comparison:
    """Compare percentiles and, if there are deadlines, the shares of missed deadlines."""
    names = dict.fromkeys([metric, *(request.gate.metrics if request.gate else ())])
    changes = {name: compare_metric(name) for name in names if name != MISSED} | ({MISSED: shares} if shares else {})
    if request.gate and request.gate.asks_for_deadlines and not shares:
        raise UsageError("E-GATE", f"--fail-if {MISSED}: no flow or path has a deadline", "use a rule for a percentile")
    broken = gate.failures(request.gate, changes) if request.gate else []
    return Comparison(changes, request.gate, broken)


def baseline(name: str, *runs: RunPath | Run) -> Baseline:
    """Create the baseline `name` from at least three runs that started at least an hour apart, and return it.

    hopmeter copies the tables of the runs, without samples, to results/baselines/NAME.
    """
    if not runs:
        raise UsageError(
            "E-BASELINE-RUNS", f"baseline {name}: no run was named", f"hopmeter baseline {name} RUN RUN RUN"
        )
    return stored.store(name, [Path(_name(each)) for each in runs])


def baselines() -> list[Baseline]:
    """Return all baselines, sorted by name."""
    return [stored.load(each) for each in stored.names()]


def _name(side: RunPath | Run) -> str:
    return str(side.path if isinstance(side, Run) else side)


def _as_list(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)
