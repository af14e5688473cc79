"""`hopmeter hosts`: shows which hosts are reachable, and what they provide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hopmeter.cli.parts import hosts_options
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.messages import tag
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.hosts.coordinator.survey import HostState


def register(app: typer.Typer) -> None:
    """Add the command `hosts` to the application."""
    app.command("hosts", epilog="Example: hopmeter hosts --hosts hosts.toml")(hosts)


def hosts(
    hosts: hosts_options.File = None,
    cluster: hosts_options.Address = None,
    cluster_ca: hosts_options.CA = None,
    cluster_cert: hosts_options.Certificate = None,
    cluster_key: hosts_options.Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each host.")] = False,
) -> None:
    """Show which hosts are reachable, with their versions, transports, network connection and problems.

    For this check, hopmeter sends a TCP stream to each host for a second.

    The exit code is 1 if a host cannot be used.
    """
    from hopmeter.hosts.coordinator.survey import survey, survey_cluster

    named = HostOptions(hosts, cluster, cluster_ca, cluster_cert, cluster_key).named_cluster()
    if named is None and hosts is None:
        raise UsageError("E-OPTION-EMPTY", "no hosts are named", "hopmeter hosts --hosts hosts.toml")
    found = list(survey_cluster(named)) if named else list(survey(hosts)) if hosts else []
    if as_json:
        for each in found:
            print(json.dumps(each.as_json()))
    else:
        _print(Console(highlight=False), found)
    raise typer.Exit(int(any(each.error for each in found)))


def _print(console: Console, found: list[HostState]) -> None:
    about = _table("host", "address", "hopmeter", "spec", "round trip", "clock", "TCP stream", "MTU")
    for each in found:
        about.add_row(each.name, each.address, *_cells(each))
    print_whole(console, about)
    print()
    print_whole(console, _transports([each for each in found if each.greeting]))
    for each in found:
        _print_errors(console, each)
    _print_findings(console, found)


def _print_errors(console: Console, state: HostState) -> None:
    """Print why a host cannot be used, or why its address is unreachable."""
    if state.error:
        _print_trouble(console, "red", tag(state.error.code, state.error.what), state.error.remedy)
    if state.unreached:
        what = f"{state.name}: this machine cannot connect to {state.address} over TCP: {state.unreached}"
        _print_trouble(
            console,
            "yellow",
            what,
            "correct the host's address, or open its firewall: its nodes listen at this address",
        )


def _print_findings(console: Console, found: list[HostState]) -> None:
    """Print each distinct finding that distorts results, with the affected hosts."""
    hosts: dict[tuple[str, str, str], list[str]] = {}
    for state in found:
        for each in state.findings:
            if each["level"] == "hurts":
                what = f"{each['subject']}: {tag(each['code'], each['says'])}"
                hosts.setdefault((each["code"], what, each["remedy"]), []).append(state.name)
    for (_, what, remedy), names in hosts.items():
        _print_trouble(console, "yellow", f"{', '.join(names)}: {what}", remedy)
    if hosts:
        console.print("\nRun `hopmeter doctor` on a host for details.", style="dim")


def _print_trouble(console: Console, style: str, what: str, remedy: str) -> None:
    console.print(f"\n{what}", style=style, soft_wrap=True)
    if remedy:
        console.print(f"  → {remedy}", soft_wrap=True)


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def _cells(state: HostState) -> tuple[str, ...]:
    if state.greeting is None:
        return ("not reachable", *5 * ("–",))
    trip = "this machine" if state.round_trip_us is None else f"{state.round_trip_us:,.0f} µs"
    clock = "the same"
    if state.clock_offset_us is not None and state.round_trip_us is not None:
        clock = f"{state.clock_offset_us:+,.0f} ± {state.round_trip_us / 2:,.0f} µs"
    stream = (f"{state.stream.gbit_s:.3g} Gbit/s", f"{state.stream.mtu_bytes:,}") if state.stream else ("–", "–")
    return state.greeting.hopmeter, str(state.greeting.spec_format), trip, clock, *stream


def _transports(found: list[HostState]) -> Table:
    """Return a table with the versions of the ready transports, with a column for each host."""
    table = _table("ready transport", *(each.name for each in found))
    versions = [{f"{one.transport} ({one.language})": one.version for one in each.ready} for each in found]
    for name in sorted({name for each in versions for name in each}):
        table.add_row(name, *(each.get(name, "–") for each in versions))
    return table
