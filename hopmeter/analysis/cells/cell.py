"""Compute a row of `cells.parquet` from the trials of a cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from hopmeter.analysis.cells import background_load
from hopmeter.analysis.cells.arrived_bytes import mean_frame_bytes
from hopmeter.analysis.cells.repeated_trials import is_repeated
from hopmeter.analysis.cells.setting_hints import setting_warnings
from hopmeter.analysis.cost import resources
from hopmeter.analysis.latency import servers, sinks
from hopmeter.analysis.latency.clock_claims import (
    claim_latencies,
    coarse_clock_warning,
    coarse_deadline_warning,
    largest,
)
from hopmeter.analysis.latency.deadlines import missed_columns
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.intervals import LEAST_TRIALS
from hopmeter.analysis.latency.latencies import CHAIN
from hopmeter.analysis.latency.latency_columns import summary
from hopmeter.analysis.latency.pace import SHARE
from hopmeter.analysis.latency.percentiles import PERMILLE, QUICK_TRIALS, State, least_count, state
from hopmeter.analysis.latency.trial import (
    PACING,
    Counts,
    Measured,
    measure,
    measure_first_message,
    measure_recovery,
    reject_altered,
    sum_counter,
)
from hopmeter.analysis.moments import first_message, recovery
from hopmeter.clocks.batches import ClockError
from hopmeter.messages import codes, join_messages, split_code, tag, with_remedy
from hopmeter.model.cell import Cell
from hopmeter.model.columns import CELLS, LATENCIES, PLANNED
from hopmeter.model.trial import TrialResult
from hopmeter.store.disk import StoreError
from hopmeter.store.run_folder import RunFolder


@dataclass(frozen=True)
class Judged:
    """A trial and its measurements; `measured` is None if the trial failed."""

    result: TrialResult
    measured: Measured | None


def analyse(cell: Cell, trials: Sequence[TrialResult], folder: RunFolder) -> dict[str, Any]:
    """Return the complete row of a cell. A trial with missing or damaged samples counts as failed.

    `analyse_run` later fills in `floor_us` and `times_floor`, because both columns depend on other cells.
    """
    return row(cell, [examine(cell, trial, folder) for trial in trials], folder)


def examine(cell: Cell, trial: TrialResult, folder: RunFolder) -> Judged:
    """Compute the measurements of a trial from its samples. A trial without usable samples is returned as failed, with
    a reason."""
    trial = reject_altered(trial)
    if not trial.good:
        return Judged(trial, None)
    if not trial.samples:
        return Judged(replace(trial, good=False, reason=tag("E-NOT-RECORDED", "nothing was recorded")), None)
    try:
        return Judged(trial, _measure(cell, trial, folder))
    except (StoreError, ClockError) as error:
        return Judged(replace(trial, good=False, reason=error.message, remedy=error.remedy), None)


def _measure(cell: Cell, trial: TrialResult, folder: RunFolder) -> Measured:
    path = folder.path / trial.samples
    if cell.axes.has_restart:
        return measure_recovery(cell, trial, path)
    return measure_first_message(cell, trial, path) if cell.axes.begins_at_once else measure(cell, path)


def row(cell: Cell, trials: Sequence[Judged], folder: RunFolder) -> dict[str, Any]:
    """Return the `cells.parquet` row of a cell, computed from the cell's measured trials."""
    repeated = sum(is_repeated(each.result) for each in trials)
    trials = [each for each in trials if not is_repeated(each.result)]
    good = [each for each in trials if each.measured]
    columns = dict.fromkeys(CELLS) | _planned_columns(cell) | {"trials_good": len(good), "warnings": []}
    columns["trials_repeated"] = repeated
    if folder.about.get("scenario", {}).get("budget") and not cell.comparison.search:
        columns |= {"trials": len(trials), "quick": False}
    columns |= _status(cell, trials)
    if trials:
        columns["content_errors"] = sum(sum_counter(each.result, "content_errors") for each in trials)
    if good:
        measured = [each.measured for each in good if each.measured]
        results = [each.result for each in good]
        columns |= _counts(cell, results, measured) | _latencies(cell, measured)
        columns["p99_rounds"] = _rounds_for_p99(headline(cell), columns, measured)
        columns |= missed_columns(cell.deadline_s, [each.missed for each in measured if each.missed])
        columns |= _resources(cell, results, measured, folder)
        columns |= background_load.columns(results)
        columns |= first_message.cell_columns([each.first for each in measured if each.first])
        columns |= recovery.cell_columns([each.recovery for each in measured if each.recovery])
        columns["backlog_ms_per_s"] = _growth_ms_per_s(measured)
        columns["lag_share"] = _lag_share(measured)
        short = background_load.shortfalls(columns, folder.about.get("scenario", {}).get("background"))
        columns["warnings"] = [*_warnings(cell, good, columns), *setting_warnings(cell, columns), *short]
    columns["reason_code"] = split_code(columns["reason"] or "")[1]
    columns["warning_codes"] = codes(columns["warnings"] or [])
    return columns


