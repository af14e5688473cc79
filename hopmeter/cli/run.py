"""`hopmeter run`: measures."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hopmeter.cli.parts.environment_variables import asked
from hopmeter.cli.parts.options import given
from hopmeter.errors import UsageError
from hopmeter.model.paces import PACES
from hopmeter.system.terminal import Console

EPILOG = "Example: hopmeter run --transport zeromq,unix --language rust,c++ --wait block --rate 10,1000 --trials 5"
Text = str | None


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run", epilog=EPILOG)(run)


def _axis(help_text: str) -> Any:
    return typer.Option(metavar="A,B,…", help=help_text, rich_help_panel="Axes (a list gives a cell for each)")


def _length(help_text: str) -> Any:
    return typer.Option(help=help_text, rich_help_panel="How much")


def run(
    scenario: Annotated[
        Text, typer.Argument(help="A name (see `hopmeter scenarios`) or a .toml file.", show_default="quick")
    ] = None,
    transport: Annotated[Text, _axis("Names, all, or direct: those without a daemon.")] = None,
    language: Annotated[Text, _axis("rust, c++, python, source>sink, one, each or pairs.")] = None,
    pattern: Annotated[Text, _axis("pubsub, rpc, scatter.")] = None,
    placement: Annotated[Text, _axis("thread, process, or apart: processes where the transport can.")] = None,
    wait: Annotated[Text, _axis("spin, block, callback; callback+block: one for each sink.")] = None,
    cores: Annotated[Text, _axis("same, cross, sibling, free, numa, or one list such as 0,1.")] = None,
    payload: Annotated[
        Text, _axis("timing, bytes:N, image:WxH, file:PATH, video:PATH; with a codec array:WxH.")
    ] = None,
    touch: Annotated[Text, _axis("none, write, write+read.")] = None,
    codec: Annotated[Text, _axis("none, or in Python numpy, torch, pickle-in-band …")] = None,
    device: Annotated[Text, _axis("cpu, gpu: where a codec's object lives.")] = None,
    share: Annotated[Text, _axis("none, cuda-ipc: a GPU's memory through the host, or by handle.")] = None,
    pace: Annotated[Text, _axis(f"{', '.join(PACES)}.")] = None,
    rate: Annotated[Text, _axis("Messages a second.")] = None,
    relays: Annotated[Text, _axis("Relays between the ends.")] = None,
    sinks: Annotated[Text, _axis("Receivers of the last hop; servers in scatter.")] = None,
    pairs: Annotated[Text, _axis("Independent pairs at once.")] = None,
    work: Annotated[Text, _axis("What a relay or server does: none, sleep:T, spin:T, copy:N, sleep:T/T/T.")] = None,
    dispatch: Annotated[Text, _axis("Whether a scatter asks its servers at once: parallel, sequential.")] = None,
    burst: Annotated[Text, _axis("Messages per burst.")] = None,
    heap: Annotated[
        Text, _axis("retain, libc: nodes retain freed memory for the next message, or do as libc does.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=A,B,…",
            help="A setting of the transport, such as hwm=1000.",
            rich_help_panel="Axes (a list gives a cell for each)",
        ),
    ] = None,
    messages: Annotated[int | None, _length("Messages measured in each trial.")] = None,
    duration: Annotated[Text, _length("How long each trial measures, such as 30s, instead of --messages.")] = None,
    warmup: Annotated[int | None, _length("Messages sent before those measured.")] = None,
    trials: Annotated[int | None, _length("Executions of each cell.")] = None,
    seed: Annotated[int | None, _length("Of the trials' order; drawn and recorded where absent.")] = None,
    fifo: Annotated[int | None, typer.Option(help="SCHED_FIFO priority of the nodes; needs the right to it.")] = None,
    mlock: Annotated[bool | None, typer.Option(help="Lock the nodes' memory.", show_default=False)] = None,
    no_idle_states: Annotated[
        bool | None,
        typer.Option(
            "--no-idle-states/--idle-states",
            help="Keep idle cores from sleeping while measuring; needs the right to it.",
            show_default=False,
        ),
    ] = None,
    sample_cpu: Annotated[bool | None, typer.Option(help="Sample CPU every second.", show_default=False)] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run folder.", show_default="results/START-SCENARIO")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Go on with an interrupted run.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the cells, and what is dropped and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, a line a cell.")] = False,
    asking: Annotated[Text, typer.Option(hidden=True)] = None,
    awake: Annotated[bool | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure a scenario. Every axis can be given or replaced; what cannot be is dropped and said.

    DURATION (seconds), RATE (Hz), WIDTH and HEIGHT (of an image) in the environment stand for --duration, --rate and
    --payload where these are not given.
    """
    options = given(locals())  # its axes and lengths have the same names in a scenario
    from hopmeter.cli.parts import measuring

    console = Console(stderr=as_json, highlight=False)
    if resume is not None:
        if options or setting or dry_run or scenario is not None or out is not None:
            raise UsageError(
                "--resume goes on with a run as it was planned; other options have no meaning with it",
                f"hopmeter run --resume {resume}",
            )
        raise typer.Exit(measuring.resumed(resume, console, as_json))
    name = "quick" if scenario is None else scenario
    ambient = asked(os.environ, options, measuring.settled(name))
    for line in ambient.lines():
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    plan, world = measuring.planned(name, {**options, **ambient.given}, setting or [])
    if dry_run:
        raise typer.Exit(measuring.shown(plan, console, as_json))
    command = ["hopmeter", *sys.argv[1:], *ambient.options]
    told = bool(ambient.used) or not console.is_terminal
    raise typer.Exit(measuring.measured(plan, world, out, command, console, as_json, result_lines=told))
