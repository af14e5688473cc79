"""Shows a comparison, writes its files, and applies the gate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from hopmeter.api.comparing import Comparison
from hopmeter.api.comparison_request import Request
from hopmeter.comparison.between_runs import drift
from hopmeter.comparison.change import ONLY_OLD, UNDECIDED, Change
from hopmeter.comparison.gate import Failure, Gate
from hopmeter.report.comparisons import words
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

GATE_FAILED = 3


def finish(found: Comparison, request: Request, console: Console, as_json: bool = False, shown: bool = True) -> int:
    """Show the comparison, write its files, and return the exit code of the gate."""
    if as_json:
        for each in found.all_changes:
            print(json.dumps(each.as_json(), allow_nan=False))
    elif shown:
        _print(console, found.by_metric)
    found.write_files(request)
    return _report_gate(found.gate, found.by_metric, found.broken, console) if found.gate else 0


def _print(console: Console, changes: Mapping[str, Sequence[Change]]) -> None:
    for metric, own in changes.items():
        console.print()
        console.print(Text(words.sentence(own, drift(own)), style="bold"))
        for key, title in words.titles(own).items():
            console.print()
            console.print(Text(f"{title}, {metric}", style="bold cyan"))
            print_whole(console, _table([each for each in own if each.cell.group == key]))


def _table(changes: Sequence[Change]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("cell", no_wrap=True)
    for head in ("old µs", "new µs", "change", "95 % interval"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for each in changes:
        sides = [words.value(side.value if side else None) for side in (each.old, each.new)]
        table.add_row(each.name, *sides, words.change(each), words.interval(each), words.verdict(each))
    return table


def _report_gate(
    gate: Gate, changes: Mapping[str, Sequence[Change]], failures: Sequence[Failure], console: Console
) -> int:
    console.print()
    for each in failures:
        said = f"gate failed: {each.change.name} ({each.change.metric}): {each.why}"
        console.print(said, style="bold red", markup=False, soft_wrap=True)
    if not failures:
        console.print("gate passed", style="bold green")
    for change in [] if gate.strict else [each for name in gate.metrics for each in changes[name]]:
        if change.verdict == ONLY_OLD:
            said = f"  not judged: {change.name} ({change.metric}): the new side does not have it"
            console.print(said, style="yellow", markup=False, soft_wrap=True)
        if change.verdict == UNDECIDED:
            said = f"  undecided: {change.name} ({change.metric}): {_what_would_be_seen(change)}"
            console.print(said, markup=False, soft_wrap=True)
    return GATE_FAILED if failures else 0


def _what_would_be_seen(change: Change) -> str:
    if change.detectable is None:
        return words.verdict(change)
    return f"a change of {words.percent(change.detectable)} would be found ({words.interval(change)})"
