"""`hopmeter compare`: compares two runs, a run with a baseline, or the two sides of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopmeter.system.terminal import Console

EPILOG = "Example: hopmeter compare main results/2026-11-21T041200-quick --fail-if slower:5%"


def register(app: typer.Typer) -> None:
    """Add the command `compare` to the application."""
    app.command("compare", epilog=EPILOG)(compare)


def compare(
    old: Annotated[str, typer.Argument(metavar="A", help="A run folder or the name of a baseline.")],
    new: Annotated[
        str | None,
        typer.Argument(metavar="B", help="A run folder or a baseline; not needed for a run with --against."),
    ] = None,
    metric: Annotated[str, typer.Option(help="The percentile: p50 or p99.")] = "p50",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[METRIC:]slower:5%",
            help="Exit with 3 if a cell is slower by more than this, misses more deadlines (missed:1%) or is "
            "undecided.",
        ),
    ] = None,
    summary: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Write a summary as Markdown.")] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Write JUnit XML with a test case for each cell.")
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT:FILE", help="Write JSON in the format bencher or github-action-benchmark."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each cell.")] = False,
) -> None:
    """Compare run B with run A, cell by cell.

    A comparison of two single runs shows ratios but decides nothing, because the machine drifts between runs.
    A baseline records how much the machine drifts (see `hopmeter baseline`).
    """
    from hopmeter.api import comparing
    from hopmeter.api.comparison_request import Request
    from hopmeter.cli.output import comparison

    request = Request.of(fail_if or [], summary, junit, export or [])
    console = Console(stderr=as_json, highlight=False)
    found = comparing.judge(old, new, metric, request)
    found.write_files(request)
    if as_json:
        comparison.print_json(found)
    else:
        comparison.print_comparison(console, found)
    raise typer.Exit(comparison.report_gate(console, found))
