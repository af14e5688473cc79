"""The form of a warning, and how rules that give them are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hopmeter.analysis.run_results import Row, Run
from hopmeter.report import formatting

FEW = 4
"""Names listed before the rest is counted."""


@dataclass(frozen=True)
class Caution:
    """One thing to know."""

    code: str
    """The code in docs/messages.md."""
    title: str
    text: str
    grave: bool = False
    """Values are wrong or missing, not only less certain."""


Rule = Callable[[Sequence[Run]], Iterator[Caution]]
RULES: list[Rule] = []


def rule(check: Rule) -> Rule:
    """Mark a function that looks for one kind of trouble."""
    RULES.append(check)
    return check


def measured_rows(runs: Sequence[Run]) -> list[Row]:
    """Return all rows that were not dropped."""
    return [row for run in runs for row in run.measured_rows]


def names(rows: Sequence[Row]) -> str:
    """Return the transports of rows, the first few by name."""
    found = formatting.distinct(map(formatting.row_name, rows))
    return formatting.join(found if len(found) <= FEW else [*found[:FEW], formatting.plural(len(found) - FEW, "other")])


def sentence(text: str) -> str:
    """Return the text with a capital, without a full stop."""
    return text[:1].upper() + text[1:].rstrip(".")
