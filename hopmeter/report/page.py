"""What the template shows, in words: nothing is computed in the template itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hopmeter.report import formatting
from hopmeter.report.grouping import Group
from hopmeter.report.ranking import Place, bounds, places
from hopmeter.report.source import Row, Run


@dataclass(frozen=True)
class Line:
    """A row of the ranking table."""

    row: Row
    name: str
    place: str
    ties: str
    p50: str
    interval: str
    p99: str
    p999: str
    floor: str
    bar: float
    """Its share of the longest bar, in percent."""
    cpu: str
    loss: str
    copies: str
    status: str
    note: str


@dataclass(frozen=True)
class Section:
    """One comparable group."""

    group: Group
    lines: list[Line]
    measure: str


@dataclass(frozen=True)
class Missing:
    """Cells that gave nothing, or less than planned, for the same reason."""

    names: str
    many: int
    kind: str
    reason: str


LONGEST_REASON = 140
"""Letters of a reason that fit under a name."""
MEASURES = {
    "response": "Response: from the moment a message was due to its arrival.",
    "roundtrip": "Round trip: from sending a message to its coming back; not halved.",
    "gather": "Gather: from sending the first request of a message to the last server's reply.",
    "service": "Service: from the moment a message was sent to its arrival.",
}


def title(runs: Sequence[Run]) -> str:
    """The name of the browser's tab."""
    return f"hopmeter: {formatting.listed(formatting.distinct(scenario(run) for run in runs))}"


def scenario(run: Run) -> str:
    """The scenario's name."""
    known = run.about.get("scenario")
    named = known.get("name") if isinstance(known, dict) else known
    return str(run.about.get("scenario_name") or named or run.name)


def question(runs: Sequence[Run]) -> str:
    """What was asked."""
    asked = formatting.distinct(str(run.text("question") or run.part("scenario").get("question") or "") for run in runs)
    return " ".join(asked) or f"What does a hop cost? ({title(runs)})"


def masthead(runs: Sequence[Run]) -> list[str]:
    """Scenario, when, how much, seed."""
    cells = sum(len(run.measured) for run in runs)
    trials = sum(len(run.trials) for run in runs)
    return formatting.distinct(
        [
            formatting.listed(formatting.distinct(scenario(run) for run in runs)),
            formatting.listed(formatting.distinct(when(run) for run in runs)),
            f"{formatting.plural(cells, 'cell')}, {formatting.plural(trials, 'trial')}",
            f"seed {formatting.listed(seeds)}"
            if (seeds := formatting.distinct(run.text("seed") for run in runs))
            else "",
        ]
    )


def when(run: Run) -> str:
    """The start of the run in the clock of its machine."""
    started = run.text("started")
    try:
        at = datetime.fromisoformat(started)
    except ValueError:
        return started
    return f"{at.day} {at:%B %Y, %H:%M} {at.tzname() or ''}".strip()


def section(group: Group) -> Section:
    """The table of a group: candidates and floors by latency, then what has none."""
    known = {id(place.row): place for place in places(group)}
    longest = max((row["times_floor"] or 0 for row in group.measured), default=0)
    lines = [_line(group, row, known.get(id(row)), longest) for row in group.rows]
    explained = [MEASURES[name] for name in formatting.distinct(row.headline for row in group.measured)]
    if any(row["empty_hop_us"] is not None for row in group.measured):
        explained.append(formatting.EMPTY_HOP)
    return Section(group, lines, " ".join(explained))


def _line(group: Group, row: Row, place: Place | None, longest: float) -> Line:
    floor = row["times_floor"] if row.ok else None  # a queue is no multiple of anything
    return Line(
        row=row,
        name=group.label(row),
        place=place.text if place else "",
        ties=_ties(group, place),
        p50=formatting.number(row.p50),
        interval=formatting.interval(*(bounds(row) or (None, None))),
        p99=_tail(row, "p99"),
        p999=_tail(row, "p999"),
        floor=formatting.times(floor),
        bar=100 * floor / longest if floor and longest else 0.0,
        cpu=formatting.number(row["cpu_us_per_message"]),
        loss=formatting.percent(row.loss),
        copies=formatting.NOTHING if row["copies_per_hop"] is None else f"{row['copies_per_hop']:.3g}",
        status=str(row["status"]),
        note=_note(row, group.label(row)),
    )


def _ties(group: Group, place: Place | None) -> str:
    """The rows it may change places with; nothing where there is no interval to say so."""
    if place is None or place.best is None:
        return ""
    names = [group.label(other) for other in place.ties]
    return formatting.listed(names) if len(names) <= 3 else formatting.plural(len(names), "other")


def _tail(row: Row, column: str) -> str:
    if row.p50 is None:
        return formatting.NOTHING
    value = row.figure(column)
    return "not resolved" if value is None else formatting.number(value)


def _note(row: Row, name: str) -> str:
    """What stands small under a name; its settings where they are not in it."""
    good, all_trials = row["trials_good"], row["trials"]
    profile = str(row["profile"] or "")
    return ", ".join(
        formatting.distinct(
            [
                "" if profile in name else profile,
                "" if row.candidate else "floor, not ranked" if row.is_floor else "not ranked",
                f"{good} of {all_trials} trials good" if good != all_trials else "",
                formatting.empty_hop(row["empty_hop_us"]) if row["status"] == "ok" else "",
                _shortly(str(row["reason"] or "")) if row["status"] != "ok" else "",
            ]
        )
    )


def _shortly(reason: str) -> str:
    """The whole of it stands under what was not measured."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1].rstrip()}…"


def missing(runs: Sequence[Run]) -> list[Missing]:
    """Dropped cells, failed cells and failed trials, those with the same reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for row in run.rows:
            if row["status"] in ("dropped", "failed"):
                found.setdefault((str(row["status"]), str(row["reason"] or "no reason was recorded")), []).append(
                    _cell(row)
                )
        _add_trials(run, found)
    return [
        Missing(_shortened(cells), len(cells), kind, reason)
        for (kind, reason), cells in sorted(found.items(), reverse=True)
    ]


def _add_trials(run: Run, found: dict[tuple[str, str], list[str]]) -> None:
    failed = {row.id for row in run.rows if row["status"] == "failed"}
    named = {row.id: row for row in run.rows}
    for trial in run.trials:
        if not trial.get("good") and trial["cell"] not in failed and trial["cell"] in named:
            reason = str(trial.get("reason") or "no reason was recorded")
            found.setdefault(("trial failed", reason), []).append(
                f"{_cell(named[trial['cell']])}, trial {trial['trial']}"
            )


def _cell(row: Row) -> str:
    return ", ".join(
        formatting.distinct(
            [
                f"{row['transport']} ({row['language']})",
                str(row["payload"] or ""),
                formatting.rate(row["rate_hz"]) if row["rate_hz"] else "",
                str(row["wait"] or ""),
            ]
        )
    )


def _shortened(cells: list[str]) -> str:
    shown = formatting.distinct(cells)
    return "; ".join(shown if len(shown) <= 4 else [*shown[:4], formatting.plural(len(shown) - 4, "more", "more")])
