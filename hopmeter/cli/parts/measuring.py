"""The steps of `hopmeter run`: plan, measure, analyse, show."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hopmeter import manifest, plan, scenario
from hopmeter.cli.main import INTERRUPTED
from hopmeter.cli.parts import run_table
from hopmeter.cli.parts.comparison_request import Request
from hopmeter.cli.parts.result_lines import lines as result_lines_of
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.plan import Cell, Plan, budget
from hopmeter.plan.cores import Machine
from hopmeter.plan.expand import World
from hopmeter.plan.sides import OLD, OldSide
from hopmeter.system import paths, scratch_dir
from hopmeter.system.terminal import Console
from hopmeter.system.toml_files import validate

BUILDS = re.compile(r"`hopmeter build ([^`]+)`")
NOTHING_TO_RUN = 2
SOME_FAILED = 1
LATENCY_FILE = "/dev/cpu_dma_latency"
"""A process that writes 0 to it and holds it open keeps idle cores awake."""


@dataclass(frozen=True)
class Against:
    """The old side of a run, and what to do with the comparison."""

    old: OldSide
    request: Request


def make_plan(asked: str, given: Mapping[str, Any], settings: Sequence[str], full: bool = False) -> tuple[Plan, World]:
    """Plans the cells of a scenario, with the overrides of the command line, and without its look if it is `full`."""
    path = scenario.find(asked)
    _, toml = scenario.load(path)
    toml = scenario.lengthen(toml) if full else scenario.shorten(toml, given)
    world = this_world()
    wanted = scenario.override(toml, given, settings, world.manifests)
    if given or settings:
        wanted = _name_question(wanted, given, settings)
    return plan.make(path.stem, wanted, world), world


def _name_question(wanted: scenario.Scenario, given: Mapping[str, Any], settings: Sequence[str]) -> scenario.Scenario:
    """Give a scenario with other cells than its own a question of its own, or the title of the command line."""
    own = scenario.has_own_question(given, settings)
    words = str(given["title"]) if "title" in given else scenario.question(wanted, given, settings) if own else ""
    longer = wanted.quick and any(name in given for name in ("trials", "messages", "duration"))
    changed: dict[str, Any] = {"title": words, "question": words} if words else {}
    return wanted.model_copy(update={**changed, **({"quick": False} if longer else {})})


def fixed_options(asked: str) -> dict[str, str]:
    """Options that a scenario fixes, and why."""
    wanted, _ = scenario.load(scenario.find(asked))
    return {"rate": "a search sets the rates"} if wanted.search else {}


def this_world() -> World:
    """Return the transports of this machine and their readiness."""
    known = manifest.every()
    ready = manifest.readiness_of_all(known.values())
    return World(known, ready, Machine.here(), may_keep_awake=os.access(LATENCY_FILE, os.W_OK))


def show_plan(made: Plan, console: Console, as_json: bool) -> int:
    """Print the cells without measuring them, and return the exit code."""
    if as_json:
        for cell in made.cells:
            print(
                json.dumps(
                    {
                        **cell.flat(),
                        "group": cell.group,
                        "cell": cell.id,
                        "status": "dropped" if cell.dropped else "planned",
                    }
                )
            )
    else:
        run_table.print_plan(console, made)
    return 0 if made.runnable else NOTHING_TO_RUN


def measure(
    made: Plan,
    world: World,
    out: Path | None,
    command: Sequence[str],
    console: Console,
    as_json: bool,
    result_lines: bool = False,
    against: Against | None = None,
) -> int:
    """Measure a new run, and return the exit code."""
    from hopmeter.runtime.frames import Pictures, facts
    from hopmeter.runtime.run_metadata import about
    from hopmeter.store.run_folder import RunFolder
    from hopmeter.store.run_lock import lock_run

    final = _run_path(out) if out else paths.results() / f"{datetime.now():%Y-%m-%dT%H%M%S}-{made.name}"
    if not any(cell.comparison.ranked or cell.axes.transport in _requested_transports(made) for cell in made.runnable):
        _print_dropped(console, made.cells, as_json)
        raise UsageError("E-NO-CELLS", "no cell of this scenario can be measured here", _remedy(made))
    budget.check(made)
    for note in budget.notes(made):
        console.print(note, style="yellow", markup=False, soft_wrap=True)
    sweep_leftovers(console)

    def create_folder(shown: Pictures) -> RunFolder:
        more: dict[str, Any] = {"pictures": facts(shown)} if shown else {}
        more |= {"against": against.old.name} if against else {}
        folder = RunFolder.create(final.parent, final.name, about(made, world, command) | more)
        lock.enter_context(lock_run(folder.path))
        return folder

    with ExitStack() as lock:
        return _run_trials(made, world, create_folder, console, as_json, result_lines, against)


def _run_path(out: Path) -> Path:
    from hopmeter.store.names import NAMES

    if not NAMES.fullmatch(out.name):
        raise UsageError(
            "E-NAME",
            f"--out {out}: the name of a run folder may have only letters, digits and . _ + -",
            "--out results/first",
        )
    return out


def _requested_transports(made: Plan) -> set[str]:
    """Transports that the user named; an unranked one counts then."""
    return {name for ask in scenario.asks(made.scenario) for name in ask.axes["transport"]}


def _remedy(made: Plan) -> str:
    reasons = [cell.dropped for cell in made.cells if cell.dropped]
    builds = [BUILDS.search(reason) for reason in reasons]
    if reasons and all(builds):
        return _build_commands(sorted({found[1] for found in builds if found}))
    return f"for example: {reasons[0]}" if reasons else "name at least one transport"


def _build_commands(what: Sequence[str]) -> str:
    """Return the commands that build all of this: one for transports, and one for each framework."""
    plain = [words for words in what if "--" not in words]
    apart = [words for words in what if "--" in words]
    return " && ".join(f"hopmeter build {words}" for words in [*([" ".join(plain)] if plain else []), *apart])


def resume(asked: Path, console: Console, as_json: bool) -> int:
    """Resume a run with the cells, the order and the seed of its plan, and return the exit code."""
    from hopmeter.store.pack import refuse_packed
    from hopmeter.store.run_folder import RunFolder
    from hopmeter.store.run_lock import lock_run

    refuse_packed(asked)
    with lock_run(RunFolder.open(asked).path):
        return _resume_locked(asked, console, as_json)


def _resume_locked(asked: Path, console: Console, as_json: bool) -> int:
    """Resume the run, and leave it untouched until it is certain that it can continue: a finished run keeps its
    name."""
    from hopmeter.runtime.frames import Pictures, check_unchanged
    from hopmeter.store.run_folder import RunFolder

    made = _stored_plan(RunFolder.open(asked))
    world = this_world()
    _check_still_ready(made, world)
    against = _prepare_again(RunFolder.open(asked).about, made, world, console)
    sweep_leftovers(console)

    def open_folder(shown: Pictures) -> RunFolder:
        check_unchanged(shown, RunFolder.open(asked).about.get("pictures", {}))
        return RunFolder.resume(asked)

    return _run_trials(made, world, open_folder, console, as_json, not console.is_terminal, against)


def _stored_plan(folder: Any) -> Plan:
    about = folder.about
    try:
        wanted = validate(scenario.Scenario, about["scenario"], "its scenario")
        return Plan(about["scenario_name"], wanted, folder.cells, about["seed"])
    except (KeyError, UsageError) as cause:
        raise folder.odd(cause) from cause


def _prepare_again(about: Mapping[str, Any], made: Plan, world: World, console: Console) -> Against | None:
    """Prepare the old side of a run with two sides as before."""
    if not about.get("against"):
        return None
    return Against(prepare_old_side(str(about["against"]), made, world, console), Request())


def prepare_old_side(name: str, made: Plan, world: World, console: Console) -> OldSide:
    """Install or build what `--against` names."""
    from hopmeter.build import old_sides

    return old_sides.prepare(name, made, world, lambda said: console.print(said, style="dim", markup=False))


def _check_still_ready(made: Plan, world: World) -> None:
    from hopmeter.plan.rules import languages

    for cell in made.runnable:
        for language in languages(cell) if cell.comparison.side != OLD else ():
            state = world.ready.get((cell.axes.transport, language))
            if state is None or not state.ready:
                raise UsageError(
                    "E-NO-LONGER-READY",
                    f"{cell.axes.transport} ({language}) was ready when this run began, but is not ready now",
                    f"hopmeter build {cell.axes.transport}",
                )


def sweep_leftovers(console: Console) -> None:
    """Remove what killed commands left, and print it."""
    for directory in scratch_dir.sweep():
        console.print(f"cleaned up after a run that was killed: {directory}", style="dim", markup=False)


def _run_trials(
    made: Plan,
    world: World,
    begin: Callable[[Any], Any],
    console: Console,
    as_json: bool,
    result_lines: bool,
    against: Against | None = None,
) -> int:
    """Decode files before the run folder is created, so that a broken file leaves nothing."""
    from hopmeter.runtime.failures import InterruptedRunError
    from hopmeter.runtime.frames import decode_payloads

    folder = None
    try:
        with decode_payloads(made) as pictures:
            folder = begin(pictures)
            complete = _execute(made, world, folder, pictures, against)
        return _show_results(folder, complete, console, as_json, result_lines, against)
    except (KeyboardInterrupt, InterruptedRunError):
        if folder is None:
            raise KeyboardInterrupt from None
        _print_resume_command(console, folder)
        return INTERRUPTED


def _execute(made: Plan, world: World, folder: Any, pictures: Mapping[str, Any], against: Against | None) -> bool:
    """Run the trials, and return whether all were executed."""
    from hopmeter.analysis.budget import BudgetedRounds, median_us, what_more_time_decides
    from hopmeter.analysis.search import Hunt
    from hopmeter.runtime.executor import Executor

    search = made.scenario.search
    further = Hunt(made.scenario, search, folder).next_cells if search else list
    console = Console(stderr=True, highlight=False)
    before = against.old.world if against else None
    done = folder.trials
    rounds = None
    if made.scenario.budget_s:
        rounds = BudgetedRounds(made, done, median_us(folder), folder.about.get("looks"))
    complete = Executor(made, world, folder, console, further, pictures, before, rounds).run(done)
    if rounds is not None:
        folder.note(more_time=what_more_time_decides(rounds, made.cells))
    return complete


def _show_results(
    folder: Any,
    complete: bool,
    console: Console,
    as_json: bool,
    result_lines: bool,
    against: Against | None = None,
) -> int:
    """Analyse the trials, print and write their results, and return the exit code."""
    from hopmeter.analysis.whole_run import analyse_run

    rows = analyse_run(folder)
    if complete:
        folder.finish(rows)
        report = _write_report(folder.path, console)
    else:
        folder.write_tables(rows)
        report = None
    _print_run(folder, rows, console, as_json)
    if result_lines:
        _print_result_lines(folder, rows, console)
    if not complete:
        _print_resume_command(console, folder)
        return INTERRUPTED
    gate = _compare_sides(folder.path, against.request, console, as_json) if against else 0
    _print_paths(console, folder.path, report)
    if gate:
        return gate
    return SOME_FAILED if any(row["status"] == "failed" for row in rows) else 0


def _compare_sides(path: Path, request: Request, console: Console, as_json: bool) -> int:
    """Show what differs between the sides, and return the exit code of the gate. `--json` prints only the cells."""
    from hopmeter.cli.parts import comparison
    from hopmeter.comparison import sources

    return comparison.finish(sources.open_sides(str(path)), request, console, shown=not as_json)


def _write_report(path: Path, console: Console) -> Path | None:
    """Write the report; if that fails, the results are still there."""
    try:
        from hopmeter import report

        return report.write([path], path / "report.html")
    except Exception as failed:  # noqa: BLE001 - templates and charts fail in ways of their own, and the run is done
        named = str(failed) if isinstance(failed, HopmeterError) else f"{type(failed).__name__}: {failed}"
        console.print(f"no report: {named}", style="yellow", markup=False, soft_wrap=True)
        console.print(
            f"  the run is complete; `hopmeter report {path}` writes its report", markup=False, soft_wrap=True
        )
        return None


def _print_run(folder: Any, rows: list[dict[str, Any]], console: Console, as_json: bool) -> None:
    from hopmeter.analysis.run_results import read

    if as_json:
        for row in rows:
            print(json.dumps(row, allow_nan=False))
    else:
        run_table.print_run(console, read(folder.path))


def _print_result_lines(folder: Any, rows: list[dict[str, Any]], console: Console) -> None:
    console.print()
    for line in result_lines_of(folder.cells, rows):
        console.print(line, markup=False, soft_wrap=True)


def _print_dropped(console: Console, cells: list[Cell], as_json: bool) -> None:
    if as_json:
        for cell in cells:
            if cell.dropped:
                print(json.dumps({**cell.flat(), "cell": cell.id, "status": "dropped", "reason": cell.dropped}))
    else:
        run_table.print_dropped(console, [(cell, cell.dropped) for cell in cells if cell.dropped])


def _print_resume_command(console: Console, folder: Any) -> None:
    """Print the folder of an interrupted run, and how to resume it."""
    console.print()
    console.print(f"interrupted; finished trials are in {folder.path}", markup=False, soft_wrap=True)
    further = "report" if folder.is_finished else "run --resume"
    console.print(f"continue with: hopmeter {further} {folder.path}", markup=False, soft_wrap=True)


def _print_paths(console: Console, path: Path, report: Path | None) -> None:
    console.print()
    console.print(f"run     {path}", markup=False, soft_wrap=True)
    if report:
        console.print(f"report  {report}", markup=False, soft_wrap=True)
    logs = path / "logs"
    shown = str(logs) if logs.exists() else "none"
    console.print(f"logs    {shown}", markup=False, soft_wrap=True)
