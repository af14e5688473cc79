"""The table in the terminal: who is fast under which conditions, as far as the intervals resolve it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from hopmeter.analysis.percentiles import PERMILLE, least_count
from hopmeter.model.cell import AXES
from hopmeter.model.columns import unit
from hopmeter.plan import Cell, Plan
from hopmeter.report import formatting
from hopmeter.report.copies import copies
from hopmeter.report.grouping import Group, groups, profile
from hopmeter.report.limits import echoes
from hopmeter.report.ranking import Place, places
from hopmeter.report.searches import searches
from hopmeter.report.source import Row, Run
from hopmeter.system import humanize
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

NAMES = ("", "transport", "language")
FIGURES = ("p50 µs", "p99 µs", "×floor", "CPU µs")
SHOWN_ANYWAY = {"response_p50_us", "response_p99_us", "times_floor", "cpu_us_per_message", "lost", "status"}


def print_run(console: Console, run: Run) -> None:
    """The tables of a run, one for each set of rows that may be compared."""
    console.print()
    console.print(Text(run.text("question"), style="bold"))
    said = [each.sentence for each in searches([run])] + [each.sentence for each in echoes([run])]
    for sentence in said + [each.sentence for each in copies([run])]:
        console.print(Text(sentence))
    for group in groups([run]):
        _print_group(console, group, [each for each in run.about.get("columns") or [] if each not in SHOWN_ANYWAY])
    if any(row["status"] == "ok" for row in run.rows):
        _print_legend(console, run)
    _print_warnings(console, run.rows)
    print_dropped(console, [(row.cell, str(row["reason"])) for row in run.rows if row["status"] == "dropped"])


def _print_group(console: Console, group: Group, asked: Sequence[str]) -> None:
    """One table; `asked` are the columns that the scenario asks for besides."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1 if asked else 2, 0, 0))
    for head in NAMES:
        table.add_column(head, no_wrap=True)
    for head in (*FIGURES, *map(_head, asked), "lost", "trials"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    known = {id(place.row): place for place in places(group)}
    for row in group.rows:
        names = [" ".join(formatting.distinct([str(row["transport"]), profile(row, group.rows)])), str(row["language"])]
        table.add_row(*_line(row, names, known.get(id(row)), asked), style=_style(row))
    chips = [chip for chip in group.chips if chip not in group.title]
    console.print()
    console.print(Text(f"{group.title}  ", style="bold cyan") + Text(", ".join(chips), style="dim"))
    print_whole(console, table)


def _head(column: str) -> str:
    """A column of the results as a short heading: `chain_per_hop_p50_us` is `hop p50 µs`."""
    name, its_unit = unit(column.removeprefix("chain_per_"))
    first, _, rest = name.replace("_", " ").partition(" ")
    return f"{first}\n{' '.join(filter(None, (rest, its_unit)))}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(_value(each) for each in value)
    return formatting.number(value) if isinstance(value, int | float) else str(value or formatting.NOTHING)


def _line(row: Row, names: Sequence[str], place: Place | None, asked: Sequence[str]) -> list[str]:
    if row["status"] != "ok":
        return ["", *names, *[""] * (len(FIGURES) + len(asked)), _lost(row), _trials(row), _trouble(row)]
    return [
        place.text if place else "",
        *names,
        _middle(row),
        formatting.number(row.figure("p99")),
        formatting.number(row["times_floor"]),
        formatting.number(row["cpu_us_per_message"]),
        *(_value(row[column]) for column in asked),
        _lost(row),
        _trials(row),
        ", ".join(filter(None, [_rank(row), formatting.empty_hop(row["empty_hop_us"])])),
    ]


def _rank(row: Row) -> str:
    """Why a row has no place."""
    return "" if row.candidate else "floor" if row["transport"] in ("memory", "shm") else "not ranked"


def _middle(row: Row) -> str:
    """p50 and how far its interval reaches to the farther side."""
    p50, low, high = row.p50, row.figure("p50_low"), row.figure("p50_high")
    if p50 is None or low is None or high is None:
        return f"{formatting.number(p50)}      "
    return f"{formatting.number(p50)} ±{formatting.number(max(p50 - low, high - p50), 2):>5}"


def _lost(row: Row) -> str:
    return formatting.percent(row.loss) if row["sent"] else formatting.NOTHING


def _trials(row: Row) -> str:
    return f"{row['trials_good'] or 0}/{row['trials'] or 0}"


TRACE = ": Traceback (most recent call last)"
"""From here on a reason tells programmers where it was; the trial's log and `trials.parquet` have all of it."""


def _trouble(row: Row) -> str:
    reason = str(row["reason"] or "").partition(TRACE)[0]
    return f"{row['status']}: {reason}" if reason else str(row["status"])


def _style(row: Row) -> str:
    if row["status"] == "failed":
        return "red"
    if row["status"] != "ok":
        return "yellow"
    return "" if row.candidate else "dim"


def _print_legend(console: Console, run: Run) -> None:
    intervals = "± reaches to the farther end of the 95 % interval; rows that share a place are not told apart;"
    few = "too few messages or trials"
    if any(row["status"] == "ok" and row.p50 is None for row in run.rows):
        few = f"{few}; a median takes {least_count(PERMILLE['p50'])} messages"
    said = [*([intervals] if any(row.ok for row in run.rows) else []), f"{formatting.NOTHING} is not resolved: {few}."]
    if any(row["empty_hop_us"] is not None for row in run.rows):
        said.append(formatting.EMPTY_HOP)
    if run.quick:
        said.append("This is a quick look: few, short trials. Decide on a longer run.")
    console.print()
    console.print(Text(" ".join(said), style="dim"))
    if hurting := [each for each in run.findings if each.get("level") == "hurts"]:
        remedies = [f"  {each.get('subject')}: {each.get('remedy')}" for each in hurting]
        console.print(Text("\n".join(["What hurts on this machine, and what to do:", *remedies]), style="yellow"))


def _print_warnings(console: Console, rows: Iterable[Row]) -> None:
    """What the report warns of too, once for each text: a process that was stopped, a way that was not asked for."""
    warned = [(row.cell, str(text)) for row in rows for text in row["warnings"] or []]
    _print_reasons(console, "warnings", warned)


def print_plan(console: Console, made: Plan) -> None:
    """The cells that would be measured, and those that would not."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown = _varying(made.runnable)
    for head in ("cell", *shown, "floor"):
        table.add_column(head.replace("rate_hz", "rate"), overflow="fold", no_wrap=head in ("cell", "floor"))
    for cell in made.runnable:
        table.add_row(
            cell.id,
            *(_word(cell[name]) for name in shown),
            cell.comparison.floor or formatting.NOTHING,
            style="" if cell.comparison.ranked else "dim",
        )
    print_whole(console, table)
    trials = sum(cell.schedule.trials for cell in made.runnable)
    console.print(
        f"\n{formatting.plural(len(made.runnable), 'cell')}, {formatting.plural(trials, 'trial')}, "
        f"about {humanize.time(made.seconds)}; seed {made.seed}"
    )
    for reason in formatting.distinct(cell.comparison.floor_reason for cell in made.runnable):
        console.print(Text(reason, style="yellow"))
    print_dropped(console, [(cell, cell.dropped) for cell in made.cells if cell.dropped])


ALWAYS = ("transport", "language")
TELLING = ("profile", *AXES, "messages", "trials")


def _varying(cells: Sequence[Cell]) -> list[str]:
    """What tells cells apart; the rest goes without saying."""
    return [*ALWAYS, *(name for name in TELLING if len({cell[name] for cell in cells}) > 1)]


def _word(value: object) -> str:
    if value is None:
        return formatting.NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_dropped(console: Console, dropped: Iterable[tuple[Cell, str]]) -> None:
    """What is not measured, once for each reason."""
    _print_reasons(console, "dropped", dropped)


def _print_reasons(console: Console, title: str, cells_and_reasons: Iterable[tuple[Cell, str]]) -> None:
    reasons: dict[str, list[str]] = {}
    for cell, reason in cells_and_reasons:
        reasons.setdefault(reason, []).append(f"{cell.axes.transport} ({cell.axes.language})")
    if reasons:
        console.print(f"\n{title}", style="bold")
    for reason, cells in reasons.items():
        many = f"{formatting.listed(formatting.distinct(cells))}, {formatting.plural(len(cells), 'cell')}"
        console.print(Text(f"  {many}: {reason}"), soft_wrap=False)
