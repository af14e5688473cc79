"""Results of searches for the highest sustained rate, and why the next higher rate failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.groups import CONDITIONS, Group
from hopmeter.analysis.results.run_results import TAILS, Row, Run
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.model import Column, Line, Value, notes, table
from hopmeter.report.tables.throughput import throughput_tables
from hopmeter.report.words import conditions, formatting

SPELLED_OUT = 5
COLUMNS = (
    Column("Transport", heads=True),
    Column("Held", "number", "highest rate"),
    Column("Failed", "number", "lowest rate"),
    Column("Reason of failure", "which"),
    Column("p50, µs", "number", "at the highest rate that held"),
    Column("p99, µs", "number"),
)
CAPTION = (
    "A rate holds if no trial loses a message and the latency stays below the bound; otherwise the rate fails. The "
    "limit of the transport is between the highest rate that held and the lowest rate that failed."
)


@dataclass(frozen=True)
class Search:
    """One search: the row with the highest sustained rate, and why the next higher rate failed. If no rate was
    sustained, `row` is the first row of the search."""

    name: str
    row: Row
    holds_hz: float | None
    fails_hz: float | None
    why: str

    @property
    def highest(self) -> str:
        """The highest sustained rate as text."""
        if self.holds_hz is None:
            return "no rate held"
        return formatting.rate(self.holds_hz) if self.fails_hz else f"{formatting.rate(self.holds_hz)} or more"


@dataclass(frozen=True)
class SearchGroup:
    """Searches under the same conditions, sorted by their highest sustained rate."""

    title: str
    searches: list[Search]

    @property
    def sentence(self) -> str:
        """A sentence that lists the searches by highest rate."""
        rates = [f"{each.name} {each.highest}" for each in self.searches]
        return f"Highest rate that held ({self.title}): {', '.join(formatting.first(rates, SPELLED_OUT))}."


def search_groups(runs: Sequence[Run]) -> list[SearchGroup]:
    """Return the searches of all runs, grouped by conditions."""
    machines = machine_names.names(runs)
    alike: dict[tuple[Any, ...], list[list[Row]]] = {}
    for run in runs:
        for steps in _steps(run):
            key = tuple(steps[0].get(name) for name in CONDITIONS if name != "rate_hz")
            alike.setdefault((*key, machines.get(id(run), "")), []).append(steps)
    return [_group(each, machines) for each in alike.values()]


def _steps(run: Run) -> list[list[Row]]:
    """Return the rows of each search, in measurement order."""
    found: dict[str, list[Row]] = {}
    for row in run.measured_rows:
        if row.cell.comparison.search and row.cell.comparison.search_round is None:
            found.setdefault(row.cell.comparison.search, []).append(row)
    return list(found.values())


def _group(every: Sequence[Sequence[Row]], machines: dict[int, str]) -> SearchGroup:
    first = every[0][0]
    known = {name: first.get(name) for name in CONDITIONS}
    group = Group(known, tuple(steps[0] for steps in every), machine=machines.get(id(first.run), ""))
    found = [_search(group.label(steps[0]), steps) for steps in every]
    return SearchGroup(
        conditions.describe(group, "rate_hz"), sorted(found, key=lambda each: each.holds_hz or 0.0, reverse=True)
    )


def _search(name: str, steps: Sequence[Row]) -> Search:
    holds, fails = steps[0]["highest_rate_hz"], steps[0]["lowest_failing_hz"]
    at = next((row for row in steps if row["rate_hz"] == holds), steps[0])
    failing = next((row for row in steps if row["rate_hz"] == fails), None)
    return Search(name, at, holds, fails, str((failing["search_failed"] if failing else None) or ""))


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a section for each table of repeated searches, and a section on the other searches for the highest rate.
    Return an empty list if no run searched for the highest rate."""
    tables = [
        table(f"highest rates, {each.title}", COLUMNS, list(map(_line, each.searches)), f"{each.title}. {CAPTION}")
        for each in search_groups(runs)
    ]
    throughput = [
        Section(each.label, sentences=each.sentences, chips=each.chips, tables=[each], id=f"throughput-{number}")
        for number, each in enumerate(throughput_tables(runs), 1)
    ]
    return [*throughput, *([Section("Highest rate", tables=tables, id="searches")] if tables else [])]


def _line(search: Search) -> Line:
    at_rate = [_latency(search.row, name) if search.holds_hz else Value(formatting.NOTHING) for name in ("p50", "p99")]
    texts = (search.name, search.highest, formatting.rate(search.fails_hz), search.why)
    return Line([*map(Value, texts), *at_rate])


def _latency(row: Row, column: str) -> Value:
    value = row.tail(column) if column in TAILS else row.p50
    return Value(formatting.number(value), notes(formatting.interval(*row.interval(column))))
