"""`hopmeter run`: runs a scenario."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from hopmeter.api.options import check_resume_alone, scenario_options
from hopmeter.cli.parts import hosts_options
from hopmeter.cli.parts.axis_options import AXES, with_axes
from hopmeter.cli.parts.environment_variables import read_variables
from hopmeter.cli.parts.stopping import stopping
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.system.terminal import Console

EPILOG = "Example: hopmeter run --transport zeromq,unix --language rust,c++ --wait block --rate 10,1000 --trials 5"
Text = str | None
MACHINE, MORE = "Machine", "More measurements"
AGAIN = "run the command again; parts that are already built are not built again"


def register(app: typer.Typer) -> None:
    """Add the command `run` to the application."""
    app.command("run", epilog=EPILOG)(run)


def _length(help_text: str) -> Any:
    return typer.Option(help=help_text, rich_help_panel="How much")


@with_axes
def run(
    scenario: Annotated[
        Text, typer.Argument(help="A name (see `hopmeter scenarios`) or a .toml file.", show_default="quick")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="A folder with files that message schemas import; repeat the option for several folders.",
            rich_help_panel=AXES,
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=A,B,…",
            help="A setting of the transport, such as hwm=1000.",
            rich_help_panel=AXES,
        ),
    ] = None,
    messages: Annotated[int | None, _length("Messages measured in each trial.")] = None,
    duration: Annotated[Text, _length("Duration of each trial, such as 30s, instead of --messages.")] = None,
    warmup: Annotated[int | None, _length("Warm-up messages before the measured messages.")] = None,
    trials: Annotated[int | None, _length("Trials of each cell, instead of a budget.")] = None,
    budget: Annotated[Text, _length("The maximum time of all trials, such as 90s, instead of --trials.")] = None,
    until: Annotated[
        Text,
        _length(
            "End the run as soon as this is known: order (of all rows), best (row), require, or ±5% (of each median)."
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Measure all cells and messages of the scenario instead of its short form.",
            rich_help_panel="How much",
        ),
    ] = False,
    seed: Annotated[int | None, _length("Seed for the order of the trials; by default random and recorded.")] = None,
    fifo: Annotated[
        int | None, typer.Option(help="SCHED_FIFO priority of the nodes; needs permission.", rich_help_panel=MACHINE)
    ] = None,
    mlock: Annotated[
        bool | None, typer.Option(help="Lock the nodes' memory.", show_default=False, rich_help_panel=MACHINE)
    ] = None,
    no_idle_states: Annotated[
        bool | None,
        typer.Option(
            "--no-idle-states/--idle-states",
            help="Keep idle cores from sleeping while measuring; needs permission.",
            show_default=False,
            rich_help_panel=MACHINE,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="A requirement, such as 'p99 < 1ms', 'lost = 0' or 'cpu < 5%'; repeat the option for several.",
            rich_help_panel="Compare",
        ),
    ] = None,
    title: Annotated[
        Text,
        typer.Option(
            metavar="TEXT",
            help="The heading of the tables and the report.",
            show_default="the question that the options ask",
            rich_help_panel="Output",
        ),
    ] = None,
    sample_cpu: Annotated[
        bool | None,
        typer.Option(help="Sample the CPU of each process every second.", show_default=False, rich_help_panel=MORE),
    ] = None,
    against: Annotated[
        Text,
        typer.Option(
            metavar="REF",
            help="Also measure each cell with another setting (set:NAME=VALUE), version (TRANSPORT@VERSION) or git "
            "revision, and compare.",
            rich_help_panel="Compare",
        ),
    ] = None,
    why: Annotated[
        bool | None,
        typer.Option(
            help="Report why the slowest messages are slow; takes one more trial of each cell.",
            show_default=False,
            rich_help_panel=MORE,
        ),
    ] = None,
    alone: Annotated[
        bool | None,
        typer.Option(
            help="Workloads: also measure each flow with a deadline alone; multiplies the number of cells.",
            show_default=False,
            rich_help_panel=MORE,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[METRIC:]slower:5%",
            help="With --against: exit with 3 if a cell is slower by more than this, misses more deadlines "
            "(`missed:1%`) or is `undecided`.",
            rich_help_panel="Compare",
        ),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Write the comparison as Markdown.", rich_help_panel="Compare"),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.xml", help="Write JUnit XML with a test case for each cell.", rich_help_panel="Compare"
        ),
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT:FILE",
            help="Write JSON in the format bencher or github-action-benchmark.",
            rich_help_panel="Compare",
        ),
    ] = None,
    build: Annotated[
        bool,
        typer.Option("--build", help="First build what the cells need: adapters, message code, frameworks."),
    ] = False,
    hosts: hosts_options.File = None,
    cluster: hosts_options.Address = None,
    cluster_ca: hosts_options.CA = None,
    cluster_cert: hosts_options.Certificate = None,
    cluster_key: hosts_options.Key = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The run folder.", show_default="results/START-SCENARIO", rich_help_panel="Output"
        ),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Resume the interrupted run in DIR, as it was planned.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List the cells, and the dropped cells with the reason for each, without measuring anything.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each cell.", rich_help_panel="Output")
    ] = False,
    no_report: Annotated[
        bool,
        typer.Option(
            "--no-report",
            help="Do not write report.html; `hopmeter report DIR` can write it later.",
            rich_help_panel="Output",
        ),
    ] = False,
    asking: Annotated[Text, typer.Option(hidden=True)] = None,
    awake: Annotated[bool | None, typer.Option(hidden=True)] = None,
    **axes: Text,
) -> None:
    """Run a scenario.

    You can override any of its parameters.
    Combinations that a transport does not support are skipped and listed.

    The environment variables DURATION (in seconds), RATE (in Hz), and WIDTH and HEIGHT (of an image)
    set --duration, --rate and --payload if you do not give these options.
    """
    options = scenario_options(locals() | axes)  # the parameter names match the scenario's keys
    from hopmeter.api import planning
    from hopmeter.api.comparison_request import Request, check_sides
    from hopmeter.cli.output.plan_display import show_plan, show_unmeasurable

    console = Console(stderr=as_json, highlight=False)
    request = Request.of(fail_if or [], summary, junit, export or [])
    with ExitStack() as ends:
        named = HostOptions(hosts, cluster, cluster_ca, cluster_cert, cluster_key)
        session = ends.enter_context(named.open())
        if resume is not None:
            from hopmeter.api import measuring
            from hopmeter.cli.output.run_display import Display, show_run

            check_resume_alone(
                resume, options, setting, full, dry_run, build, scenario is not None, out is not None, against
            )
            check_sides(request, measuring.has_sides(resume))
            display = Display(console, as_json, not console.is_terminal, request, not no_report)
            raise typer.Exit(show_run(lambda: measuring.resume(resume, display.consoles, session), display))
        check_sides(request, bool(against))
        name = "quick" if scenario is None else scenario
        variables = read_variables(os.environ, options, planning.fixed_options(name))
        for line in variables.lines():
            console.print(line, style="yellow", markup=False, soft_wrap=True)
        given = {**options, **variables.given}
        command = ["hopmeter", *sys.argv[1:], *variables.options]
        with stopping("nothing was measured", AGAIN):
            prepared = planning.prepare(
                name, given, setting or [], full, against, console, session, dry_run, build and not dry_run
            )
        if dry_run:
            raise typer.Exit(show_plan(prepared, console, as_json, command))
        show_unmeasurable(prepared.plan, console, as_json)
        from hopmeter.api import measuring
        from hopmeter.cli.output.run_display import Display, show_run

        display = Display(console, as_json, bool(variables.used) or not console.is_terminal, request, not no_report)
        raise typer.Exit(show_run(lambda: measuring.measure(prepared, out, command, display.consoles), display))
