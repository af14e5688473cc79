"""Whether a study's claim holds here: the ratio of intervals decides, and what they do not resolve is said so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from hopmeter.report import formatting, machines
from hopmeter.report.grouping import CONDITIONS, groups
from hopmeter.report.source import Row, Run
from hopmeter.report.studies.known import Claim, Selector
from hopmeter.report.studies.values import Value, is_unresolved, measured, with_interval

Answer = Literal["holds", "does not hold", "not resolved", "not measured"]


@dataclass(frozen=True)
class Verdict:
    """The answer, and the numbers that decide it."""

    answer: Answer
    numbers: str


@dataclass(frozen=True)
class Comparison:
    """One thing the claim says something about: a value or a ratio, its ends, and the figures it is made of; None where
    it was measured and too little came of it."""

    value: Value | None
    says: str

    def answer(self, claim: Claim) -> Answer:
        """Holds where the whole interval lies within the claim's bounds, does not where none of it does."""
        low, high = (self.value.low, self.value.high) if self.value else (None, None)
        least = -math.inf if claim.at_least is None else claim.at_least
        most = math.inf if claim.at_most is None else claim.at_most
        if low is None or high is None:
            return "not resolved"
        if low >= least and high <= most:
            return "holds"
        return "does not hold" if high < least or low > most else "not resolved"


def judge(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """What these runs say of a claim: it holds where every comparison does, and fails where one does."""
    if claim.test:
        return TESTS[claim.test](runs)
    found = [each for run in runs for each in comparisons(claim, run)]
    if not found:
        apart = len(runs) > 1 and any(comparisons(claim, _together(runs)))
        return Verdict("not measured", "its rows are of different runs, which are not compared" if apart else "")
    answers = [each.answer(claim) for each in found]
    decided: Answer = next((each for each in ORDER if each in answers), "holds")
    deciding = [each for each, answer in zip(found, answers, strict=True) if answer == decided]
    return Verdict(decided, _numbers(claim, decided, deciding, len(found)))


def _together(runs: Sequence[Run]) -> Run:
    """The rows of all runs as those of one."""
    return replace(runs[0], rows=[row for run in runs for row in run.rows])


ORDER: tuple[Answer, ...] = ("does not hold", "not resolved")
"""One that fails decides, then one that is open."""


def _numbers(claim: Claim, answer: Answer, deciding: Sequence[Comparison], many: int) -> str:
    """The comparison nearest to the bound where it holds, the farthest beyond it where it does not."""
    choose = max if answer == "does not hold" else min
    told = choose(deciding, key=lambda each: abs(_room(claim, each.value.value)) if each.value else math.inf)
    share = f"; {len(deciding)} of {formatting.plural(many, 'comparison')}" if many > 1 else ""
    return f"{told.says}{share}"


def _room(claim: Claim, value: float) -> float:
    """How far a value lies from the nearest bound, on a logarithmic scale where it has one."""
    bounds = [each for each in (claim.at_least, claim.at_most) if each is not None]
    return min(abs(math.log(value / each)) if value > 0 and each > 0 else abs(value - each) for each in bounds)


def comparisons(claim: Claim, run: Run) -> Iterator[Comparison]:
    """Everything in a run that the claim speaks of."""
    rows = [row for row in run.measured if row.candidate and matches(row, claim.where)]
    of = [row for row in rows if matches(row, claim.of)]
    if claim.than is not None:
        than = [row for row in rows if matches(row, claim.than) and row not in of]
        pairs = ((one, other) for one in of for other in than if _comparable(claim, one, other))
    elif claim.along:
        pairs = (_ordered(claim.along, one, other) for one, other in combinations(of, 2) if _varied(claim, one, other))
    else:
        yield from filter(None, (_alone(claim, row) for row in of))
        return
    yield from filter(None, (_pair(claim, one, other) for one, other in pairs))


def matches(row: Row, wanted: Selector) -> bool:
    """Whether a row has what a selector asks for, in its columns or its settings."""
    return all(_is(_get(row, name), value) for name, value in wanted.items())


def _get(row: Row, name: str) -> Any:
    value = row[name]
    return row.cell.carriage.settings.get(name) if value is None else value


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is(value, each) for each in wanted)
    if isinstance(wanted, str) and wanted.startswith("!"):
        return value is not None and value != wanted[1:]
    return bool(value == wanted)


KEYS = ("transport", "language", "profile", *CONDITIONS)


