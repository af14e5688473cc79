"""`hopmeter serve` and `ask`: one participant in each terminal."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import hopmeter
from hopmeter.errors import UsageError
from hopmeter.system import paths
from hopmeter.system.terminal import Console

INTERRUPTED = 130


Side = Annotated[
    int | None, typer.Option(min=1, max=100_000, help="Size of the frame; by default 640 x 480, or that of the file.")
]
Folder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder in which both commands find each other; your own by default.")
]
Meet = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="On two machines: the address of the publisher or server, for both commands."
    ),
]
Host = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="With --meet: the address of this machine, if it cannot be found.")
]
Within = Annotated[float, typer.Option(min=0, help="Seconds to wait for the other command.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for logs and samples; results/by-hand-… by default.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve", epilog="Example: hopmeter serve left --transport zeromq --work sleep:30ms")(serve)
    app.command("ask", epilog="Example: hopmeter ask left middle right --frames 25 --coef 10")(ask)


def _where(folder: Path | None, meet: str | None, host: str | None) -> Any:
    from hopmeter.byhand.network import endpoint
    from hopmeter.byhand.where import Where

    if host and not meet:
        raise UsageError(
            "E-OPTION-CONFLICT",
            "--host works only with two machines",
            "give the meeting address as well: --meet HOST:PORT",
        )
    return Where(folder, endpoint(meet) if meet else None, host)


def _metadata(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what a report says besides the results."""
    from hopmeter.machine import description

    started = datetime.now().astimezone().isoformat(timespec="seconds")
    about = {"command": ["hopmeter", *sys.argv[1:]], "started": started, "hopmeter": hopmeter.__version__}
    return {**about, **asked, "machine": description.describe()}


def _folder(side: str) -> Path:
    return paths.results() / f"by-hand-{time.strftime('%Y%m%d-%H%M%S')}-{side}"


def serve(
    name: Annotated[str, typer.Argument(help="Name for clients: up to 24 of a-z, 0-9 and _.")],
    transport: Annotated[
        str, typer.Option(help="A transport that offers rpc in Python (see `hopmeter transports`).")
    ] = "zeromq",
    work: Annotated[str, typer.Option(help="Work for each call: none, sleep:T, spin:T, copy:BYTES.")] = "none",
    largest: Annotated[int, typer.Option(min=4096, help="Size of the largest object in bytes.")] = 64 << 20,
    folder: Folder = None,
    meet: Meet = None,
    host: Host = None,
    daemon: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Use a running broker.")] = None,
) -> None:
    """Serve calls: do the work for each call, then send the frame back. Stop with Ctrl-C."""
    from hopmeter.byhand.meeting import checked
    from hopmeter.byhand.servers import Served, serve

    console = Console(highlight=False)
    served = Served(checked(name), transport, work, _where(folder, meet, host), largest, daemon)
    calls = serve(served, lambda: console.print(f"serving {name} over {transport}, work {work}; Ctrl-C ends it"))
    console.print(f"{name}: {calls} calls answered")


def ask(
    names: Annotated[list[str], typer.Argument(help="Names of servers that `hopmeter serve` runs.")],
    frames: Annotated[int | None, typer.Option(min=1, help="Frames that each thread sends; 25 by default.")] = None,
    number: Annotated[int | None, typer.Option(min=1, help="The same as --frames.")] = None,
    coef: Annotated[float, typer.Option(min=0, max=1e6, help="Factor for the servers' work.")] = 1.0,
    n_thread: Annotated[int, typer.Option(min=1, max=256, help="Threads that send at once.")] = 1,
    width: Side = None,
    height: Side = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Send the frames of an image or a video instead of a pattern."),
    ] = None,
    in_turn: Annotated[
        bool, typer.Option("--in-turn", help="Call one server after the other, not all at once.")
    ] = False,
    folder: Folder = None,
    meet: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]HOST:PORT", help="Address of a server on another machine.")
    ] = None,
    host: Host = None,
    within: Within = 10.0,
    out: Out = None,
) -> None:
    """Call servers: send each frame (width x height, 3 bytes per pixel) to all of them, and wait for all replies.

    The frames of a file are decoded before the first is sent, in the size of the file by default.
    """
    from hopmeter.byhand.asked import SIDE, AskedFiles
    from hopmeter.byhand.asker import Asking
    from hopmeter.byhand.asker import ask as asked
    from hopmeter.byhand.brokers import given
    from hopmeter.byhand.meeting import checked
    from hopmeter.runtime.failures import InterruptedRunError

    if frames is not None and number is not None:
        raise UsageError("E-OPTION-CONFLICT", "--frames and --number set the same value", "give one of them")
    wanted = [checked(name) for name in names]
    met = given(meet or [], wanted, "--meet")
    where = {name: _where(folder, met.get(name), host if name in met or not met else None) for name in wanted}
    size, shown = _frames(width, height, source)
    asking = Asking(wanted, frames or number or 25, coef, n_thread, size, shown, in_turn, where, within)
    files = AskedFiles(out or _folder(SIDE), _metadata({}))
    each = f" by each of {n_thread} threads" if n_thread > 1 else ""
    what = f"calling {' '.join(wanted)}: {asking.frames} frames{each}"
    console = Console(highlight=False)
    try:
        found = asked(asking, lambda: console.print(f"{what}; Ctrl-C ends it", style="dim", markup=False))
    except InterruptedRunError:
        raise typer.Exit(INTERRUPTED) from None
    code = _show(asking, found, files.add(asking, found))
    raise typer.Exit(INTERRUPTED if found.interrupted else code)


def _frames(width: int | None, height: int | None, file: Path | None) -> Any:
    """Return the size of generated frames, or the source of frames from a file, which is checked."""
    from hopmeter.images import decoded
    from hopmeter.images.source import of_file

    size = (width or 640, height or 480)
    if file is None:
        return size, None
    if (width is None) != (height is None):
        raise UsageError(
            "E-OPTION-CONFLICT", "--source needs both --width and --height, or neither", "give both or neither"
        )
    source = of_file(file, size if width else None)
    decoded.size_of(source)
    return size, source


def _show(asking: Any, found: Any, where: str) -> int:
    """Print the table, and return the exit code."""
    from hopmeter.byhand.asked import lines, rows

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in ("", "transport"):
        table.add_column(head, no_wrap=True)
    for head in ("mean ms", "std ms", "len", "p50 ms", "p99 ms"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows(asking, found):
        table.add_row(*row)
    console.print(table)
    for line in lines(asking, found):
        console.print(line, markup=False, soft_wrap=True)
    console.print(where, style="dim", markup=False, soft_wrap=True)
    return 1 if found.failure or found.wrong or not len(found.rows) else 0
