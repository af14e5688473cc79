"""What a search for the highest rate found: for each row the rate that held, and the one that did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.report import formatting, hosts
from hopmeter.report.grouping import CONDITIONS, Group
from hopmeter.report.source import Row, Run


@dataclass(frozen=True)
class Found:
    """One search: the row at the highest rate that held (else the first tried), and why the next did not."""

    name: str
    row: Row
    holds_hz: float | None
    fails_hz: float | None
    why: str

    @property
    def held(self) -> str:
        """The rate, `none`, or that no bound was met."""
        if self.holds_hz is None:
            return "none that was tried"
        return formatting.rate(self.holds_hz) if self.fails_hz else f"{formatting.rate(self.holds_hz)} or more"


@dataclass(frozen=True)
class Searches:
    """Searches under the same conditions, the highest rate first."""

    title: str
    found: list[Found]

    @property
    def sentence(self) -> str:
        """The order in words."""
        told = [f"{each.name} {each.held}" for each in self.found]
        shown = (
            told
            if len(told) <= SPELLED_OUT
            else [*told[:SPELLED_OUT], formatting.plural(len(told) - SPELLED_OUT, "other")]
        )
        return f"Highest rate that held, {self.title}: {', '.join(shown)}."


SPELLED_OUT = 5
ASIDE = {"rate_hz"}


def searches(runs: Sequence[Run]) -> list[Searches]:
    """All searches of all runs, by their conditions; empty where nothing was searched."""
    machines = hosts.names(runs)
    alike: dict[tuple[Any, ...], list[list[Row]]] = {}
    for run in runs:
        for steps in _steps(run):
            key = tuple(steps[0][name] for name in CONDITIONS if name not in ASIDE)
            alike.setdefault((*key, machines.get(id(run), "")), []).append(steps)
    return [_searches(each, machines) for each in alike.values()]


def _steps(run: Run) -> list[list[Row]]:
    """The rows of each search, in the order in which they were taken."""
    found: dict[str, list[Row]] = {}
    for row in run.measured:
        if row.cell.comparison.search:
            found.setdefault(row.cell.comparison.search, []).append(row)
    return list(found.values())


def _searches(every: Sequence[Sequence[Row]], machines: dict[int, str]) -> Searches:
    first = every[0][0]
    conditions = {name: first[name] for name in CONDITIONS}
    group = Group(conditions, tuple(steps[0] for steps in every), machine=machines.get(id(first.run), ""))
    found = [_found(group.label(steps[0]), steps) for steps in every]
    found.sort(key=lambda each: -(each.holds_hz or 0.0))
    return Searches(", ".join(group.told("rate_hz")), found)


def _found(name: str, steps: Sequence[Row]) -> Found:
    holds, fails = steps[0]["highest_rate_hz"], steps[0]["lowest_failing_hz"]
    at = next((row for row in steps if row["rate_hz"] == holds), steps[0])
    failing = next((row for row in steps if row["rate_hz"] == fails), None)
    return Found(name, at, holds, fails, str((failing["search_failed"] if failing else None) or ""))