def _warnings(cell: Cell, good: Sequence[Judged], columns: Mapping[str, Any]) -> list[str]:
    """Return the warnings of a row.

    An overloaded flow of a workload is still ranked, because the age of its messages shows the overload.
    """
    results = [each.result for each in good]
    behind = [f"flow {cell.flow}: {_overload(cell, good)}"] if cell.flow and _overload(cell, good) else []
    own = resources.results_of_transport(cell, results)
    lost = resources.losses(own) if columns["lost"] else []
    behind += [*coarse_clock_warning(columns, headline(cell)), *coarse_deadline_warning(cell, columns)]
    failed = recovery.not_recovered(
        [each.measured.recovery for each in good if each.measured and each.measured.recovery]
    )
    return [*behind, *failed, *_cut_short(cell, good), *resources.fallbacks(own), *resources.stops(results), *lost]


def _growth_ms_per_s(trials: Sequence[Measured]) -> float | None:
    """Return how fast the age of the messages grew during a trial, in ms per second. Return None if the receiver did
    not fall behind in most trials."""
    grown = [max(pace.growth for pace in trial.paces) for trial in trials if trial.paces]
    return 1000 * median(grown) if grown and _most(trials, "backlog") else None


def _lag_share(trials: Sequence[Measured]) -> float | None:
    """Return the lag of a trial's last messages as a fraction of the schedule's length. In each trial the pair with the
    largest lag counts, and the median over the trials is returned."""
    found = [max(lags) for trial in trials if (lags := [pace.lag for pace in trial.paces if pace.lag is not None])]
    return median(found) if found else None


def _resources(
    cell: Cell, results: Sequence[TrialResult], measured: Sequence[Measured], folder: RunFolder
) -> dict[str, Any]:
    """Return the resource columns of a cell. A flow or path has no resource columns, because resource use is known only
    per process."""
    if cell.flow or cell.path:
        return {}
    found = resources.resources(results, sum(each.counts.messages for each in measured))
    if cell.is_whole_workload:
        found |= resources.participants_share(results)
    else:
        found |= resources.core_share(results, measured, cell.axes.pairs)
    return found | resources.cpu_percent([folder.cpu_path(cell.id, each.trial) for each in results])


def _cut_short(cell: Cell, trials: Sequence[Judged]) -> list[str]:
    """Return a warning if an unpaced cell reached its time limit before it sent the requested number of messages."""
    if cell.axes.rate_hz is not None or cell.schedule.timed:
        return []  # if the source is paced, `_overload` reports that the rate was missed
    cut = [each.measured for each in trials if each.measured and sum_counter(each.result, "limit_reached")]
    fewest, asked = min((each.counts.messages for each in cut), default=0), cell.schedule.messages * cell.axes.pairs
    if not cut or fewest >= asked:
        return []
    said = f"only {fewest} of {asked} messages within {cell.schedule.limit_s:g} s; request fewer, or set a duration"
    return [tag("W-FEW-MESSAGES", said)]


def _planned_columns(cell: Cell) -> dict[str, Any]:
    columns = {name: cell[name] for name in PLANNED}
    forward = cell.carriage.forward if cell.axes.relays else None
    dispatch = cell.axes.dispatch if cell.axes.pattern == "scatter" else None
    ideal_us = None if cell.axes.ideal_s is None else cell.axes.ideal_s * 1e6
    derived = {"forward": forward, "dispatch": dispatch, "ideal_us": ideal_us}
    return columns | {"cell": cell.id, "quick": cell.schedule.trials < QUICK_TRIALS} | derived


