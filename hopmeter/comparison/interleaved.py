"""Compare the two sides of one run, which measured both sides in the same rounds or in alternating turns of a duet."""

from __future__ import annotations

import math
from dataclasses import replace

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.comparison import trial_values
from hopmeter.comparison.change import FEW_ROUNDS, Change, Estimate, Side, judge, no_ratio, without_value
from hopmeter.comparison.matching import compared_rows
from hopmeter.plan.sides import NEW
from hopmeter.statistics import CellPair, Ranking, fit, level_of_result


def has_sides(run: Run) -> bool:
    """Return whether a run was measured with the option `--against`, which gives the run two sides."""
    return any(row.cell.comparison.side == NEW for row in run.rows)


def is_comparable(run: Run) -> bool:
    """Return whether a run has two sides and the file `trials.parquet`."""
    return has_sides(run) and (run.folder / "trials.parquet").is_file()


def compare_sides(run: Run, metric: str = "p50") -> list[Change]:
    """Return the change of each cell that was measured on both sides of a run, table by table."""
    trials, changes = trial_values.values(run), []
    by_id = {row.id: row for row in run.rows}
    for rows in trial_values.tables(compared_rows(run)).values():
        compared = [row for row in rows if row.cell.comparison.side and row["status"] == "ok"]
        ranking = fit(trial_values.observations(compared, trials, metric))
        pairs = [(by_id[row.cell.comparison.counterpart], row) for row in rows if row.cell.comparison.side == NEW]
        looks = run.part("looks").get(rows[0].cell.group) or []
        alpha = level_of_result(looks, max(ranking.rounds.values(), default=0))
        fits = [(old, new, _fit_duets(old, new, trials, metric) or ranking) for old, new in pairs]
        changes += judge([replace(_change(*each, metric), alpha=alpha) for each in fits])
    return changes


def _fit_duets(old: Row, new: Row, trials: trial_values.Values, metric: str) -> Ranking | None:
    """Compare two sides turn by turn, or return None if the sides were not measured as duets.

    Each launch of a duet counts as one round of the comparison. A percentile above the median cannot be compared turn
    by turn, because one turn of a duet has too few messages.
    """
    is_possible = metric == "p50" and old["status"] == new["status"] == "ok"
    observations = trial_values.duet_observations(old, new, trials) if is_possible else []
    return fit(observations) if observations else None


def _change(old: Row, new: Row, ranking: Ranking, metric: str) -> Change:
    before, after = (_side(row, ranking, metric) for row in (old, new))
    change = Change(new, trial_values.column(new, metric), before, after)
    pair = next((each for each in ranking.pairs if {each.a, each.b} == {old.id, new.id}), None)
    reason = without_value(before, after)[1] or _why_undecided(ranking, pair)
    if reason or pair is None:
        return replace(change, reason=reason)
    return replace(change, estimate=estimate(pair, new.id))


def _side(row: Row, ranking: Ranking, metric: str) -> Side:
    """Return the old or the new side of a cell's comparison. The value of a side is the median that the run's table
    shows or, for a percentile other than the median, the fitted level."""
    if row.id not in ranking.levels:
        return Side.of([row], None)
    shown = row.p50 if metric == "p50" else None
    return Side.of([row], ranking.levels[row.id][0] if shown is None else shown)


def _why_undecided(ranking: Ranking, pair: CellPair | None) -> str:
    if ranking.scale != "ratio":
        return no_ratio("a row of its table")
    if pair is None or pair.low is None:
        return FEW_ROUNDS
    return ""


def estimate(pair: CellPair, new: str) -> Estimate:
    """Convert the latency ratio of a pair, slower / faster, to an estimate of new / old latency.

    The degrees of freedom come from the rounds of the compared pair alone. Other cells of the table add no degrees of
    freedom, because the noise of cells is correlated.
    """
    assert pair.ratio is not None
    size = math.log(pair.ratio)
    return Estimate(size if pair.b == new else -size, pair.error, min(pair.freedom, pair.rounds - 1.0))
