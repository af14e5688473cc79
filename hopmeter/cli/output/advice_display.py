"""The output of `hopmeter advise`: the advice, the written files, and how to start with the recommended transport."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from hopmeter.api import advising
from hopmeter.api.advice_request import Request
from hopmeter.api.advising import Advice
from hopmeter.api.measuring import Consoles, StoppedRunError
from hopmeter.cli.main import INTERRUPTED
from hopmeter.cli.output import remarks
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.manifest.examples import Example, check_folder
from hopmeter.report.words import formatting
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

HEADS = {
    "take": "Recommended",
    "better": "Compared",
    "cpu": "CPU",
    "settings": "Settings",
    "changes": "Other cases",
}
OPEN_HEADS = {"take": "Result", "changes": "Next"}
"""The headings if the run supports no recommendation."""


def check_example(folder: Path | None) -> None:
    """Raise UsageError if the example directory is already in use, before anything is measured."""
    if folder is not None:
        check_folder(folder)


def check_alone(source: Path, scenario: str | None, *others: object) -> None:
    """Raise UsageError if measurement options other than requirements are combined with `--from`."""
    options = others[-1] if isinstance(others[-1], Mapping) else {}
    if scenario is not None or any(others[:-1]) or set(options) - {"require"}:
        raise UsageError(
            "E-OPTION-CONFLICT",
            "--from uses a stored run, so only --now, --require, --example and --json can be combined with it",
            f"hopmeter advise --from {source}",
        )


def read(source: Path, now: str | None, require: Iterable[str]) -> Advice:
    """Return the advice from a stored run."""
    return advising.advise_from(source, now, require)


def measure(
    scenario: str | None,
    now: str | None,
    options: Mapping[str, Any],
    settings: Sequence[str],
    out: Path | None,
    console: Console,
    hosts: HostOptions,
    build: bool = False,
) -> Advice:
    """Prompt for missing options, measure, and return the advice. On Ctrl-C, print how to continue and exit."""
    if scenario is None and _can_ask() and not {"payload", "rate"} <= options.keys():
        from hopmeter.cli.parts.advice_questions import ask

        now, options = ask(console, now, options)
    asked = Request.of(scenario, now, options, settings, hosts, build)
    progress = Console(stderr=True, highlight=False)
    try:
        return advising.measure(asked, out, Consoles(console, progress))
    except StoppedRunError as stopped:
        _print_how_to_continue(console, stopped, now, hosts)
        raise typer.Exit(INTERRUPTED) from None


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _print_how_to_continue(console: Console, stopped: StoppedRunError, now: str | None, hosts: HostOptions) -> None:
    path = str(stopped.stored.final_path)
    resume = ["hopmeter", "run", "--resume", path, *hosts.words]
    own = ["hopmeter", "advise", "--from", path, *(["--now", now] if now else [])]
    steps = [own] if stopped.stored.is_finished else [resume, own]
    console.print(f"\ninterrupted; finished trials are in {stopped.folder}", markup=False, soft_wrap=True)
    console.print(f"continue with: {' && '.join(map(shlex.join, steps))}", markup=False, soft_wrap=True)


def write_example(found: Advice, folder: Path | None) -> list[Path]:
    """Write the example programs if requested and available, and return the paths of the written files."""
    return found.write_examples(folder) if folder is not None and any(found.examples.values()) else []


def show(console: Console, found: Advice, folder: Path | None, written: Sequence[Path]) -> None:
    """Print the advice and the next steps."""
    table = Table.grid(padding=(0, 2), expand=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for head, said in found.lines.items():
        table.add_row((HEADS if found.is_decided else OPEN_HEADS)[head], Text(said))
    console.print()
    print_whole(console, table)
    _show_remarks(console, found)
    if found.not_ready:
        names = " ".join(found.not_ready)
        says = "`hopmeter transports` shows how to install them, and --build builds those that hopmeter can build"
        console.print(Text(f"\nnot measured, because not ready here: {names}; {says}"))
    console.print(Text(f"\nrun      {found.run.path}"), soft_wrap=True)
    if found.is_decided:
        _show_examples(console, found, folder, written)


def _show_remarks(console: Console, found: Advice) -> None:
    """Print what disturbed the run, warnings about the recommended rows, and the dropped cells."""
    run = found.run.results
    remarks.print_disturbances(console, run)
    remarks.print_warnings(console, found.named_rows)
    remarks.print_dropped_rows(console, run, (row for row in run.rows if row.recommendable))


def _show_examples(console: Console, found: Advice, folder: Path | None, written: Sequence[Path]) -> None:
    """Print how to install the library, and how to write or run the example."""
    there = {language: example for language, example in found.examples.items() if example}
    said = [found.example_gap, next((example.note for example in there.values()), "")]
    if written and folder is not None:
        said += [f"in {folder}: {_commands(example)}" for example in there.values()]
    elif there:
        programs = formatting.join(list(there))
        said.append(f"hopmeter advise --from {found.run.path} --example DIR writes a program in {programs}")
    for each in filter(None, said):
        console.print(Text(f"example  {each}"), soft_wrap=True)


def _commands(example: Example) -> str:
    """Return the commands that install the library, build the example and run both of its programs."""
    return "; ".join([*example.install, *example.build, formatting.join(example.run_commands)])
