"""`hopmeter serve`: runs a server in its own terminal."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from hopmeter.cli.parts.meeting_options import CA, Cert, Folder, Host, Key, Meet, SecretFile, meeting_point_of
from hopmeter.system.terminal import Console


def register(app: typer.Typer) -> None:
    """Add the command `serve` to the application."""
    app.command("serve", epilog="Example: hopmeter serve left --transport zeromq --work sleep:30ms")(serve)


def serve(
    name: Annotated[
        str, typer.Argument(help="The name by which clients find the server: at most 24 characters of a-z, 0-9 and _.")
    ],
    transport: Annotated[str, typer.Option(help="A transport that offers rpc (see `hopmeter transports`).")] = "zeromq",
    work: Annotated[str, typer.Option(help="Work for each call: none, sleep:T, spin:T, copy:BYTES.")] = "none",
    broker: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Use a running broker.")] = None,
    old_broker: Annotated[str | None, typer.Option("--daemon", hidden=True)] = None,
    folder: Folder = None,
    meet: Meet = None,
    host: Host = None,
    secret_file: SecretFile = None,
    cert: Cert = None,
    key: Key = None,
    ca: CA = None,
) -> None:
    """Serve calls: do the work for each call, then send the frame back. Stop with Ctrl-C.

    hopmeter starts a new server for each `hopmeter ask`.
    """
    from hopmeter.interactive import server
    from hopmeter.interactive.meeting_point import SERVER
    from hopmeter.model.old_names import warn_of_old_option

    if old_broker:
        warn_of_old_option("--daemon", "--broker")

    point = meeting_point_of(SERVER, name, folder, meet, host, secret_file, cert, key, ca)
    say = partial(Console(highlight=False).print, markup=False, soft_wrap=True)
    calls = server.serve(point, transport, work, broker or old_broker or "", say)
    say(f"{name}: {calls} calls answered")
