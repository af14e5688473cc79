"""Text about comparisons: the change of each cell, and a sentence that summarises all changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hopmeter.analysis.results.groups import CONDITIONS, Group
from hopmeter.comparison.change import ONLY_NEW, ONLY_OLD, UNDECIDED, Change, Side
from hopmeter.messages import split_code
from hopmeter.report.words import conditions, formatting

VERDICTS = {
    "more_missed": "late more often",
    "much_slower": "slower by more than 5 %",
    "slower": "slower",
    "same": "the same within 5 %",
    "fewer_missed": "late less often",
    "faster": "faster",
    "much_faster": "faster by more than 5 %",
    UNDECIDED: "undecided",
    ONLY_OLD: "only on the old side",
    ONLY_NEW: "only on the new side",
}
"""The verdicts in words, worst first."""
SAME_SHARE = "the same within 1 point"
SAME = "~"
SINGLE_RUNS = "W-SINGLE-RUNS"
SPELLED_OUT = 3
DRIFT = 1.25
"""If control cells change by more than this factor, the machine is the likely cause of the other changes."""
LARGEST = 1000
"""A ratio above this value, or below its inverse, is not printed."""
MULTIPLE = 2
"""A change of at least this ratio is written as a multiple instead of a percentage."""


def titles(changes: Sequence[Change]) -> dict[str, str]:
    """Map the group key of each table to the table's title."""
    return {key: conditions.title(group) for key, group in tables(changes).items()}


def tables(changes: Sequence[Change]) -> dict[str, Group]:
    """Map the group key of each table to the table's conditions."""
    groups = {each.cell.group: Group({name: each.cell[name] for name in CONDITIONS}, (each.row,)) for each in changes}
    values = [tuple(map(str, group.conditions.values())) for group in groups.values()]
    varied = tuple(name for at, name in enumerate(CONDITIONS) if len({each[at] for each in values}) > 1)
    return {key: replace(group, varied=varied) for key, group in groups.items()}


def unit(each: Change) -> str:
    """Return the unit of a change's old and new values."""
    return "% missed" if each.is_share else "µs"


def value(each: Change, side: Side | None) -> str:
    """Return the value of one side of a change as text, without the unit."""
    known = None if side is None else side.value
    return formatting.number(100 * known if each.is_share and known is not None else known)


def change(each: Change) -> str:
    """Return a change as text, such as `+12 %` or `+1.2 points`, or `~` if the sides do not differ significantly. The
    comparison of two single runs has no verdict, so the change is always shown."""
    size = each.difference if each.is_share else each.ratio
    if size is None:
        return formatting.NOTHING
    is_shown = each.verdict not in (UNDECIDED, "same") or split_code(each.reason)[1] == SINGLE_RUNS
    return _size(each, size) if is_shown else SAME


