"""Test the claims of a study against the user's results. A claim is unresolved if the interval of a measured value
contains one of the claim's bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from hopmeter.analysis.results.groups import CONDITIONS, groups
from hopmeter.analysis.results.machine_order import compare_machines
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.studies.known import Claim, Selector
from hopmeter.report.studies.row_values import Value, is_unresolved, row_value, why_unresolved, with_interval
from hopmeter.report.words import formatting

Answer = Literal["holds", "does not hold", "not resolved", "not measured"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, and the measured values on which the verdict is based."""

    answer: Answer
    numbers: str


@dataclass(frozen=True)
class Comparison:
    """A value or ratio that is compared with the bounds of a claim, with a description. The field `value` is None if
    the rows have too few messages."""

    value: Value | None
    words: str

    def answer(self, claim: Claim) -> Answer:
        """Return `holds` if the interval is within the claim's bounds, `does not hold` if the interval is outside the
        bounds, and `not resolved` otherwise."""
        low, high = (self.value.low, self.value.high) if self.value else (None, None)
        least = -math.inf if claim.at_least is None else claim.at_least
        most = math.inf if claim.at_most is None else claim.at_most
        if low is None or high is None:
            return "not resolved"
        if low >= least and high <= most:
            return "holds"
        return "does not hold" if high < least or low > most else "not resolved"


