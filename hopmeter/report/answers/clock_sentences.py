"""Sentences on the clocks of several hosts and on the accuracy of latencies between hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hopmeter.analysis.latency.clock_claims import TIMES_RESIDUAL
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.clocks.clock_state import ClockState, correction_ppm
from hopmeter.clocks.pair_model import PairModel
from hopmeter.clocks.run_clocks import Closure, Models, RunClocks
from hopmeter.report.words import formatting
from hopmeter.store.clock_file import read_clocks

MOST_SHOWN = 6
"""If there are more pairs or triangles of hosts than this number, the report describes only the worst pairs and
triangles."""


def claim_sentences(runs: Sequence[Run]) -> list[str]:
    """Return sentences on the accuracy of latencies between hosts. Return an empty list if each latency is measured on
    a single clock."""
    rows = [row for run in runs for row in run.measured_rows if row.ok and row["clock_uncertainty_us"] is not None]
    if not rows:
        return []
    whole = max(row.number("clock_uncertainty_us") for row in rows)
    least = TIMES_RESIDUAL * max(row.number("clock_residual_us") for row in rows)
    return [
        "The clock offset between hosts is uncertain, so all latencies between hosts may be wrong by the same "
        f"amount, up to ±{formatting.microseconds(whole)}; the intervals include this error. Differences between "
        f"transports are significant only above {formatting.microseconds(least)}.",
        *_describe_unclaimed(rows),
    ]


def _describe_unclaimed(rows: Sequence[Row]) -> Iterator[str]:
    small = [row for row in rows if "W-CLOCK-COARSE" in (row["warning_codes"] or [])]
    if small:
        yield (
            f"{len(small)} of {formatting.plural(len(rows), 'median')} between hosts is below this error: compare "
            "such a median only with others. To avoid the error, measure calls: a round trip needs only one clock."
        )


def comparison_sentences(run: Run) -> list[str]:
    """Return sentences on the clock offset of each pair of hosts and on other recorded clock data."""
    batches, states = read_clocks(run.folder)
    clocks = RunClocks(batches, states)
    found = [each for models in clocks.sessions.values() for each in _describe_models(models)]
    return [*found, *_describe_closures(clocks.closures()), *_corrections(states)]


def _describe_models(models: Models) -> Iterator[str]:
    """Yield a sentence for each pair of clocks. If there are many pairs of clocks, describe only the least certain
    pairs."""
    ordered = sorted(models.values(), key=lambda model: -model.uncertainty_ns)
    if len(models) > MOST_SHOWN:
        residual_ns = max(model.residual_ns for model in ordered)
        yield (
            f"{len(models)} pairs of clocks were compared. The offset between {ordered[0].here} and "
            f"{ordered[0].there} is the least certain, ±{_us(ordered[0].uncertainty_ns)}; the largest residual is "
            f"{_us(residual_ns)}."
        )
    else:
        yield from map(_describe_model, models.values())
    hosts = {host for pair in models for host in pair}
    if absent := math.comb(len(hosts), 2) - len(models):
        yield (
            f"{formatting.plural(absent, 'pair')} of hosts were not compared directly: times between them are "
            "converted via a third host, so two uncertainties add up."
        )


def _describe_model(model: PairModel) -> str:
    return (
        f"Clock offset between {model.here} and {model.there}: known to ±{_us(model.uncertainty_ns)}, residual "
        f"{_us(model.residual_ns)}{_drift(model.drift_ppm)}."
    )


def _describe_closures(closures: Sequence[Closure]) -> Iterator[str]:
    """Yield a sentence on the sum of the clock offsets around each triangle of hosts. If there are many triangles of
    hosts, describe only the worst triangles."""
    ordered = sorted(closures, key=lambda each: -abs(each.sum_ns) / each.bound_ns)
    for each in ordered if len(closures) <= MOST_SHOWN else ordered[:1]:
        worst = "" if len(closures) <= MOST_SHOWN else f" (the worst of {len(closures)} triangles)"
        yield (
            f"The clock offsets around the triangle {formatting.join(each.hosts)} add up to {_us(each.sum_ns)}; their "
            f"uncertainties allow up to ±{_us(each.bound_ns)}{worst}."
        )


def _corrections(states: Sequence[ClockState]) -> Iterator[str]:
    for session, host in dict.fromkeys((state.session, state.host) for state in states):
        own = [state for state in states if (state.session, state.host) == (session, host)]
        rate = correction_ppm(own)
        if rate is not None and abs(rate) >= 0.01:
            yield f"A time service changed the rate of {host}'s clock by {formatting.number(rate)} ppm."


def _drift(ppm: float | None) -> str:
    return "" if ppm is None else f", drift {formatting.number(ppm)} ppm"


def _us(nanoseconds: float) -> str:
    return formatting.microseconds(nanoseconds / 1000)
