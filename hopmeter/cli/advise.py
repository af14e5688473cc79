"""`hopmeter advise`: measures a workload and recommends a transport."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hopmeter.cli.parts import hosts_options
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.system.terminal import Console

EPILOG = 'Example: hopmeter advise robot-head --now zeromq --require "lost = 0" --example start'
UNDECIDED = 1
Text = str | None
WHAT, HOW = "What you send", "Choice"


def register(app: typer.Typer) -> None:
    """Add the command `advise` to the application."""
    app.command("advise", epilog=EPILOG)(advise)


def _what(help_text: str) -> Any:
    return typer.Option(help=help_text, rich_help_panel=WHAT)


def advise(
    scenario: Annotated[
        Text, typer.Argument(help="A scenario or workload: a name or a .toml file.", show_default="your answers")
    ] = None,
    payload: Annotated[Text, _what("The content of a message: bytes:N, image:WxH or file:PATH.")] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="A folder with files that message schemas import; repeat the option for several folders.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    rate: Annotated[Text, _what("Messages per second.")] = None,
    pattern: Annotated[Text, _what("pubsub for messages, rpc for calls.")] = None,
    language: Annotated[Text, _what("rust, c++, python, source>sink such as rust>python, one, or each.")] = None,
    sinks: Annotated[Text, _what("The number of programs that receive each message.")] = None,
    now: Annotated[Text, typer.Option(metavar="TRANSPORT", help="Your current transport.", rich_help_panel=HOW)] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="A requirement, such as 'p99 < 1ms', 'lost = 0' or 'cpu < 5%'; repeat the option for several.",
            rich_help_panel=HOW,
        ),
    ] = None,
    transport: Annotated[
        Text,
        typer.Option(
            metavar="A,B,…",
            help="Transports to choose from.",
            show_default="all that are ready and can be installed",
            rich_help_panel=HOW,
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=A,B,…", help="A setting of the transports.", rich_help_panel=HOW),
    ] = None,
    budget: Annotated[Text, typer.Option(help="The maximum time for measuring.", show_default="3m")] = None,
    no_idle_states: Annotated[
        bool | None,
        typer.Option(
            "--no-idle-states/--idle-states",
            help="Keep idle cores from sleeping while measuring; needs permission.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Use a stored run instead of measuring.")
    ] = None,
    example: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write an example program for your messages and the recommended transport into this new folder.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run folder.", show_default="results/START-SCENARIO")
    ] = None,
    build: Annotated[
        bool,
        typer.Option("--build", help="First build the transports that are not ready but can be built here."),
    ] = False,
    hosts: hosts_options.File = None,
    cluster: hosts_options.Address = None,
    cluster_ca: hosts_options.CA = None,
    cluster_cert: hosts_options.Certificate = None,
    cluster_key: hosts_options.Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the advice as a line of JSON.")] = False,
) -> None:
    """Measure your messages and recommend a transport.

    Name a scenario or a workload, or describe your messages. In a terminal, hopmeter asks for what is missing.

    Exits with 1 if there is no recommendation. The last line then shows the command that would decide.
    """
    from hopmeter.cli.output import advice_display

    given: dict[str, Any] = {"payload": payload, "rate": rate, "pattern": pattern, "language": language, "sinks": sinks}
    given |= {
        "include": include or None,
        "require": require or None,
        "transport": transport,
        "budget": budget,
        "no_idle_states": no_idle_states,
    }
    options = {name: value for name, value in given.items() if value is not None}
    named = HostOptions(hosts, cluster, cluster_ca, cluster_cert, cluster_key)
    console = Console(stderr=as_json, highlight=False)
    advice_display.check_example(example)
    if source is not None:
        advice_display.check_alone(source, scenario, setting, out, named.words, build, options)
        found = advice_display.read(source, now, options.get("require", ()))
    else:
        found = advice_display.measure(scenario, now, options, setting or [], out, console, named, build)
    written = advice_display.write_example(found, example)
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
    else:
        advice_display.show(console, found, example, written)
    sys.stdout.flush()
    raise typer.Exit(0 if found.is_decided else UNDECIDED)