def _status(cell: Cell, trials: Sequence[Judged]) -> dict[str, Any]:
    good = [each for each in trials if each.measured]
    if cell.dropped:
        return {"status": "dropped", "reason": cell.dropped}
    if not trials:
        return {"status": "dropped", "reason": tag("D-RUN-ENDED", "not measured: the run ended before it")}
    failures = join_messages(dict.fromkeys(_reason(each.result) for each in trials if not each.measured))
    if not good:
        return {"status": "failed", "reason": failures}
    # Messages that are sent before a link exists, or while a process is down, are lost, which is no overload.
    overload = "" if cell.workload is not None or cell.axes.measures_moments else _overload(cell, good)
    said = f"{len(trials) - len(good)} of {len(trials)} trials failed: {split_code(failures)[0]}"
    failed = tag("W-TRIALS-FAILED", said) if failures else ""
    return {
        "status": "saturated" if overload else "ok",
        "reason": join_messages(filter(None, [overload, failed])) or None,
    }


def _reason(trial: TrialResult) -> str:
    return with_remedy(trial.reason, trial.remedy)


def _overload(cell: Cell, good: Sequence[Judged]) -> str:
    """Return why a cell counts as overloaded, or an empty string if the cell is not overloaded. docs/method.md lists
    the rules."""
    trials = [each.measured for each in good if each.measured]
    counts = _sum_counts(trials)
    found = []
    if counts.lost > (1 - SHARE) * counts.expected:
        found.append(tag("W-OVERLOAD-LOSS", f"{counts.lost / counts.expected:.1%} of the messages were lost"))
    if _most(trials, "behind"):
        paces = [pace for trial in trials for pace in trial.paces]
        rates = [min(filter(None, (getattr(pace, name) for pace in paces))) for name in ("reached_hz", "asked_hz")]
        found.append(tag("W-OVERLOAD-RATE", f"the source reached {rates[0]:.4g} of {rates[1]:.4g} Hz"))
    if _most(trials, "backlog"):
        behind = "its reader falls behind, so the age of its messages grows"
        waited = "messages waited longer and longer"
        found.append(tag("W-READER-BEHIND", behind) if cell.flow else tag("W-OVERLOAD-QUEUE", waited))
    return join_messages(found) or _standing(good, trials)


def _standing(good: Sequence[Judged], trials: Sequence[Measured]) -> str:
    """Return a warning if messages waited in a queue throughout most trials, or an empty string otherwise."""
    if not any(trial.paces for trial in trials):
        return ""
    period_ns = max(1.0, median(pace.period_ns for trial in trials for pace in trial.paces))
    if _most(trials, "queued_ns"):
        waited_ns = median(max(pace.queued_ns for pace in trial.paces) for trial in trials)
        return tag(
            "W-QUEUE-STANDING",
            f"messages queued throughout: half of them waited {waited_ns / 1e6:.3g} ms or more, "
            f"while {waited_ns / period_ns:.3g} others became due",
        )
    refused = sum(sum_counter(each.result, "busy") for each in good)
    if _most(trials, "long_ns") and refused >= _sum_counts(trials).messages:
        took_ns = median(max(pace.long_ns for pace in trial.paces) for trial in trials)
        return tag(
            "W-QUEUE-FULL",
            "queues were full throughout: "
            f"the transport refused each message {refused / _sum_counts(trials).messages:.3g} times, "
            f"and half of them took {took_ns / 1e6:.3g} ms or more, while {took_ns / period_ns:.3g} others became due",
        )
    return ""


def _most(trials: Sequence[Measured], fault: str) -> bool:
    """Return whether at least half of the trials have the given fault."""
    faulty = sum(any(getattr(pace, fault) for pace in trial.paces) for trial in trials)
    return 2 * faulty >= len(trials)


def _sum_counts(trials: Sequence[Measured]) -> Counts:
    return sum((each.counts for each in trials), Counts())


