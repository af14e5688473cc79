"""`hopmeter agent`: starts nodes on this host for a run on another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopmeter.errors import RefusedValueError, UsageError

if TYPE_CHECKING:
    from hopmeter.hosts.caller import Guard

PEM = "FILE.pem"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("agent", epilog="Example: hopmeter agent --listen 10.0.0.2:7777 --secret-file jetson.secret")(agent)


def agent(
    stdio: Annotated[
        bool,
        typer.Option("--stdio", help="Take orders from stdin and answer on stdout, as `hopmeter run --hosts` does."),
    ] = False,
    address: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Wait for coordinators here, or on a socket: unix:PATH."),
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option("--secret-file", metavar="FILE", help="The secret that coordinators need; made if it is missing."),
    ] = None,
    cert: Annotated[Path | None, typer.Option(metavar=PEM, help="With TLS: the certificate of this host.")] = None,
    key: Annotated[Path | None, typer.Option(metavar=PEM, help="With TLS: its key.")] = None,
    ca: Annotated[Path | None, typer.Option(metavar=PEM, help="With TLS: the authority of coordinators.")] = None,
) -> None:
    """Start nodes on this host for `hopmeter run --hosts` on another.

    `hopmeter run` starts agents via ssh itself; start one yourself with `--listen` where there is no ssh.
    """
    if stdio == (address is not None):
        what = "an agent needs one way to be reached: --stdio or --listen"
        raise UsageError("E-AGENT-CHANNEL", what, "hopmeter agent --listen HOST:PORT --secret-file FILE")
    if address is None:
        if any((secret_file, cert, key, ca)):
            what = "--secret-file, --cert, --key and --ca are for --listen"
            raise UsageError("E-AGENT-CHANNEL", what, "leave them out")
        _serve_stdio()
    else:
        _listen(address, secret_file, cert, key, ca)


def _serve_stdio() -> None:
    from hopmeter.hosts.agent import serve, stdio_channel
    from hopmeter.hosts.greeting import HostError
    from hopmeter.hosts.line_channel import ChannelError

    try:
        serve(stdio_channel())
    except ChannelError as cause:
        raise HostError(
            "E-HOST-PEER", f"the other end is no hopmeter: {cause}", "use the same version on all hosts"
        ) from cause


def _listen(text: str, secret_file: Path | None, cert: Path | None, key: Path | None, ca: Path | None) -> None:
    from hopmeter.hosts.agent_address import AgentAddress
    from hopmeter.hosts.listener import listen

    try:
        address = AgentAddress.parse(text)
    except RefusedValueError as cause:
        raise UsageError(cause.code, f"--listen: {cause.what}", "hopmeter agent --listen HOST:PORT") from cause
    if address.path and any((cert, key, ca)):
        raise UsageError("E-AGENT-CHANNEL", "a Unix socket has no TLS", "leave out --cert, --key and --ca")
    if not address.stays_here and not any((secret_file, cert, key, ca)):
        what = f"other machines can reach {address}, and every program that reaches an agent can start programs as you"
        raise UsageError("E-AGENT-EXPOSED", what, "give --secret-file FILE, or --cert, --key and --ca")
    listen(address, _guard(secret_file, cert, key, ca), _say)


def _guard(secret_file: Path | None, cert: Path | None, key: Path | None, ca: Path | None) -> Guard:
    from hopmeter.hosts.caller import Guard
    from hopmeter.hosts.shared_secret import make_secret, read_secret
    from hopmeter.hosts.tls import TlsFiles

    tls = None
    if cert is not None and key is not None and ca is not None:
        tls = TlsFiles(cert, key, ca).context(is_agent=True, named="--cert, --key and --ca")
    elif any((cert, key, ca)):
        raise UsageError("E-HOST-TLS", "TLS needs all of --cert, --key and --ca", "name all three files")
    if secret_file is None:
        return Guard(None, tls)
    if not secret_file.exists():
        _say(f"new secret in {secret_file}, for a file with mode 0600 on the other machine: {make_secret(secret_file)}")
    return Guard(read_secret(secret_file, "--secret-file"), tls)


def _say(line: str) -> None:
    print(f"hopmeter agent: {line}", flush=True)
