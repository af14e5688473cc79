"""Compare two sides by their shares of missed deadlines: for whole workloads, and for flows and paths that have a
deadline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.comparison import matching, trial_values
from hopmeter.comparison.between_runs import LACKING, SINGLE, Runs
from hopmeter.comparison.change import FEW_ROUNDS, SHARE, UNDECIDED, Change, Estimate, Side, judge_tables, without_value
from hopmeter.comparison.matching import Key
from hopmeter.plan.sides import NEW, OLD
from hopmeter.statistics.detection import reach
from hopmeter.statistics.ranking import quantile
from hopmeter.statistics.shares.share_runs import ShareRuns, compare_share_runs
from hopmeter.statistics.shares.share_tests import ShareDifference, ShareTrial, compare_share_of_two

MARGIN = 0.01
"""Two shares count as the same if they differ by at most one percentage point."""
Counts = dict[Key, tuple[Row, list[ShareTrial]]]
"""Maps each cell of a run to its row and to the missed deadlines of its trials."""


def verdict(low: float, high: float) -> str:
    """Return the verdict on a change of the share of missed deadlines, from the confidence interval of new minus old
    share."""
    if low > 0 or high < 0:
        return "more_missed" if low > 0 else "fewer_missed"
    return "same" if low >= -MARGIN and high <= MARGIN else UNDECIDED


@dataclass(frozen=True)
class BetweenRounds:
    """The difference between two shares of missed deadlines within one run.

    The difference is significant only if two tests agree: one test uses the spread between trials, and the other treats
    the numbers of missed deadlines as random.
    """

    found: ShareDifference

    def p_value(self, threshold: float) -> float:
        """Return the one-sided p-value of the hypothesis that the difference of shares is at most `threshold`."""
        from scipy.special import stdtr  # SciPy is slow to import, and most commands need no statistics

        by_rounds = stdtr(self.found.freedom, -(self.found.difference - threshold) / self.found.error)
        return max(float(by_rounds), self.found.counts_p_value / 2)

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the difference of shares at a significance level such as 0.05. The interval
        includes 0 if the two counts of missed deadlines do not differ significantly."""
        half = quantile(level, self.found.freedom) * self.found.error
        low, high = self.found.difference - half, self.found.difference + half
        return (min(low, 0.0), max(high, 0.0)) if self.found.counts_p_value > level else (low, high)

    def detectable(self, level: float) -> float:
        """Return the smallest difference of shares that a test at the significance level `level` would detect with a
        probability of 80 %."""
        return reach(level, self.found.freedom) * self.found.error

    def verdict(self, low: float, high: float) -> str:
        """Return the verdict on a difference of shares whose confidence interval is `low` to `high`."""
        return verdict(low, high)


@dataclass(frozen=True)
class BetweenRuns:
    """The difference between the shares of missed deadlines of two sides, whose runs were measured at different hours.

    The difference is significant only if two tests agree: one test uses the spread between runs, and the other uses the
    spread within runs.
    """

    found: ShareRuns
    difference: float
    """The new minus the old share over all messages. The confidence interval always includes this difference."""

    def p_value(self, threshold: float) -> float:
        """Return the one-sided p-value of the hypothesis that the difference of shares is at most `threshold`."""
        allowed = min(_share(self.found.old) + threshold, 1 - 1e-9)
        odds_ratio = math.exp(math.log(allowed / (1 - allowed)) - self.found.old)
        return max(each.p_value(odds_ratio) for each in self._tests())

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the difference of shares, computed from odds ratios relative to the old
        share."""
        ends = [end for each in self._tests() for end in map(self._difference_of, each.bounds(level))]
        return min(self.difference, *ends), max(self.difference, *ends)

    def detectable(self, level: float) -> float:
        """Return the smallest difference of shares that a test at the significance level `level` would detect with a
        probability of 80 %."""
        return self._difference_of(max(each.detectable(level) for each in self._tests()))

    def verdict(self, low: float, high: float) -> str:
        """Return the verdict on a difference of shares whose confidence interval is `low` to `high`."""
        return verdict(low, high)

    def _tests(self) -> list[Estimate]:
        parts = zip(self.found.errors, self.found.freedoms, strict=True)
        return [Estimate(self.found.difference, *each) for each in parts]

    def _difference_of(self, odds_ratio: float) -> float:
        """Convert an odds ratio relative to the old share to a difference of shares."""
        return _share(self.found.old + math.log(odds_ratio)) - _share(self.found.old)


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def compare_sides(run: Run) -> list[Change]:
    """Return the change of each row that has deadlines and was measured on two sides. Return an empty list if the run
    has no deadlines."""
    trials, by_id = trial_values.values(run), {row.id: row for row in run.rows}
    news = [row for row in matching.deadline_rows(run) if row.cell.comparison.side == NEW]
    return judge_tables([_compare_sides(by_id[row.cell.comparison.counterpart], row, trials) for row in news])


def _compare_sides(old: Row, new: Row, trials: trial_values.Values) -> Change:
    before, after = (trial_values.share_trials(row, trials) for row in (old, new))
    change = _change(new, ([old], before), ([new], after))
    if change.reason or change.verdict != UNDECIDED:
        return change
    found = compare_share_of_two(old.id, new.id, [*before, *after])
    if found is None:
        return replace(change, reason=FEW_ROUNDS)
    return replace(change, estimate=BetweenRounds(found))


def compare_runs(old: Runs, new: Runs) -> list[Change]:
    """Return the change of each row with deadlines between two runs or baselines. Return an empty list if no run has
    deadlines."""
    before, after = ([_counts(run) for run in side.runs] for side in (old, new))
    keys = dict.fromkeys(key for run in (*after, *before) for key in run)
    return judge_tables([_compare_runs(key, before, after) for key in keys])


def _counts(run: Run) -> Counts:
    trials = trial_values.values(run)
    rows = [row for row in matching.deadline_rows(run) if row.cell.comparison.side != OLD]
    return {matching.key(row.cell): (row, trial_values.share_trials(row, trials)) for row in rows}


def _compare_runs(key: Key, before: Sequence[Counts], after: Sequence[Counts]) -> Change:
    sides = [[run[key] for run in side if key in run] for side in (before, after)]
    old, new = (([row for row, _ in side], [each for _, own in side for each in own]) for side in sides)
    change = _change((*new[0], *old[0])[0], old, new)
    if change.reason or change.verdict != UNDECIDED:
        return change
    if len(before) + len(after) < 3:
        return replace(change, reason=SINGLE)
    runs = [[own for _, own in side if own] for side in sides]
    if sum(map(len, runs)) < len(before) + len(after):
        return replace(change, reason=LACKING)
    return replace(change, estimate=BetweenRuns(compare_share_runs(*runs), change.difference or 0.0))


def _change(row: Row, old: tuple[list[Row], list[ShareTrial]], new: tuple[list[Row], list[ShareTrial]]) -> Change:
    before, after = (Side.of(rows, _share_of_missed(trials)) if rows else None for rows, trials in (old, new))
    found, reason = without_value(before, after, is_share=True)
    is_control = matching.is_control(row.cell)
    return Change(row, SHARE, before, after, verdict=found or UNDECIDED, reason=reason, is_control=is_control)


def _share_of_missed(trials: Sequence[ShareTrial]) -> float | None:
    """Return the share of missed deadlines in all given trials, or None if the trials have no messages."""
    messages = sum(each.messages for each in trials)
    return sum(each.events for each in trials) / messages if messages else None
