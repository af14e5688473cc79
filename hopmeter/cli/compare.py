"""`hopmeter compare`: compares two runs, a run with a baseline, or the two sides of one run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hopmeter.errors import UsageError
from hopmeter.system.terminal import Console

EPILOG = "Example: hopmeter compare main results/2026-11-21T041200-quick --fail-if slower:5%"


def register(app: typer.Typer) -> None:
    """Add the command."""
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
        typer.Option(metavar="[METRIC:]slower:5%", help="Exit with 3 if a cell is slower by more; or undecided."),
    ] = None,
    summary: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Write a summary as Markdown.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE.xml", help="Write a test for each cell.")] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT:FILE", help="Write JSON: bencher or github-action-benchmark."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each cell.")] = False,
) -> None:
    """Compare B with A, cell by cell.

    Two single runs show ratios and decide nothing, because the machine drifts between them.
    A baseline knows by how much (see `hopmeter baseline`).
    """
    from hopmeter.api.comparison_request import Request, check_second_side
    from hopmeter.cli.parts import comparison
    from hopmeter.comparison import between_runs, sources
    from hopmeter.comparison.change import METRICS
    from hopmeter.system.toml_files import one_of

    if metric not in METRICS:
        raise UsageError("E-OPTION-VALUE", f"--metric {one_of(metric, METRICS)}", "choose one of them")
    request = Request.of(fail_if or [], summary, junit, export or [])
    console = Console(stderr=as_json, highlight=False)
    if new is None:
        raise typer.Exit(comparison.finish(sources.open_sides(old), request, console, as_json, metric))
    before, after = sources.open_runs(old), sources.open_runs(new)
    check_second_side(request, len(before.runs) + len(after.runs) > 2)
    compare_runs = partial(between_runs.compare, before, after)
    raise typer.Exit(comparison.finish(compare_runs, request, console, as_json, metric))
