"""Find the worst flow of a workload: the flow with the largest p99 relative to the best transport's p99."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hopmeter.analysis.latency.clock_claims import claim_ranking, clock_residual_us, largest_of_rows, widen_ratio
from hopmeter.analysis.latency.host_clocks import ClockUncertainty
from hopmeter.analysis.latency.percentiles import PERMILLE, is_resolved
from hopmeter.analysis.ranking.ranked_cells import fit_table
from hopmeter.model.cell import Cell
from hopmeter.plan.workloads.workload_cells import flow_cell
from hopmeter.statistics import CellPair, Observation, Ranking
from hopmeter.statistics.single_pairs import Question, compare_single_pairs

Values = Mapping[str, Any]
Tails = Mapping[int, float]
"""The p99 of a flow over one transport, in µs, by round."""


@dataclass(frozen=True)
class WorstFlows:
    """The p99 of each flow over each transport, for each round."""

    flows: Mapping[str, Ranking]
    """The ranking of the transports by p99, for each flow. A flow is left out unless it has a p99 over every
    transport."""
    tails: Mapping[tuple[str, str], Tails]
    """The p99 in each round, by cell and flow."""
    steal: Mapping[tuple[str, int], float | None]
    """The share of stolen time, by cell and round."""
    clocks: Mapping[str, ClockUncertainty]
    """The clock uncertainty of each flow's p99 if the flow connects two hosts."""

    @classmethod
    def of(
        cls,
        cells: Sequence[Cell],
        trials: Sequence[Values],
        flow_trials: Sequence[Values],
        rows: Mapping[str, Values],
    ) -> WorstFlows:
        """Compare the flows of whole workloads. `trials` contains the good trials of the workloads, and `rows` maps the
        cells of flows to their results.

        A flow is left out if all its trials together are too short to resolve a p99.
        """
        if not cells:
            return cls({}, {}, {}, {})
        rounds = {(each["cell"], each["trial"]): each["round"] for each in trials}
        steal = {(each["cell"], each["round"]): each.get("steal_share") for each in trials}
        own = {(each["cell"], each["trial"]): each for each in flow_trials}
        sent = _count_messages(cells, own, rounds)
        tails = {(cell.id, name): _tails(cell, part, own, rounds) for cell in cells for name, part in _parts(cell)}
        names = [name for name, _ in _parts(cells[0])]
        resolved = [name for name in names if all(is_resolved(sent[cell.id, name], PERMILLE["p99"]) for cell in cells)]
        flows = {name: _fit(cells, name, tails, steal) for name in resolved}
        flows = {name: each for name, each in flows.items() if len(each.cells) == len(cells)}
        found = {name: {cell.id: rows.get(_part(cell, name).id, {}) for cell in cells} for name in flows}
        clocks = {name: clock for name, own in found.items() if (clock := largest_of_rows(own.values()))}
        return cls({name: claim_ranking(each, found[name]) for name, each in flows.items()}, tails, steal, clocks)

    def flow(self, cell: str) -> str | None:
        """Return the name of a cell's worst flow, or None if no flow has a p99."""
        return max(self.flows, key=lambda name: self._ratio(name, cell), default=None)

    def ratio(self, cell: str) -> float | None:
        """Return the p99 of a cell's worst flow divided by the best transport's p99 of that flow, or None if no flow
        has a p99."""
        name = self.flow(cell)
        return None if name is None else self._ratio(name, cell)

    def _ratio(self, name: str, cell: str) -> float:
        ranking = self.flows[name]
        return ranking.distance(ranking.best, cell) if ranking.best and cell in ranking.cells else 0.0

    def columns(self, cell: str) -> dict[str, Any]:
        """Return the columns about a cell's worst flow, or no columns if no flow has a p99."""
        name = self.flow(cell)
        if name is None or cell not in self.flows[name].cells or self.flows[name].best is None:
            return {}
        ranking, ratio = self.flows[name], self._ratio(name, cell)
        pair = next((each for each in ranking.pairs if each.cells == {ranking.best, cell}), None)
        low, high = (1.0, 1.0) if cell == ranking.best else _bounds(pair, cell)
        low, high = (None if low is None else min(low, ratio)), (None if high is None else max(high, ratio))
        return {"worst_p99_ratio": ratio, "worst_p99_ratio_low": low, "worst_p99_ratio_high": high, "worst_flow": name}

    def compare(self, pairs: Iterable[tuple[str, str]], alpha: float) -> list[CellPair]:
        """Compare pairs of cells round by round, each cell by its worst flow.

        The significance level is divided by the number of flows, because the worst flows are selected from the same
        data.
        """
        share = alpha / max(len(self.flows), 1)
        compared = compare_single_pairs([self._question(*pair) for pair in pairs], share, "ratio")
        return [self._claim(pair) if self.clocks else pair for pair in compared]

    def _claim(self, pair: CellPair) -> CellPair:
        """Widen a pair's interval by the clock uncertainty. A significant difference stays significant only if the
        widened interval still excludes 1."""
        if pair.ratio is None or pair.low is None or pair.high is None:
            return pair
        first, name = self.flow(pair.a) or "", self.flow(pair.b) or ""
        if first == name or self.flows[first].best == pair.a:  # only the worst flow of `pair.b` matters in this case
            below = pair.a if first == name else self.flows[name].best or pair.a
            low, high = self._widen(name, (pair.low, pair.high), below)
        else:
            (a_low, a_high), (b_low, b_high) = (self._clock_factors(cell) for cell in (pair.a, pair.b))
            low = 0.0 if a_high is None else pair.low * b_low / a_high
            high = None if b_high is None or not a_low else pair.high * b_high / a_low
        return replace(pair, decided=pair.decided and (low or 0.0) > 1, low=low, high=high)

    def _clock_factors(self, cell: str) -> tuple[float, float | None]:
        """Return the factors by which clock errors may change the ratio between the p99 of a cell's worst flow and the
        best p99."""
        name = self.flow(cell) or ""
        best, ratio = self.flows[name].best or cell, self._ratio(name, cell)
        low, high = self._widen(name, (ratio, ratio), best)
        return (low or 0.0) / ratio, None if high is None else high / ratio

    def _widen(self, flow: str, bounds: tuple[float, float], below: str) -> tuple[float | None, float | None]:
        """Widen the interval `bounds` of a ratio by the clock uncertainty; the ratio's divisor is the p99 of the cell
        `below`."""
        clock = self.clocks.get(flow)
        if clock is None:
            return bounds
        return widen_ratio(bounds, self.flows[flow].levels[below][0], clock.whole_ns / 1000, clock_residual_us(clock))

    def _question(self, one: str, other: str) -> Question:
        """Return the observations that compare two cells, each by its own worst flow.

        The values to compare are ratios: each cell's p99 divided by the best transport's p99 for the same flow. To
        compare the ratios of two cells without a division, each cell's p99 is multiplied by the best p99 of the other
        cell's flow.
        """
        flows = [self.flow(cell) or "" for cell in (one, other)]
        best = [self.flows[name].best or "" for name in flows]
        sums = ((one, flows[0], best[1], flows[1]), (other, flows[1], best[0], flows[0]))
        found = [(each[0], dict(self._products(*each))) for each in sums]
        common = found[0][1].keys() & found[1][1].keys()
        steals = {at: max(self.steal.get((cell, at)) or 0.0 for cell in (one, other, *best)) for at in common}
        return Question(
            one,
            other,
            [Observation(cell, at, values[at], steals[at]) for cell, values in found for at in sorted(common)],
        )

    def _products(self, cell: str, flow: str, best: str, its_flow: str) -> Iterator[tuple[int, float]]:
        """For each round in which both values exist, yield the p99 of a cell's flow multiplied by the p99 of the best
        transport's flow."""
        own, its = self.tails[cell, flow], self.tails[best, its_flow]
        yield from ((at, value * its[at]) for at, value in own.items() if at in its)


