"""Print a plan in the terminal: a table of its cells, and the reason for each dropped cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from hopmeter.model.cell import AXES
from hopmeter.plan import Cell, Plan
from hopmeter.plan.build_remedy import building_command, without_remedy
from hopmeter.plan.flows import flows
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.host_words import host_lines
from hopmeter.report.words.workload_words import graph_lines, most_split, programs
from hopmeter.scenario.resolve import decision
from hopmeter.system import humanize
from hopmeter.system.tables import open_table, print_whole
from hopmeter.system.terminal import Console


def print_plan(console: Console, made: Plan, notes: Sequence[str] = (), command: Sequence[str] = ()) -> None:
    """Print the cells of a plan, their common conditions, the dropped cells with reasons, and the command that builds
    missing adapters."""
    table = open_table()
    shown = _varying(made.runnable)
    for head in ("cell", *shown, "floor"):
        table.add_column(HEADS.get(head, head), overflow="fold", no_wrap=head in ("cell", "floor"))
    for cell in made.runnable:
        table.add_row(
            cell.id,
            *(_word(cell[name]) for name in shown),
            cell.comparison.floor or formatting.NOTHING,
            style="" if cell.comparison.ranked else "dim",
        )
    print_whole(console, table)
    example = most_split(made.runnable)
    if example is not None and example.workload is not None:
        more = [*_example(made.runnable, example), *_alone_lines(made.runnable)]
        console.print(Text("\n" + "\n".join([*graph_lines(example.workload), *more])))
    elif common := _common(made.runnable):
        console.print(Text(f"\nevery cell: {common}"))
        _print_hosts(console, made.runnable)
    for note in notes:
        console.print(Text(note, style="yellow"))
    console.print(f"\n{formatting.plural(len(made.runnable), 'cell')}, {_length(made)}; seed {made.seed}")
    for reason in formatting.distinct(cell.comparison.floor_reason for cell in made.runnable):
        console.print(Text(reason, style="yellow"))
    print_dropped(console, [(cell, cell.dropped) for cell in made.cells if cell.dropped], command)


def _print_hosts(console: Console, cells: Sequence[Cell]) -> None:
    """Print the nodes of each host. Cells with the same placement are printed once."""
    placed = formatting.distinct("\n".join(host_lines(cell)) for cell in cells)
    for lines in placed:
        console.print(Text(f"\n{lines}"))


def _example(cells: Sequence[Cell], shown: Cell) -> list[str]:
    """Return a line that names the cell to which the listed processes belong, if other cells may have different
    processes."""
    is_split = any(each.transports for each in programs(shown))
    return [f"This list shows the processes and bridges of {shown.id}."] if is_split and len(cells) > 1 else []


def _alone_lines(cells: Sequence[Cell]) -> list[str]:
    """Return a line for each flow that is also measured alone, with the flows that cause its messages."""
    found = {}
    for cell in cells:
        if name := cell.comparison.alone:
            causes = [flow.name for flow in flows(cell) if flow.name != name]
            found[name] = f"{name} is also measured alone{f', with only {formatting.join(causes)}' if causes else ''}"
    return list(found.values())


def _length(made: Plan) -> str:
    if made.scenario.budget_s is not None and made.scenario.flow:
        return f"rounds for {humanize.time(made.seconds)}"
    if made.scenario.budget_s is not None:
        return f"at most {humanize.time(made.seconds)}, until {decision(made.scenario.until, made.scenario.require)}"
    trials = sum(cell.schedule.trials for cell in made.runnable)
    return f"{formatting.plural(trials, 'trial')}, about {humanize.time(made.seconds)}"


ALWAYS = ("transport", "language")
HEADS = {"rate_hz": "rate", conditions.IDLE: "idle cores"}
COMMON = ("payload", "rate_hz", "messages", "pattern", "placement", "wait", "cores")
VARIABLE = ("side", "profile", *AXES, conditions.IDLE, "messages", "trials")


def _varying(cells: Sequence[Cell]) -> list[str]:
    """Return the table columns in which the cells differ."""
    return [*ALWAYS, *(name for name in VARIABLE if len({cell[name] for cell in cells}) > 1)]


def _common(cells: Sequence[Cell]) -> str:
    """Return the conditions that all cells share, such as `payload timing, rate 1000, …`."""
    same = [name for name in COMMON if len({cell[name] for cell in cells}) == 1]
    return ", ".join(f"{HEADS.get(name, name)} {_word(cells[0][name])}" for name in same)


def _word(value: object) -> str:
    if value is None:
        return formatting.NOTHING
    if isinstance(value, bool):
        return conditions.IDLE_WORDS[value].removeprefix("with idle cores ")
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_dropped(console: Console, dropped: Sequence[tuple[Cell, str]], command: Sequence[str] = ()) -> None:
    """Print the dropped cells, grouped by reason. If one command builds everything that is missing, print that command
    in place of the individual remedies."""
    building = building_command(command, (reason for _, reason in dropped))
    print_reasons(
        console, "dropped", ((cell, without_remedy(reason) if building else reason) for cell, reason in dropped)
    )
    if building:
        console.print(Text(f"  to build what these cells need and measure them: {building}"), soft_wrap=True)


def print_reasons(
    console: Console, title: str, cells_and_reasons: Iterable[tuple[Cell, str]], unit: str = "cell"
) -> None:
    """Print a title, then the cells grouped by reason. `unit` is the word for the counted items, such as `cell` or
    `trial`."""
    reasons: dict[str, list[str]] = {}
    for cell, reason in cells_and_reasons:
        reasons.setdefault(reason, []).append(f"{cell.axes.transport} ({cell.axes.language})")
    if reasons:
        console.print(f"\n{title}", style="bold")
    for reason, cells in reasons.items():
        many = f"{formatting.join(formatting.distinct(cells))}, {formatting.plural(len(cells), unit)}"
        console.print(Text(f"  {many}: {reason}"), soft_wrap=False)
