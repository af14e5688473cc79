"""`hopmeter publish` and `hopmeter listen`: send framework objects between two terminals or two machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from hopmeter.cli.parts import meeting_options as meeting
from hopmeter.errors import StoppedError
from hopmeter.system.terminal import Console

if TYPE_CHECKING:
    from hopmeter.interactive.results import Results

SEVERAL = ("--plugins", "--mwares")


class Several(typer.core.TyperCommand):
    """A command that accepts several values after an option. `--plugins numpy torch` means `--plugins numpy --plugins
    torch`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, repeating `--plugins` and `--mwares` before each of their values."""
        return super().parse_args(ctx, spread(args))


def spread(args: list[str]) -> list[str]:
    """Repeat an option before each of its values, up to the next option. A value may be a comma-separated list."""
    found: list[str] = []
    option = ""
    for word in args:
        if word.startswith("-"):
            option = word if word in SEVERAL else ""
            found += [] if option else [word]
        elif option:
            found += [part for each in word.split(",") if each for part in (option, each)]
        else:
            found.append(word)
    return found


Plugins = Annotated[list[str], typer.Option(metavar="A B …", help="Codecs, such as pillow numpy pytorch.")]
Mwares = Annotated[list[str], typer.Option(metavar="A B …", help="Transports, such as zeromq ros1.")]
Size = Annotated[int, typer.Option(min=1, max=100_000, help="Size of the object.")]
Trials = Annotated[int, typer.Option(min=1, help="Measured messages per codec and transport.")]
Skip = Annotated[int, typer.Option(min=0, help="Warm-up messages before the measured messages.")]
Rate = Annotated[float, typer.Option(min=0.001, help="Messages per second.")]
Name = Annotated[str, typer.Option(help="A name that must be the same for both commands.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for logs and samples; results/by-hand-… by default.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the transport, such as hwm=1000, for both sides."),
]
Brokers = Annotated[
    list[str] | None,
    typer.Option("--broker", metavar="[NAME=]ADDRESS", help="Use a running broker instead of starting one."),
]


def register(app: typer.Typer) -> None:
    """Add the commands `listen` and `publish` to the application."""
    options = "--plugins pillow numpy --mwares zeromq ros1 --width 200 --height 200 --trials 2000"
    app.command("listen", cls=Several, epilog=f"Example: hopmeter listen {options}")(listen)
    app.command("publish", cls=Several, epilog=f"Example: hopmeter publish {options}")(publish)


def listen(
    plugins: Plugins = ["numpy"],  # noqa: B006 (typer requires it; never changed)
    mwares: Mwares = ["zeromq"],  # noqa: B006
    width: Size = 200,
    height: Size = 200,
    trials: Trials = 2000,
    skip_trials: Skip = 20,
    rate: Rate = 100.0,
    name: Name = "study",
    folder: meeting.Folder = None,
    meet: meeting.Meet = None,
    host: meeting.Host = None,
    secret_file: meeting.SecretFile = None,
    cert: meeting.Cert = None,
    key: meeting.Key = None,
    ca: meeting.CA = None,
    within: meeting.Within = 600.0,
    out: Out = None,
    setting: Settings = None,
) -> None:
    """Receive objects with each codec over each transport, and verify and measure them.

    Start `hopmeter publish` with the same options in another terminal, before or after this command.
    """
    from hopmeter.interactive.listener import listen
    from hopmeter.interactive.study import LISTENER, Side

    point = meeting.meeting_point_of("pair", name, folder, meet, host, secret_file, cert, key, ca)
    options = _options(width, height, trials, skip_trials, rate)
    side, settings = Side.here(options, mwares, plugins), setting or []
    raise typer.Exit(_measure(lambda: listen(point, side, settings, within, _results(LISTENER, out, options))))


def publish(
    plugins: Plugins = ["numpy"],  # noqa: B006
    mwares: Mwares = ["zeromq"],  # noqa: B006
    width: Size = 200,
    height: Size = 200,
    trials: Trials = 2000,
    skip_trials: Skip = 20,
    rate: Rate = 100.0,
    name: Name = "study",
    folder: meeting.Folder = None,
    meet: meeting.Meet = None,
    host: meeting.Host = None,
    secret_file: meeting.SecretFile = None,
    cert: meeting.Cert = None,
    key: meeting.Key = None,
    ca: meeting.CA = None,
    within: meeting.Within = 600.0,
    out: Out = None,
    broker: Brokers = None,
    old_broker: Annotated[list[str] | None, typer.Option("--daemon", hidden=True)] = None,
) -> None:
    """Send objects of WIDTH x HEIGHT with each codec over each transport, at an exact rate.

    Start `hopmeter listen` with the same options in another terminal, before or after this command.
    hopmeter starts a broker for each transport that needs one.
    """
    from dataclasses import replace

    from hopmeter.cli.main import fail
    from hopmeter.interactive.publisher import publish
    from hopmeter.interactive.study import PUBLISHER, Side
    from hopmeter.model.old_names import warn_of_old_option

    if old_broker:
        warn_of_old_option("--daemon", "--broker")
    point = meeting.meeting_point_of("pair", name, folder, meet, host, secret_file, cert, key, ca)
    options = _options(width, height, trials, skip_trials, rate)
    side = Side.here(options, mwares, plugins)
    side = replace(side, brokers=meeting.addresses(broker or old_broker or [], side.transports, "--broker"))
    results = _results(PUBLISHER, out, options)
    raise typer.Exit(_measure(lambda: publish(point, side, within, results, fail)))


def _options(width: int, height: int, trials: int, skip: int, rate: float) -> dict[str, float]:
    return {"width": width, "height": height, "trials": trials, "skip": skip, "rate": rate}


def _measure(measure: Any) -> int:
    from hopmeter.runtime.failures import InterruptedRunError

    try:
        return int(measure())
    except InterruptedRunError:
        return StoppedError.exit_code


def _results(side: str, out: Path | None, options: dict[str, float]) -> Results:
    from hopmeter.interactive.results import Results

    about = meeting.describe_command() | {name: value for name, value in options.items() if name != "skip"}
    return Results(side, out or meeting.result_path(side), Console(highlight=False), about)
