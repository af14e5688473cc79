"""The clocks of several hosts in words: what latencies between hosts may claim, and how the clocks compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hopmeter.analysis.clock_claims import TIMES_RESIDUAL
from hopmeter.analysis.run_results import Row, Run
from hopmeter.clocks.clock_state import ClockState, correction_ppm
from hopmeter.clocks.run_clocks import RunClocks
from hopmeter.report import formatting
from hopmeter.store.clock_file import read_clocks


def claim_sentences(runs: Sequence[Run]) -> list[str]:
    """Return what the clocks allow to say about latencies between hosts; empty if each begins and ends on one clock."""
    rows = [row for run in runs for row in run.measured_rows if row.ok and row["clock_uncertainty_us"] is not None]
    if not rows:
        return []
    whole = max(float(row["clock_uncertainty_us"]) for row in rows)
    least = TIMES_RESIDUAL * max(float(row["clock_residual_us"]) for row in rows)
    return [
        f"Latencies between hosts may all be wrong by the same time, up to ±{formatting.number(whole)} us, because "
        "their clocks differ; intervals contain this. "
        f"Transports are told apart if they differ by more than {formatting.number(least)} us.",
        *_describe_unclaimed(rows),
    ]


def _describe_unclaimed(rows: Sequence[Row]) -> Iterator[str]:
    small = [row for row in rows if "W-CLOCK-COARSE" in (row["warning_codes"] or [])]
    if small:
        yield (
            f"{formatting.plural(len(small), 'median')} of {len(rows)} between hosts is smaller than that, so only its "
            "differences from others count. Measure calls for a round trip, which needs one clock."
        )


def comparison_sentences(run: Run) -> list[str]:
    """Return how the clocks of each pair of hosts compare, and what else was recorded about them."""
    bursts, states = read_clocks(run.folder)
    clocks = RunClocks(bursts, states)
    found = [
        f"Clocks of {model.here} and {model.there}: known to ±{_us(model.uncertainty_ns)} us, residual "
        f"{_us(model.residual_ns)} us{_drift(model.drift_ppm)}."
        for models in clocks.sessions.values()
        for model in models
    ]
    found += [
        f"The offsets around {formatting.join(closure.hosts)} add up to {_us(closure.sum_ns)} us; their bounds allow "
        f"±{_us(closure.bound_ns)} us."
        for closure in clocks.closures()
    ]
    return [*found, *_corrections(states)]


def _corrections(states: Sequence[ClockState]) -> Iterator[str]:
    for session, host in dict.fromkeys((state.session, state.host) for state in states):
        own = [state for state in states if (state.session, state.host) == (session, host)]
        rate = correction_ppm(own)
        if rate is not None and abs(rate) >= 0.01:
            yield f"A program let the clock of {host} run {formatting.number(rate)} ppm faster than its hardware."


def _drift(ppm: float | None) -> str:
    return "" if ppm is None else f", drift {formatting.number(ppm)} ppm"


def _us(nanoseconds: float) -> str:
    return formatting.number(nanoseconds / 1000)
