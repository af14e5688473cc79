"""Comparisons as files: Convert comparisons to Markdown for a CI job, JUnit XML, and JSON for two benchmark-tracking
services."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from hopmeter.analysis.results.groups import CONDITIONS, Group
from hopmeter.comparison.change import Change
from hopmeter.comparison.gate import Failure
from hopmeter.report.comparisons import words
from hopmeter.report.tables.changes import by_unit, change_tables
from hopmeter.report.tables.text_files import rows_as_markdown
from hopmeter.report.words import conditions, formatting

Export = Callable[[Sequence[Change], Sequence[Failure]], str]


def markdown(changes: Sequence[Change], failures: Sequence[Failure]) -> str:
    """Return a CI job summary in Markdown."""
    lines = ["## hopmeter", "", " ".join(map(words.sentence, by_unit(changes))), ""]
    if failures:
        lines += ["**The gate failed:**", "", *(f"- {each.change.name}: {each.why}" for each in failures), ""]
    for table in change_tables(changes):
        lines += [f"### {table.label}", "", rows_as_markdown(table)]
    return "\n".join(lines)


def junit(changes: Sequence[Change], failures: Sequence[Failure]) -> str:
    """Return JUnit XML with one test case for each change."""
    why = {(each.change.metric, each.change.cell.id): each.why for each in failures}
    count = sum((each.metric, each.cell.id) in why for each in changes)
    suite = ET.Element("testsuite", name="hopmeter", tests=str(len(changes)), failures=str(count))
    titles = words.titles(changes)
    for each in changes:
        case = ET.SubElement(suite, "testcase", classname=f"{titles[each.cell.group]} {each.metric}", name=each.name)
        if reason := why.get((each.metric, each.cell.id)):
            ET.SubElement(case, "failure", message=reason).text = _detail(each)
        else:
            ET.SubElement(case, "system-out").text = _detail(each)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _detail(each: Change) -> str:
    unit = "% missed" if each.is_share else "us"
    sides = " -> ".join(f"{words.value(each, side)} {unit}" for side in (each.old, each.new))
    return f"{sides}, {words.change(each)} ({words.interval(each) or 'no interval'}): {words.verdict(each)}"


def bencher(changes: Sequence[Change], _: Sequence[Failure]) -> str:
    """Return Bencher Metric Format. The output contains, for each cell, the new side's value and the ratio of the new
    side to the old side, with its bounds. The new side's value is a latency in ns or a share of missed deadlines."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for each in changes:
        measures = found.setdefault(full_name(each), {})
        if each.new is not None and each.new.value is not None:
            shown = ("missed", each.new.value) if each.is_share else ("latency", each.new.value * 1000)
            measures[shown[0]] = {"value": shown[1]}
        if each.ratio is not None:
            bounds = {"lower_value": each.low, "upper_value": each.high}
            measures["ratio"] = {"value": each.ratio} | {key: end for key, end in bounds.items() if end is not None}
    return json.dumps({name: measures for name, measures in found.items() if measures}, indent=2) + "\n"


def github_action_benchmark(changes: Sequence[Change], _: Sequence[Failure]) -> str:
    """Return JSON for github-action-benchmark (`customSmallerIsBetter`), with the new side's value of each cell."""
    rows: list[dict[str, Any]] = []
    for each in changes:
        if each.new is not None and each.new.value is not None:
            unit, factor = ("%", 100) if each.is_share else ("us", 1)
            extra = f"old {words.value(each, each.old)} {unit}, {words.verdict(each)}"
            rows.append({"name": full_name(each), "unit": unit, "value": factor * each.new.value, "extra": extra})
    return json.dumps(rows, indent=2) + "\n"


def full_name(each: Change) -> str:
    """Return a name that consists of all conditions, the cell and the metric, and is therefore equal in all runs."""
    group = Group({name: each.cell[name] for name in CONDITIONS}, (each.row,))
    return f"{conditions.describe(group)}: {each.name} {each.metric}".replace(formatting.THIN, " ")


FORMATS: dict[str, Export] = {"bencher": bencher, "github-action-benchmark": github_action_benchmark}