def _bounds(pair: CellPair | None, cell: str) -> tuple[float | None, float | None]:
    """Return the confidence interval of a cell's value divided by the value of the other cell in the pair."""
    if pair is None or pair.low is None or pair.high is None:
        return None, None
    return (pair.low, pair.high) if pair.b == cell else (1 / pair.high, 1 / pair.low if pair.low else None)


def _parts(cell: Cell) -> Iterator[tuple[str, Cell]]:
    assert cell.workload is not None, "an ordinary cell has no flows"
    yield from ((flow.name, flow_cell(cell, flow)) for flow in cell.workload.flows)


def _part(cell: Cell, flow: str) -> Cell:
    return next(part for name, part in _parts(cell) if name == flow)


def _count_messages(
    cells: Sequence[Cell], flow_trials: Mapping[tuple[str, int], Values], rounds: Mapping[tuple[str, int], int]
) -> Counter[tuple[str, str]]:
    """Count the messages of each flow in the given trials, including lost messages."""
    found: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        for name, part in _parts(cell):
            own = (flow_trials.get((part.id, trial)) for whole, trial in rounds if whole == cell.id)
            found[cell.id, name] = sum(each.get("sent") or 0 for each in own if each)
    return found


def _tails(
    cell: Cell, part: Cell, flow_trials: Mapping[tuple[str, int], Values], rounds: Mapping[tuple[str, int], int]
) -> Tails:
    """Return the p99 of a flow in each round. A p99 that falls on a lost message is replaced with the trial's time
    limit."""
    found: dict[int, float] = {}
    for (whole, trial), at in rounds.items():
        if whole == cell.id and (values := flow_trials.get((part.id, trial))) and values.get("sent"):
            found[at] = values.get("p99_us") or cell.schedule.limit_s * 1e6
    return found


def _fit(
    cells: Sequence[Cell],
    name: str,
    tails: Mapping[tuple[str, str], Tails],
    steal: Mapping[tuple[str, int], float | None],
) -> Ranking:
    seen = [
        Observation(cell.id, at, value, steal.get((cell.id, at)))
        for cell in cells
        for at, value in tails[cell.id, name].items()
        if value > 0 and math.isfinite(value)
    ]
    return fit_table(cells, seen)