def _comparable(claim: Claim, one: Row, other: Row) -> bool:
    free = {*claim.of, *(claim.than or {}), *claim.differ}
    free |= {"payload_bytes"} if "payload" in free else set()
    return _alike(one, other, free) and _set_alike(claim, one, other)


def _varied(claim: Claim, one: Row, other: Row) -> bool:
    axis = str(claim.along)
    free = {axis, "payload"} if axis == "payload_bytes" else {axis}
    return one[axis] != other[axis] and _alike(one, other, free | set(claim.differ)) and _set_alike(claim, one, other)


def _alike(one: Row, other: Row, free: set[str]) -> bool:
    return all(one[key] == other[key] for key in KEYS if key not in free)


def _set_alike(claim: Claim, one: Row, other: Row) -> bool:
    """Whether the settings differ in nothing but those that the claim is about."""
    here, there = one.cell.carriage.settings, other.cell.carriage.settings
    differing = {name for name in {*here, *there} if here.get(name) != there.get(name)}
    return not claim.only or differing <= set(claim.only)


def _ordered(axis: str, one: Row, other: Row) -> tuple[Row, Row]:
    """The higher before the lower."""
    return (one, other) if one[axis] > other[axis] else (other, one)


def _alone(claim: Claim, row: Row) -> Comparison | None:
    value = measured(row, claim.column)
    if value is None:
        return _open(claim.column, row)
    told = f"{_name(row, row)}: {with_interval(value, claim.column)}"
    if not claim.than_column:
        return Comparison(value, told)
    other = measured(row, claim.than_column)
    if other is None:
        return _open(claim.than_column, row)
    return _ratio(value, other, f"{told} to {with_interval(other, claim.than_column)}")


def _pair(claim: Claim, one: Row, other: Row) -> Comparison | None:
    first, second = measured(one, claim.column), measured(other, claim.column)
    if first is None or second is None:
        return _open(claim.column, *(row for row, value in ((one, first), (other, second)) if value is None))
    says = f"{_name(one, other)} {with_interval(first, claim.column)}"
    return _ratio(first, second, f"{says} to {_name(other, one)} {with_interval(second, claim.column)}")


def _open(column: str, *rows: Row) -> Comparison | None:
    """What stays open since these rows have too few messages for their figure; nothing where one has no such figure."""
    if not all(is_unresolved(row, column) for row in rows):
        return None
    names = " and of ".join(_name(row, row) for row in rows)
    return Comparison(None, f"too few messages of {names}")


def _ratio(one: Value, other: Value, says: str) -> Comparison | None:
    """One as a multiple of the other, with the ends that their intervals leave."""
    if other.value <= 0:
        return None
    low = one.low / other.high if one.low is not None and other.high else None
    high = one.high / other.low if one.high is not None and other.low else None
    value = Value(one.value / other.value, low, high)
    return Comparison(value, f"{says}, {formatting.times(value.value)}")


def _name(row: Row, other: Row) -> str:
    """What the row is, with the conditions in which it differs from the other, and its rate; alone, its profile."""
    free = ("pattern", "placement", "wait", "payload", "profile", "pairs", "codec")
    told = ("profile",) if row is other else tuple(key for key in free if row[key] != other[key])
    differing = [str(row[key] or "") for key in told]
    rate = [formatting.rate(row["rate_hz"])] if row["rate_hz"] else []
    return f"{row['transport']} ({', '.join([str(row['language']), *filter(None, differing), *rate])})"


def same_order(runs: Sequence[Run]) -> Verdict:
    """Whether no two rows are for certain in the opposite order on two machines."""
    compared = machines.side_by_side(groups(runs))
    flips = [flip for each in compared for flip in each.flips]
    known = [one for each in compared for one in each.correlations if one.kendall is not None]
    if not known:
        return Verdict("not measured", "")
    least = f"lowest rank correlation τ = {min(one.kendall or 0.0 for one in known):.2f} (Kendall)"
    certain = [flip for flip in flips if flip.resolved]
    told = "; ".join(f"{flip.one} and {flip.other} ({flip.first}, {flip.second})" for flip in (certain or flips)[:3])
    if certain:
        return Verdict("does not hold", f"{formatting.plural(len(certain), 'flip')}: {told}; {least}")
    return Verdict("not resolved", f"may flip: {told}; {least}") if flips else Verdict("holds", least)


TESTS: dict[str, Callable[[Sequence[Run]], Verdict]] = {"same order on every machine": same_order}
"""Claims that are more than a comparison of two rows; a claim names its test."""
