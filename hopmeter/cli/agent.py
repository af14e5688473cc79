"""`hopmeter agent`: starts nodes on this host for a run on another one."""

from __future__ import annotations

from typing import Annotated

import typer

from hopmeter.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("agent", epilog="Example: ssh HOST hopmeter agent --stdio")(agent)


def agent(
    stdio: Annotated[
        bool,
        typer.Option("--stdio", help="Take orders from stdin and answer on stdout, as `hopmeter run --hosts` does."),
    ] = False,
) -> None:
    """Start nodes on this host for `hopmeter run --hosts` on another; you rarely type it yourself."""
    if not stdio:
        raise UsageError("E-AGENT-CHANNEL", "an agent needs a way to be reached", "hopmeter agent --stdio")
    from hopmeter.hosts.agent import serve, stdio_channel
    from hopmeter.hosts.greeting import HostError
    from hopmeter.hosts.line_channel import ChannelError

    try:
        serve(stdio_channel())
    except ChannelError as cause:
        raise HostError(
            "E-HOST-PEER", f"the other end is no hopmeter: {cause}", "use the same version on all hosts"
        ) from cause
