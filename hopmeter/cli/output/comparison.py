"""Print a comparison and the result of its gate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from hopmeter.comparison.between_runs import drift
from hopmeter.comparison.change import ONLY_NEW, ONLY_OLD, UNDECIDED, Change
from hopmeter.comparison.gate import Failure, Gate
from hopmeter.report.comparisons import words
from hopmeter.report.tables.changes import change_tables
from hopmeter.report.tables.terminal import print_table
from hopmeter.report.words import formatting
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.api.comparing import Comparison

GATE_FAILED = 3


def print_json(found: Comparison) -> None:
    """Print each change as a line of JSON."""
    for each in found.all_changes:
        print(json.dumps(each.as_json(), allow_nan=False))


def print_comparison(console: Console, found: Comparison, question: str = "") -> None:
    """Print the question, the answer, a table for each set of conditions, and the cells that only one of the two sides
    has."""
    if question:
        console.print()
        console.print(Text(question, style="bold"))
    for own in found.by_metric.values():
        console.print()
        console.print(Text(words.sentence(own, drift(own)), style="bold"))
        common = [each for each in own if each.verdict not in (ONLY_OLD, ONLY_NEW)]
        for table in change_tables(common):
            console.print()
            console.print(Text(table.label, style="bold cyan") + Text(f"  {', '.join(table.chips)}", style="dim"))
            print_table(console, table)
    console.print()
    for sentence in [*words.on_one_side(found.all_changes), *found.notes]:
        console.print(Text(sentence))


def report_gate(console: Console, found: Comparison) -> int:
    """Print whether the gate failed, and which changes the gate could not judge. Return the exit code of the
    command."""
    return _report_gate(found.gate, found.by_metric, found.broken, console) if found.gate else 0


def _report_gate(
    gate: Gate, changes: Mapping[str, Sequence[Change]], failures: Sequence[Failure], console: Console
) -> int:
    console.print()
    for each in failures:
        said = f"gate failed: {each.change.name} ({each.change.metric}): {each.why}"
        console.print(said, style="bold red", markup=False, soft_wrap=True)
    if not failures:
        console.print("gate passed", style="bold green")
    if not gate.strict:
        _print_what_passed(console, [each for name in gate.metrics for each in changes.get(name, ())])
    return GATE_FAILED if failures else 0


def _print_what_passed(console: Console, changes: Sequence[Change]) -> None:
    """Print the cells that the gate could not judge, and the number of undecided changes."""
    for name in formatting.distinct(each.name for each in changes if each.verdict == ONLY_OLD):
        said = f"  not judged: {name} does not exist on the new side"
        console.print(said, style="yellow", markup=False, soft_wrap=True)
    if many := sum(each.verdict == UNDECIDED for each in changes):
        said = f"  {formatting.plural(many, 'undecided change')} passed; `--fail-if undecided` would fail"
        console.print(said, markup=False, soft_wrap=True)