def _size(each: Change, size: float) -> str:
    return points(size) if each.is_share else percent(size)


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, such as `+1.2 points`."""
    return f"{round(100 * difference, 3) + 0.0:+.3g}{formatting.THIN}points".replace("-", "−")


def percent(ratio: float) -> str:
    """Return a ratio as a change, such as `+12 %`, or as a multiple such as `3.4×` if the ratio is at least 2."""
    if ratio >= MULTIPLE:
        return multiple(ratio)
    return f"{100 * (ratio - 1):+.3g}{formatting.THIN}%".replace("-", "−")


def multiple(ratio: float) -> str:
    """Return a ratio such as `3.4×`. An extreme ratio becomes `over 1,000×` or `under 1/1,000×`."""
    if not 1 / LARGEST <= ratio <= LARGEST:
        return f"over {LARGEST:,}×" if ratio > 1 else f"under 1/{LARGEST:,}×"
    return formatting.times(ratio)


def interval(each: Change) -> str:
    """Return the interval of a change, such as `+9 % to +15 %`, or as multiples if the upper bound is at least 2.
    Return an empty string if there is no interval."""
    if each.low is None or each.high is None:
        return ""
    if each.is_share:
        return f"{points(each.low).partition(formatting.THIN)[0]} to {points(each.high)}"
    text = multiple if each.high >= MULTIPLE else percent
    return f"{text(each.low)} to {text(each.high)}"


def shown_verdict(each: Change) -> str:
    """Return the verdict on a change as the comparison table shows it. Return an empty string for a comparison of two
    single runs, which has no verdict."""
    return "" if split_code(each.reason)[1] == SINGLE_RUNS else verdict(each)


def on_one_side(changes: Sequence[Change]) -> list[str]:
    """For each of the two sides, return a sentence that names the cells which exist only on that side."""
    found = []
    for word, side in ((ONLY_OLD, "old"), (ONLY_NEW, "new")):
        names = [each.name for each in changes if each.verdict == word]
        listed = formatting.join(formatting.first(formatting.distinct(names), SPELLED_OUT))
        cells = formatting.plural(len(names), "cell exists", "cells exist")
        found += [f"{cells} only on the {side} side: {listed}."] if names else []
    return found


def verdict(each: Change) -> str:
    """Return the verdict of a comparison in words. An undecided verdict includes the reason or the smallest detectable
    change."""
    words, (reason, code) = _words(each), split_code(each.reason)
    if reason and code != SINGLE_RUNS:  # a sentence above the table already states that both sides are single runs
        return f"{words}: {reason}"
    if each.verdict == UNDECIDED and each.detectable is not None:
        return f"{words}; a change of {_size(each, each.detectable)} would be detected"
    return words


def _words(each: Change) -> str:
    return SAME_SHARE if each.is_share and each.verdict == "same" else VERDICTS[each.verdict]


def sentence(changes: Sequence[Change], drift: Mapping[str, float] | None = None) -> str:
    """Summarise the comparison in one or two sentences."""
    if changes and changes[0].is_share:
        said = _sentence(changes, "")
        return f"Missed deadlines: {said[0].lower()}{said[1:]}"
    return _sentence(changes, _drift(drift or {}))


def _sentence(changes: Sequence[Change], drift: str) -> str:
    compared = [each for each in changes if not each.is_control or each.estimate is not None]
    if not any(each.estimate for each in changes):
        return f"Nothing is decided{_why(changes)}.{drift}"
    if len(compared) == 1:
        return f"{_one(compared[0])}."
    parts = [part for word in VERDICTS if (part := _part(word, [each for each in compared if each.verdict == word]))]
    if len(parts) == 1:
        return f"All {parts[0].replace(' ', ' cells ', 1)}."
    return f"Of {len(compared)} cells, {formatting.join(parts)}."


def _one(each: Change) -> str:
    """Return the verdict on the only compared cell, such as `zeromq (c++) is slower by more than 5 %: +48 % to +52
    %`."""
    said = f"{each.name} is {verdict(each)}"
    return said if each.low is None or each.verdict == UNDECIDED else f"{said}: {interval(each)}"


def _why(changes: Sequence[Change]) -> str:
    reasons = formatting.distinct(split_code(each.reason)[0] for each in changes)
    return f": {formatting.join(formatting.first(reasons, 2))}" if reasons else ""


def _drift(drift: Mapping[str, float]) -> str:
    """Return a sentence on how much the control cells changed between two runs."""
    if not drift:
        return " The drift of this machine is unknown. To see the drift, measure `memory` or `shm` in both runs."
    low, high = min(drift.values()), max(drift.values())
    span = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    return f" Cells that should not change ({formatting.join(sorted(drift))}) changed by {span}."


def drift_note(changes: Sequence[Change], drift: Mapping[str, float]) -> list[str]:
    """Return a warning that the machine changed between the runs. Return an empty list if the control cells changed
    little or if the comparison decided no change."""
    is_decided = any(each.estimate for each in changes)
    if not is_decided or all(1 / DRIFT < ratio < DRIFT for ratio in drift.values()):
        return []
    return [f"{_drift(drift).strip()} First check whether the machine changed."]


def _part(word: str, changes: Sequence[Change]) -> str:
    if not changes:
        return ""
    many = len(changes)
    verb = "is" if many == 1 else "are"
    if word == UNDECIDED:
        return f"{many} {verb} undecided{_detectable(changes)}"
    named = word not in ("same", UNDECIDED) and many <= SPELLED_OUT
    listed = [f"{each.name} {interval(each)}".strip() for each in changes]
    return f"{many} {verb} {_words(changes[0])}" + (f" ({formatting.join(listed)})" if named else "")


def _detectable(changes: Sequence[Change]) -> str:
    found = [each.detectable for each in changes if each.detectable is not None]
    if not found:
        return ""
    span = formatting.distinct(_size(changes[0], each) for each in (min(found), max(found)))
    return f" (a change of {' to '.join(span)} would have been detected)"
