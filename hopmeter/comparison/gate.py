"""Define the gate of a CI job: the rules that decide which changes make the job fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hopmeter.comparison.change import METRICS, MISSED, UNDECIDED, Change
from hopmeter.errors import UsageError
from hopmeter.statistics.ranking import ALPHA

RULE = re.compile(r"(?:(?:(?P<metric>\w+):)?slower|(?P<missed>missed)):(?P<percent>\d+(?:\.\d+)?)%")
STRICT = "undecided"


@dataclass(frozen=True)
class Rule:
    """One rule of a gate.

    `p99:slower:10%` allows a p99 that is up to 10 % higher. `missed:1%` allows a share of missed deadlines that is up
    to one percentage point higher.
    """

    metric: str
    percent: float

    @property
    def threshold(self) -> float:
        """Return the maximum latency ratio, or the maximum increase of the share of missed deadlines, that the rule
        allows."""
        return self.percent / 100 + (self.metric != MISSED)

    @property
    def why(self) -> str:
        """Return a phrase that says how a change breaks this rule."""
        if self.metric != MISSED:
            return f"slower by more than {self.percent:g} %"
        return "misses more deadlines" + (f", by more than {self.percent:g} points" if self.percent else "")


@dataclass(frozen=True)
class Gate:
    """All rules of a gate. A `strict` gate also fails if a change is undecided."""

    rules: tuple[Rule, ...]
    strict: bool = False
    asks_for_deadlines: bool = False
    """Whether the user gave a rule for deadlines. If there is no such rule, the gate allows no increase in missed
    deadlines."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics to which the gate's rules apply."""
        return tuple(dict.fromkeys(rule.metric for rule in self.rules))


@dataclass(frozen=True)
class Failure:
    """A change that makes the gate fail, and the reason."""

    change: Change
    why: str


def parse(texts: Sequence[str]) -> Gate | None:
    """Return the gate that the values of `--fail-if` define, or None if `--fail-if` was not given. Raises UsageError
    for an invalid rule."""
    rules = tuple(_rule(text) for text in texts if text != STRICT)
    if not texts:
        return None
    asks_for_deadlines = any(rule.metric == MISSED for rule in rules)
    implied = () if asks_for_deadlines else (Rule(MISSED, 0.0),)
    return Gate((*(rules or (Rule("p50", 5.0),)), *implied), STRICT in texts, asks_for_deadlines)


def _rule(text: str) -> Rule:
    found = RULE.fullmatch(text)
    metric = (found and (found["metric"] or found["missed"])) or "p50"
    if not found or metric not in (*METRICS, MISSED):
        raise UsageError(
            "E-GATE",
            f'--fail-if "{text}" is not a rule',
            f"write slower:5%, METRIC:slower:5% with {' or '.join(METRICS)}, {MISSED}:1%, or {STRICT}",
        )
    return Rule(metric, float(found["percent"]))


def failures(gate: Gate, changes: Mapping[str, Sequence[Change]]) -> list[Failure]:
    """Return the changes that make the gate fail. The significance tests of all changes are corrected with Holm's
    procedure, because many tests are made at once."""
    broken = [Failure(each, why) for each in next(iter(changes.values())) if (why := _breakage(each))]
    found = [*broken, *_worse(gate, changes)]
    if gate.strict:
        open_ones = [each for metric in gate.metrics for each in changes.get(metric, ()) if each.verdict == UNDECIDED]
        known = {id(each.change) for each in found}
        found += [Failure(each, "undecided") for each in open_ones if id(each) not in known]
    return found


def _worse(gate: Gate, changes: Mapping[str, Sequence[Change]]) -> list[Failure]:
    tested = [
        (each.estimate.p_value(rule.threshold), rule, each)
        for rule in gate.rules
        for each in changes.get(rule.metric, ())
        if each.estimate is not None
    ]
    alpha = min((change.alpha for _, _, change in tested), default=ALPHA)
    found = []
    for place, (p_value, rule, change) in enumerate(sorted(tested, key=lambda each: each[0])):
        if 2 * p_value > alpha / (len(tested) - place):
            break
        found.append(Failure(change, rule.why))
    return sorted(found, key=lambda each: each.change.name)


def _breakage(change: Change) -> str:
    """Return what went wrong with the cell on the new side only, such as lost messages, or an empty string."""
    old, new = change.old, change.new
    if old is None or new is None or old.status != "ok":
        return ""
    if new.status != "ok":
        return f"{new.status} on the new side only"
    if new.failed and not old.failed:
        return f"{new.failed} trials failed on the new side only"
    if new.lost and not old.lost:
        return f"{new.lost} messages were lost on the new side only"
    return ""
