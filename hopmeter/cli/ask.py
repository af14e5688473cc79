"""`hopmeter ask`: sends frames to servers in other terminals or on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from hopmeter.cli.parts import meeting_options as meeting
from hopmeter.cli.parts.meeting_options import CA, Cert, Folder, Host, Key, SecretFile, Within
from hopmeter.errors import StoppedError, UsageError
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.interactive.asker_results import Answers
    from hopmeter.interactive.meeting_point import MeetingPoint

INTERRUPTED = StoppedError.exit_code
Side = Annotated[
    int | None, typer.Option(min=1, max=100_000, help="Size of the frame; by default 640 x 480, or that of the file.")
]


def register(app: typer.Typer) -> None:
    """Add the command `ask` to the application."""
    app.command("ask", epilog="Example: hopmeter ask left middle right --frames 25 --coef 10")(ask)


def ask(
    names: Annotated[list[str], typer.Argument(help="Names of servers that `hopmeter serve` runs.")],
    frames: Annotated[int | None, typer.Option(min=1, help="Frames that each thread sends; 25 by default.")] = None,
    number: Annotated[int | None, typer.Option(min=1, help="The same as --frames.")] = None,
    coef: Annotated[
        float, typer.Option(min=0, max=1e6, help="The factor by which the servers' work is multiplied.")
    ] = 1.0,
    n_thread: Annotated[
        int, typer.Option(min=1, max=256, help="The number of clients that send at the same time.")
    ] = 1,
    width: Side = None,
    height: Side = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Send the frames of an image or a video instead of a pattern."),
    ] = None,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Call the servers one after another instead of all at once.")
    ] = False,
    one_by_one: Annotated[bool, typer.Option("--in-turn", hidden=True)] = False,
    language: Annotated[str, typer.Option(help="Language of clients and servers: python, rust or c++.")] = "python",
    folder: Folder = None,
    meet: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]HOST:PORT", help="Address of a server on another machine.")
    ] = None,
    host: Host = None,
    within: Within = 10.0,
    secret_file: SecretFile = None,
    cert: Cert = None,
    key: Key = None,
    ca: CA = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for log and samples; results/by-hand-… by default.")
    ] = None,
) -> None:
    """Send each frame (width x height, 3 bytes per pixel) to all servers, and wait for all replies.

    hopmeter decodes all frames of a file before it sends the first frame. By default, the frames keep their size.
    """
    from hopmeter.interactive import asker
    from hopmeter.interactive.asker_results import AskerFolder
    from hopmeter.interactive.frames_scenario import Frames
    from hopmeter.model.old_names import warn_of_old_option
    from hopmeter.runtime.failures import InterruptedRunError

    if frames is not None and number is not None:
        raise UsageError("E-OPTION-CONFLICT", "--frames and --number set the same value", "give one of them")
    if one_by_one:
        warn_of_old_option("--in-turn", "--sequential")
    met = meeting.addresses(meet or [], names, "--meet")
    points = dict(_points(names, met, folder, host, (secret_file, cert, key, ca)))
    payload = _payload(width, height, source)
    asked = Frames(payload, frames or number or 25, n_thread, coef, sequential or one_by_one, language)
    stored = AskerFolder(out or meeting.result_path("asker"), meeting.describe_command())
    console = Console(highlight=False)
    try:
        found = asker.ask(asked, points, within, lambda line: console.print(line, style="dim", markup=False))
    except InterruptedRunError:
        raise typer.Exit(INTERRUPTED) from None
    _show(found, console)
    console.print(stored.write(found), style="dim", markup=False, soft_wrap=True)
    raise typer.Exit(INTERRUPTED if found.interrupted else found.exit_code)


def _points(
    names: Sequence[str], met: Mapping[str, str], folder: Path | None, host: str | None, proofs: tuple[Any, ...]
) -> Iterator[tuple[str, MeetingPoint]]:
    from hopmeter.interactive.meeting_point import SERVER

    if len(set(names)) < len(names):
        raise UsageError(
            "E-OPTION-CONFLICT", "a server is named twice", "name each server once; --n-thread makes concurrent calls"
        )
    for name in names:
        at, own, *proof = (met.get(name), host, *proofs) if name in met or not met else (None, None)
        yield name, meeting.meeting_point_of(SERVER, name, folder, at, own, *proof)


def _payload(width: int | None, height: int | None, file: Path | None) -> str:
    """Return the payload in scenario syntax. Raises UsageError if only the width or only the height is given, or if the
    file contains no frames."""
    from hopmeter.images import decoded
    from hopmeter.images.source import of_file

    if file is None:
        return f"image:{width or 640}x{height or 480}"
    if (width is None) != (height is None):
        raise UsageError(
            "E-OPTION-CONFLICT", "--source needs both --width and --height, or neither", "give both or neither"
        )
    source = of_file(file, (width, height) if width and height else None)
    decoded.size_of(source)
    size = f"{width}x{height}:" if width else ""
    return f"{source.kind}:{size}{source.file}"


def _show(found: Answers, console: Console) -> None:
    from hopmeter.interactive.asker_results import lines, rows

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in ("", "transport"):
        table.add_column(head, no_wrap=True)
    for head in ("mean ms", "std ms", "len", "p50 ms", "p99 ms", "hold ms"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows(found):
        table.add_row(*row)
    if table.row_count:
        console.print(table)
    for line in lines(found):
        console.print(line, markup=False, soft_wrap=True)