def judge(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Return the verdict on a claim, based on the given runs. The claim holds if all its comparisons hold, and fails if
    at least one of its comparisons fails."""
    if claim.test:
        return TESTS[claim.test](runs)
    found = [each for run in runs for each in comparisons(claim, run)]
    if not found:
        is_split = len(runs) > 1 and any(comparisons(claim, _merge(runs)))
        return Verdict("not measured", "the rows come from different runs, which are not compared" if is_split else "")
    answers = [each.answer(claim) for each in found]
    decided: Answer = next((each for each in ORDER if each in answers), "holds")
    deciding = [each for each, answer in zip(found, answers, strict=True) if answer == decided]
    return Verdict(decided, _numbers(claim, decided, deciding, len(found)))


def _merge(runs: Sequence[Run]) -> Run:
    """Return a single run that contains the rows of all given runs."""
    return replace(runs[0], rows=[row for run in runs for row in run.rows])


ORDER: tuple[Answer, ...] = ("does not hold", "not resolved")
"""If any comparison gives one of these answers, the claim gets that answer. Earlier answers take precedence over later
answers."""


def _numbers(claim: Claim, answer: Answer, deciding: Sequence[Comparison], many: int) -> str:
    """Describe the deciding comparison, which is the comparison whose value is nearest to a bound.
    For a claim that does not hold, the deciding comparison has the value that is farthest beyond a bound."""
    choose = max if answer == "does not hold" else min
    chosen = choose(deciding, key=lambda each: abs(_room(claim, each.value.value)) if each.value else math.inf)
    share = f"; {len(deciding)} of {formatting.plural(many, 'comparison')}" if many > 1 else ""
    return f"{chosen.words}{share}"


def _room(claim: Claim, value: float) -> float:
    """Return the distance between a value and the nearest bound, on a logarithmic scale if value and bound are
    positive."""
    bounds = [each for each in (claim.at_least, claim.at_most) if each is not None]
    return min(abs(math.log(value / each)) if value > 0 and each > 0 else abs(value - each) for each in bounds)


def comparisons(claim: Claim, run: Run) -> Iterator[Comparison]:
    """Yield all comparisons of a run that test the claim."""
    rows = [row for row in run.measured_rows if row.candidate and matches(row, claim.where)]
    of = [row for row in rows if matches(row, claim.of)]
    if claim.than is not None:
        than = [row for row in rows if matches(row, claim.than) and row not in of]
        pairs = ((one, other) for one in of for other in than if _comparable(claim, one, other))
    elif claim.along:
        pairs = (
            _higher_first(claim.along, one, other)
            for one, other in combinations(of, 2)
            if _differs_along(claim, one, other)
        )
    else:
        yield from filter(None, (_single(claim, row) for row in of))
        return
    yield from filter(None, (_pair(claim, one, other) for one, other in pairs))


def matches(row: Row, wanted: Selector) -> bool:
    """Return whether the columns and settings of a row match a selector."""
    return all(_is(_get(row, name), value) for name, value in wanted.items())


def _get(row: Row, name: str) -> Any:
    value = row.get(name)
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
    return _alike(one, other, free) and _same_settings(claim, one, other)


def _differs_along(claim: Claim, one: Row, other: Row) -> bool:
    axis = str(claim.along)
    free = {axis, "payload"} if axis == "payload_bytes" else {axis}
    return (
        one.get(axis) != other.get(axis)
        and _alike(one, other, free | set(claim.differ))
        and _same_settings(claim, one, other)
    )


def _alike(one: Row, other: Row, free: set[str]) -> bool:
    return all(one.get(key) == other.get(key) for key in KEYS if key not in free)


def _same_settings(claim: Claim, one: Row, other: Row) -> bool:
    """Return whether two rows differ only in settings that the claim allows to differ."""
    here, there = one.cell.carriage.settings, other.cell.carriage.settings
    differing = {name for name in {*here, *there} if here.get(name) != there.get(name)}
    return not claim.only or differing <= set(claim.only)


def _higher_first(axis: str, one: Row, other: Row) -> tuple[Row, Row]:
    """Return both rows, starting with the row that has the higher value of `axis`."""
    return (one, other) if one.get(axis) > other.get(axis) else (other, one)


def _single(claim: Claim, row: Row) -> Comparison | None:
    value = row_value(row, claim.column)
    if value is None:
        return _open(claim.column, row)
    words = f"{_name(row, row)}: {with_interval(value, claim.column)}"
    if not claim.than_column:
        return Comparison(value, words)
    other = row_value(row, claim.than_column)
    if other is None:
        return _open(claim.than_column, row)
    return _ratio(value, other, f"{words} to {with_interval(other, claim.than_column)}")


def _pair(claim: Claim, one: Row, other: Row) -> Comparison | None:
    first, second = row_value(one, claim.column), row_value(other, claim.column)
    if first is None or second is None:
        return _open(claim.column, *(row for row, value in ((one, first), (other, second)) if value is None))
    words = f"{_name(one, other)} {with_interval(first, claim.column)}"
    return _ratio(first, second, f"{words} to {_name(other, one)} {with_interval(second, claim.column)}")


def _open(column: str, *rows: Row) -> Comparison | None:
    """Return an undecided comparison if the rows received too few messages or lost too many messages. Otherwise, return
    None."""
    if not all(is_unresolved(row, column) for row in rows):
        return None
    return Comparison(None, " and ".join(f"{why_unresolved(row, column)} of {_name(row, row)}" for row in rows))


def _ratio(one: Value, other: Value, words: str) -> Comparison | None:
    """Return the ratio of two values with its interval, or None if the second value is not positive."""
    if other.value <= 0:
        return None
    low = one.low / other.high if one.low is not None and other.high else None
    high = one.high / other.low if one.high is not None and other.low else None
    value = Value(one.value / other.value, low, high)
    return Comparison(value, f"{words}, {formatting.times(value.value)}")


def _name(row: Row, other: Row) -> str:
    """Return the name of `row` with its rate and with the conditions in which `row` differs from `other`. If `row` and
    `other` are the same row, the name includes the profile."""
    free = ("pattern", "placement", "wait", "payload", "profile", "pairs", "codec")
    keys = ("profile",) if row is other else tuple(key for key in free if row.get(key) != other.get(key))
    differing = [str(row.get(key) or "") for key in keys]
    rate = [formatting.rate(row["rate_hz"])] if row["rate_hz"] else []
    return f"{row['transport']} ({', '.join([str(row['language']), *filter(None, differing), *rate])})"


def same_order(runs: Sequence[Run]) -> Verdict:
    """Return the verdict on the claim that all machines rank the rows in one order. The claim fails if the order of two
    rows differs significantly between two machines."""
    compared = compare_machines(groups(runs))
    flips = [flip for each in compared for flip in each.flips]
    known = [one for each in compared for one in each.correlations if one.kendall is not None]
    if not known:
        return Verdict("not measured", "")
    least = f"lowest rank correlation τ = {min(one.kendall or 0.0 for one in known):.2f} (Kendall)"
    significant = [flip for flip in flips if flip.significant]
    words = "; ".join(
        f"{flip.one} and {flip.other} ({flip.first}, {flip.second})" for flip in (significant or flips)[:3]
    )
    if significant:
        return Verdict("does not hold", f"{formatting.plural(len(significant), 'flip')}: {words}; {least}")
    return Verdict("not resolved", f"may flip: {words}; {least}") if flips else Verdict("holds", least)


TESTS: dict[str, Callable[[Sequence[Run]], Verdict]] = {"same order on every machine": same_order}
"""Functions that test claims about more than two rows, by test name."""
