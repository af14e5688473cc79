"""`hopmeter agent`: starts nodes on this host for a run on another host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.cli.parts import meeting_options
from hopmeter.errors import RefusedValueError, UsageError

if TYPE_CHECKING:
    from hopmeter.hosts.agent.credentials import Credentials


def register(app: typer.Typer) -> None:
    """Add the command `agent` to the application."""
    app.command("agent", epilog="Example: hopmeter agent --listen 10.0.0.2:7777 --secret-file jetson.secret")(agent)


def agent(
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Read requests from stdin and answer on stdout; `hopmeter run --hosts` uses this option."
        ),
    ] = False,
    address: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Wait for coordinators at this address, or on a Unix socket (unix:PATH).",
        ),
    ] = None,
    secret_file: meeting_options.SecretFile = None,
    cert: meeting_options.Cert = None,
    key: meeting_options.Key = None,
    ca: meeting_options.CA = None,
) -> None:
    """Start nodes on this host on behalf of `hopmeter run --hosts` on another host.

    `hopmeter run` itself starts agents via ssh. Without ssh, start an agent yourself with `--listen`.
    """
    if stdio == (address is not None):
        what = "an agent needs exactly one of --stdio and --listen"
        raise UsageError("E-AGENT-CHANNEL", what, "hopmeter agent --listen HOST:PORT --secret-file FILE")
    from hopmeter.hosts.agent.credentials import Credentials

    credentials = Credentials(secret_file, cert, key, ca)
    if address is not None:
        _listen(address, credentials)
        return
    if credentials.files:
        what = "--secret-file, --cert, --key and --ca require --listen"
        raise UsageError("E-AGENT-CHANNEL", what, "omit these options")
    _serve_stdio()


def _serve_stdio() -> None:
    from hopmeter.hosts.agent.agent import serve, stdio_channel
    from hopmeter.hosts.protocol.greeting import HostError
    from hopmeter.hosts.protocol.line_channel import ChannelError

    try:
        serve(stdio_channel())
    except ChannelError as cause:
        raise HostError(
            "E-HOST-PEER", f"the program at the other end is not hopmeter: {cause}", "use the same version on all hosts"
        ) from cause


def _listen(text: str, credentials: Credentials) -> None:
    from hopmeter.hosts.agent.listener import listen
    from hopmeter.hosts.protocol.agent_address import AgentAddress

    try:
        address = AgentAddress.parse(text)
    except RefusedValueError as cause:
        raise UsageError(cause.code, f"--listen: {cause.what}", "hopmeter agent --listen HOST:PORT") from cause
    credentials.check(address)
    listen(address, credentials.guard(_say), _say)


def _say(line: str) -> None:
    print(f"hopmeter agent: {line}", flush=True)
