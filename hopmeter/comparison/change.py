"""Define the change of a cell between the old and the new side: a ratio, its confidence interval and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from hopmeter.messages import split_code, tag
from hopmeter.model.cell import AXES, Cell
from hopmeter.statistics import detectable
from hopmeter.statistics.ranking import ALPHA, quantile
from hopmeter.statistics.verdicts import verdict

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row

ONLY_OLD, ONLY_NEW, UNDECIDED = "only_old", "only_new", "undecided"
NAMES = ("flow", "path")
"""The columns that name the flow or path of a workload's row."""
METRICS = ("p50", "p99")
"""The percentiles that every trial stores."""
BLURRED = tag("W-CLOCK-RUNS", "the clocks of the hosts may explain the change, because they differ in each run")
MISSED, SHARE = "missed", "missed_share"
"""The metric of missed deadlines, and its column in the results."""


class Estimated(Protocol):
    """The estimated change of one cell between two sides: a ratio of latencies, or a difference of shares of missed
    deadlines."""

    def p_value(self, threshold: float) -> float:
        """Return the one-sided p-value of the hypothesis that the change is at most `threshold`."""

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the change at a significance level such as 0.05."""

    def detectable(self, level: float) -> float:
        """Return the smallest change that a test at the significance level `level` would detect with a probability of
        80 %."""

    def verdict(self, low: float, high: float) -> str:
        """Return the verdict on a change whose confidence interval is `low` to `high`."""


@dataclass(frozen=True)
class Estimate:
    """The estimated logarithm of new latency / old latency, with its standard error and degrees of freedom."""

    difference: float
    error: float
    freedom: float
    below: float = 0.0
    """The maximum amount by which clock offsets between hosts may increase `difference`."""
    above: float = 0.0
    """The maximum amount by which clock offsets between hosts may decrease `difference`."""

    def p_value(self, threshold: float) -> float:
        """Return the one-sided p-value of the hypothesis that the ratio is at most `threshold`."""
        from scipy.special import stdtr  # SciPy is slow to import, and most commands need no statistics

        return float(stdtr(self.freedom, -(self.difference - self.below - math.log(threshold)) / self.error))

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the ratio at a significance level such as 0.05."""
        reach = quantile(level, self.freedom) * self.error
        low, high = self.difference - reach - self.below, self.difference + reach + self.above
        return math.exp(low), math.exp(min(high, 700.0))

    def detectable(self, level: float) -> float:
        """Return the smallest latency ratio that a test at the significance level `level` would detect with a
        probability of 80 %."""
        return detectable(self.error, self.freedom, level) * math.exp(min(self.below, 700.0))

    def clocks_decide(self, level: float) -> bool:
        """Return whether the change is undecided only because of clock uncertainty."""
        exact = replace(self, below=0.0, above=0.0)
        verdicts = [each.verdict(*each.bounds(level)) for each in (self, exact)]
        return verdicts[0] == UNDECIDED != verdicts[1]

    def verdict(self, low: float, high: float) -> str:
        """Return the verdict on a latency change whose ratio has a confidence interval from `low` to `high`."""
        return verdict(math.exp(self.difference), low, high)


@dataclass(frozen=True)
class Side:
    """One side of a cell's comparison: the latency in µs or the share of missed deadlines, the status, and the numbers
    of lost messages and failed trials."""

    value: float | None
    status: str
    lost: int
    failed: int
    """The number of failed trials."""
    reason: str = ""

    @classmethod
    def of(cls, rows: Sequence[Row], value: float | None) -> Side:
        """Combine the status, losses and failures of a cell in all runs of one side, and return that side of the
        comparison."""
        worst = next((row for row in rows if row["status"] != "ok"), rows[0])
        lost = sum(int(row["lost"] or 0) for row in rows)
        failed = sum(not trial["good"] for row in rows for trial in row.trials)
        return cls(value, str(worst["status"]), lost, failed, str(worst["reason"] or ""))


