"""The structure of a warning, and the registry of warning rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hopmeter.analysis.cells.setting_hints import CODE
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.messages import split_code, with_remedy
from hopmeter.report.words import formatting

NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
"""Matches a separate number, but not a number within a name such as `p99` or `robot1`."""
OTHER_NUMBERS = "the numbers differ in other rows or trials"
FEW = 4
"""The maximum number of names in a list. The remaining names are only counted."""


@dataclass(frozen=True)
class Caution:
    """A warning for the reader."""

    code: str
    """The code of the warning in docs/messages.md."""
    title: str
    text: str
    grave: bool = False
    """Whether values are wrong or missing, not merely less certain."""


Rule = Callable[[Sequence[Run]], Iterator[Caution]]
RULES: list[Rule] = []


def rule(check: Rule) -> Rule:
    """Register a function that checks runs for one particular problem."""
    RULES.append(check)
    return check


def measured_rows(runs: Sequence[Run]) -> list[Row]:
    """Return all rows that were not dropped."""
    return [row for run in runs for row in run.measured_rows]


def names(rows: Sequence[Row]) -> str:
    """Return the transport names of the rows as a list, which is shortened if it is long."""
    found = formatting.distinct(map(formatting.row_name, rows))
    return formatting.join(found if len(found) <= FEW else [*found[:FEW], formatting.plural(len(found) - FEW, "other")])


def alike_texts(found: Iterable[tuple[Row, str]]) -> list[tuple[str, list[Row]]]:
    """Return each distinct warning text with the rows that the text concerns. Texts that differ only in numbers count
    as equal; the first of these texts is returned."""
    alike: dict[str, list[tuple[Row, str]]] = {}
    for row, text in found:
        alike.setdefault(NUMBER.sub("0", text), []).append((row, text))
    return [(_joint_text([text for _, text in each]), [row for row, _ in each]) for each in alike.values()]


def setting_hints(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Return hints on settings that explain lost messages or overload, each with the rows that the hint concerns. The
    tables of a run show hints on settings."""
    found = alike_texts((row, str(text)) for row in rows for text in row["warnings"] or [])
    return [(text, alike) for text, alike in found if split_code(text)[1] == CODE]


def _joint_text(texts: Sequence[str]) -> str:
    return with_remedy(texts[0], OTHER_NUMBERS if len(set(texts)) > 1 else "")


def sentence(text: str) -> str:
    """Return the text with a capital first letter and without a final full stop."""
    return text[:1].upper() + text[1:].rstrip(".")
