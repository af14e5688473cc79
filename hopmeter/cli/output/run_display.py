"""The output of `hopmeter run` after the measurement: the results, the files, and how to continue."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopmeter.analysis.results.run_results import Run, read
from hopmeter.api.comparison_request import Request
from hopmeter.api.measuring import Consoles, Outcome, StoppedRunError
from hopmeter.cli.main import INTERRUPTED
from hopmeter.cli.output import comparison, remarks, run_table
from hopmeter.cli.output.result_lines import lines as result_lines_of
from hopmeter.comparison.interleaved import is_comparable
from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.host_options import OPTIONS
from hopmeter.report.answers import next_command
from hopmeter.store.run_folder import RunFolder
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.api.comparing import Comparison

SOME_FAILED = 1


@dataclass(frozen=True)
class Display:
    """How to print a run, and the options for comparing its sides."""

    console: Console
    as_json: bool = False
    result_lines: bool = False
    request: Request = field(default_factory=Request)
    with_report: bool = True

    @property
    def consoles(self) -> Consoles:
        """Return the consoles of the run. The console for progress prints on stderr."""
        return Consoles(self.console, Console(stderr=True, highlight=False))


def show_run(measure: Callable[[], Outcome], display: Display) -> int:
    """Measure, print the results, and return the exit code."""
    outcome = None
    try:
        outcome = measure()
        return _show_results(outcome, display)
    except StoppedRunError as stopped:
        folder = stopped.stored
    except KeyboardInterrupt:
        if outcome is None:
            raise
        folder = outcome.folder
    _print_resume_command(display, folder)
    return INTERRUPTED


def _show_results(outcome: Outcome, display: Display) -> int:
    """Write the report of a measured run, print the run's results, and return the exit code."""
    folder, rows, console = outcome.folder, outcome.rows, display.console
    report = _write_report(folder.path, console) if outcome.complete and display.with_report else None
    sides = _compare_sides(folder, display)
    if display.as_json:
        _print_json(rows)
    else:
        _print_run(console, read(folder.path), sides)
    if display.result_lines:
        _print_result_lines(folder, rows, console)
    if not outcome.complete:
        _print_resume_command(display, folder)
        return INTERRUPTED
    gate = comparison.report_gate(console, sides) if sides else 0
    _print_paths(console, folder.path, report)
    if gate:
        return gate
    return SOME_FAILED if any(row["status"] == "failed" for row in rows) else 0


def show_stored(console: Console, run: Run) -> None:
    """Print a stored run. If the run is unfinished, also print the command that resumes it."""
    print_run(console, run)
    if not next_command.is_finished(run):
        console.print(f"\n{next_command.next_sentence(run)}", markup=False, soft_wrap=True)


def print_run(console: Console, run: Run) -> None:
    """Print the ranking of a run or, if it has two sides, their comparison."""
    from hopmeter.api import comparing

    _print_run(console, run, comparing.judge_sides(run, "p50", Request()) if is_comparable(run) else None)


def _print_run(console: Console, run: Run, sides: Comparison | None) -> None:
    if sides is None:
        run_table.print_run(console, run)
        return
    comparison.print_comparison(console, sides, run.text("question"))
    remarks.print_remarks(console, run)


def _compare_sides(folder: RunFolder, display: Display) -> Comparison | None:
    """Return the comparison of a run's sides, or None if there is only one side. If the run is finished, write the
    requested comparison files."""
    if not folder.about.get("against"):
        return None
    from hopmeter.api import comparing

    found = comparing.judge_sides(read(folder.path), "p50", display.request)
    if folder.is_finished:
        found.write_files(display.request)
    return found


def _write_report(path: Path, console: Console) -> Path | None:
    """Write the report and return its path. If the report cannot be written, print the reason and return None, because
    the results are already stored."""
    try:
        from hopmeter import report

        return report.write([path], path / "report.html")
    except Exception as failed:  # noqa: BLE001 - templates and charts raise many errors; the results are stored
        named = str(failed) if isinstance(failed, HopmeterError) else f"{type(failed).__name__}: {failed}"
        console.print(f"the report was not written: {named}", style="yellow", markup=False, soft_wrap=True)
        console.print(
            f"  the run is complete; `hopmeter report {path}` writes the report", markup=False, soft_wrap=True
        )
        return None


def _print_json(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(json.dumps(row, allow_nan=False))


def _print_result_lines(folder: Any, rows: list[dict[str, Any]], console: Console) -> None:
    console.print()
    for line in result_lines_of(folder.cells, rows):
        console.print(line, markup=False, soft_wrap=True)


def _print_resume_command(display: Display, folder: Any) -> None:
    """Print the directory of an interrupted run, and the command that resumes it."""
    console, path = display.console, str(folder.path)
    console.print()
    console.print(f"interrupted; finished trials are in {path}", markup=False, soft_wrap=True)
    further = (
        ["report", path]
        if folder.is_finished
        else ["run", "--resume", path, *_hosts_option(folder), *display.request.options]
    )
    console.print(f"continue with: {shlex.join(['hopmeter', *further])}", markup=False, soft_wrap=True)


def _hosts_option(folder: Any) -> list[str]:
    """Return the hosts option for resuming a run. Return an empty list for a run on this machine alone."""
    words = [str(word) for word in folder.about.get("command") or ()] if folder.about.get("hosts") else []
    return [word for option in OPTIONS.values() if option in words for word in words[words.index(option) :][:2]]


def _print_paths(console: Console, path: Path, report: Path | None) -> None:
    console.print()
    console.print(f"run     {path}", markup=False, soft_wrap=True)
    if report:
        console.print(f"report  {report}", markup=False, soft_wrap=True)
    logs = path / "logs"
    shown = str(logs) if logs.exists() else "none"
    console.print(f"logs    {shown}", markup=False, soft_wrap=True)