@dataclass(frozen=True)
class Change:
    """The change of one cell between two sides. If a change has the verdict `undecided` and no estimate, `reason` says
    why."""

    row: Row
    """The cell's row in the newest run that contains it."""
    metric: str
    """The compared column, such as `response_p50_us` or `missed_share`."""
    old: Side | None
    new: Side | None
    estimate: Estimated | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = UNDECIDED
    detectable: float | None = None
    reason: str = ""
    alpha: float = ALPHA
    """The significance level that all changes of a table share. The level is smaller than usual if looks have used part
    of it."""
    is_control: bool = False
    """Whether the cell is a control cell, such as a floor or `synthetic`, which shows how the machine drifts."""

    @property
    def cell(self) -> Cell:
        """Return the compared cell."""
        return self.row.cell

    @property
    def is_share(self) -> bool:
        """Return whether the change is a difference between two shares of missed deadlines."""
        return self.metric == SHARE

    @property
    def difference(self) -> float | None:
        """Return the new share of missed deadlines minus the old share, or None for a change of latency."""
        values = [side.value for side in (self.old, self.new) if side is not None and side.value is not None]
        return values[1] - values[0] if self.is_share and len(values) == 2 else None

    @property
    def ratio(self) -> float | None:
        """Return the displayed new latency divided by the displayed old latency, or None for a change of shares. The
        displayed confidence interval was computed for the estimate, not for the ratio of the displayed values."""
        if self.is_share or self.old is None or self.new is None or not self.old.value or self.new.value is None:
            return None
        return self.new.value / self.old.value

    @property
    def name(self) -> str:
        """Return the row's name: transport, language, profile and, in a workload, the flow or path."""
        axes, alongside = self.cell.axes, self.cell.comparison.alongside
        words = [
            axes.transport,
            f"({axes.language})",
            self.cell.carriage.profile,
            self.cell.part,
            alongside and f"alongside {alongside}",
        ]
        return " ".join(filter(None, words))

    def as_json(self) -> dict[str, Any]:
        """Convert the change to the JSON object that `hopmeter compare --json` prints as one line."""
        reason, code = split_code(self.reason)
        return {
            **{name: self.cell[name] for name in ("transport", "language", "profile", *AXES, *NAMES, "payload_bytes")},
            "group": self.cell.group,
            "metric": self.metric,
            "old": self.old.value if self.old else None,
            "new": self.new.value if self.new else None,
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "difference": self.difference,
            "verdict": self.verdict,
            "detectable": self.detectable,
            "control": self.is_control,
            "old_status": self.old.status if self.old else None,
            "new_status": self.new.status if self.new else None,
            "reason": reason or None,
            "code": code,
        }


def judge_tables(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of the cells in several tables, each change with its verdict."""
    groups = dict.fromkeys(each.cell.group for each in changes)
    return [found for key in groups for found in judge([each for each in changes if each.cell.group == key])]


def judge(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of the cells in one table, each change with its verdict. The confidence intervals in a table
    are wide enough to hold simultaneously."""
    many = sum(each.estimate is not None for each in changes)
    return [_judge_one(each, each.alpha / many) if each.estimate else each for each in changes]


def _judge_one(change: Change, level: float) -> Change:
    estimate = change.estimate
    assert estimate is not None
    low, high = estimate.bounds(level)
    found = estimate.verdict(low, high)
    is_blurred = isinstance(estimate, Estimate) and estimate.clocks_decide(level)
    reason = BLURRED if is_blurred else change.reason
    return replace(change, low=low, high=high, verdict=found, detectable=estimate.detectable(level), reason=reason)


FEW_ROUNDS = tag("W-FEW-ROUNDS", "fewer than three rounds have a good trial of both sides")


def no_ratio(who: str) -> str:
    """Return the message for a change without a ratio. `who`, such as "the old side", is the side that has no value
    above zero."""
    return tag("W-SIDE-NO-VALUE", f"{who} has no value above zero for this metric")


def without_value(old: Side | None, new: Side | None, is_share: bool = False) -> tuple[str, str]:
    """Return the verdict and the reason for a cell that cannot be compared, or two empty strings if both sides have a
    value."""
    if old is None or new is None:
        return (ONLY_NEW, "") if old is None else (ONLY_OLD, "")
    for name, side in (("old", old), ("new", new)):
        if side.status != "ok":
            return UNDECIDED, tag("W-SIDE-STATUS", f"the {name} side is {side.status}: {split_code(side.reason)[0]}")
        if side.value is None or (side.value <= 0 and not is_share):
            return UNDECIDED, no_ratio(f"the {name} side")
    return "", ""