def _counts(cell: Cell, results: Sequence[TrialResult], trials: Sequence[Measured]) -> dict[str, Any]:
    counts = _sum_counts(trials)
    rates = [trial.achieved_hz for trial in trials if trial.achieved_hz]
    seconds = sum(max((pace.seconds for pace in trial.paces), default=0.0) for trial in trials)
    frame_bytes = mean_frame_bytes(cell, results)
    names = ("sent", "received", "lost", "duplicated", "reordered", "abandoned", "stray", "trimmed")
    counters = ("busy", "malformed", "foreign", "unrecorded")
    return {
        **{name: getattr(counts, name) for name in names},
        **{name: sum(sum_counter(each, name) for each in results) for name in counters},
        "achieved_hz": sum(rates) / len(rates) if rates else None,
        "achieved_mb_s": counts.received * frame_bytes / 1e6 / seconds if seconds else None,
        **resources.reports(resources.results_of_transport(cell, results)),
    }


def _latencies(cell: Cell, trials: Sequence[Measured]) -> dict[str, Any]:
    columns: dict[str, Any] = {"negative": sum(_negative(trial) for trial in trials)}
    for name in LATENCIES:
        columns |= summary(name, [trial.latencies.get(name, []) for trial in trials], missing(trials, name))
    columns |= _states(headline(cell), columns)
    columns |= servers.columns(cell, [trial.latencies for trial in trials], lambda name: missing(trials, name))
    columns |= sinks.columns(cell, [trial.latencies for trial in trials], lambda name: missing(trials, name))
    columns |= _chain(cell, trials)
    pacing = summary(PACING, [trial.latencies.get(PACING, []) for trial in trials], [0] * len(trials))
    columns |= {f"{PACING}_{each}_us": pacing.get(f"{PACING}_{each}_us") for each in ("p50", "p99")}
    uncertain = largest(trial.clocks for trial in trials)
    if CHAIN in uncertain:
        uncertain[f"{CHAIN}_per_hop"] = uncertain.pop(CHAIN).divide(cell.axes.hops)
    return columns | claim_latencies(columns, uncertain, headline(cell))


def _states(latency: str, columns: Mapping[str, Any]) -> dict[str, State]:
    """Return for each percentile whether it is known, falls on a lost message, or has too few messages."""
    counts = columns.get(f"{latency}_count") or 0, columns.get(f"{latency}_lost") or 0
    return {f"{name}_state": state(*counts, permille) for name, permille in PERMILLE.items()} if any(counts) else {}


def missing(trials: Sequence[Measured], latency: str) -> list[int]:
    """Return, for each trial, the number of messages for which the named latency has no end time."""
    return [trial.missing[latency] for trial in trials]


def _rounds_for_p99(latency: str, columns: Mapping[str, Any], trials: Sequence[Measured]) -> int | None:
    """Return how many trials of the current length are needed to give p99 a confidence interval.

    Return None if there are already enough trials, or if p99 falls on a lost message.
    """
    if columns["p99_state"] == "lost":
        return None
    messages = (columns.get(f"{latency}_count") or 0) + sum(missing(trials, latency))
    if not messages or all(columns[f"{latency}_p99_{end}us"] is not None for end in ("", "low_")):
        return None
    needed = max(LEAST_TRIALS, math.ceil(least_count(PERMILLE["p99"]) * len(trials) / messages))
    return needed if needed > len(trials) else None


def _chain(cell: Cell, trials: Sequence[Measured]) -> dict[str, Any]:
    """Return the median and the p90 of the end-to-end latency divided by the number of hops, with confidence
    intervals."""
    pieces = [trial.latencies.get(CHAIN, []) for trial in trials]
    whole = summary(CHAIN, pieces, missing(trials, CHAIN), ("p50", "p90"))
    names = [f"{each}{end}_us" for each in ("p50", "p90") for end in ("", "_low", "_high")]
    known = {name: whole.get(f"{CHAIN}_{name}") for name in names}
    return {f"chain_per_hop_{name}": None if value is None else value / cell.axes.hops for name, value in known.items()}


def _negative(trial: Measured) -> int:
    """Count the latencies that are negative by more than the clock uncertainty. Negative latencies are not removed from
    the statistics."""
    least = {name: -trial.clocks[name].whole_ns if name in trial.clocks else 0 for name in LATENCIES}
    return sum(int((piece < least[name]).sum()) for name in LATENCIES for piece in trial.latencies.get(name, []))
