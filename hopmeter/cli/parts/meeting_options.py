"""Options that the interactive commands share: the meeting point, the credentials and the result directory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hopmeter
from hopmeter.errors import UsageError
from hopmeter.system import paths

if TYPE_CHECKING:
    from hopmeter.interactive.meeting_point import MeetingPoint

PEM, PROVING = "FILE.pem", "Authentication"


Folder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder in which both commands find each other; by default a folder of your user."
    ),
]
Meet = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="For two machines: the address of the publisher or server, the same for both commands.",
    ),
]
Host = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="With --meet: the address of this machine, if hopmeter cannot determine it."),
]
Within = Annotated[float, typer.Option(min=0, help="Seconds to wait for the other command.")]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="The file with the shared secret; the listening side creates the file if it is missing.",
        rich_help_panel=PROVING,
    ),
]
Cert = Annotated[
    Path | None, typer.Option(metavar=PEM, help="With TLS: the certificate of this host.", rich_help_panel=PROVING)
]
Key = Annotated[
    Path | None, typer.Option(metavar=PEM, help="With TLS: the key of this certificate.", rich_help_panel=PROVING)
]
CA = Annotated[
    Path | None,
    typer.Option(metavar=PEM, help="With TLS: the certificate authority of the other side.", rich_help_panel=PROVING),
]


def addresses(words: Iterable[str], names: Iterable[str], option: str) -> dict[str, str]:
    """Return the address of each name from arguments `NAME=ADDRESS`. If there is only one name, the argument may be
    `ADDRESS` alone. Raises UsageError for an unknown name."""
    known = list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for word in words:
        name, equals, address = word.partition("=")
        if not equals and len(known) == 1:
            name, address = known[0], word
        if name not in known:
            what = f"{option} {word} names none of {', '.join(known)}"
            raise UsageError("E-OPTION-VALUE", what, f"write {option} NAME=ADDRESS")
        found[name] = address
    return found


def meeting_point_of(
    kind: str,
    name: str,
    folder: Path | None,
    meet: str | None,
    host: str | None,
    secret_file: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    ca: Path | None = None,
) -> MeetingPoint:
    """Return the meeting point that the options describe. Raises UsageError if options conflict."""
    from hopmeter.hosts.agent.credentials import Credentials
    from hopmeter.interactive.meeting_point import meeting_point_at

    return meeting_point_at(kind, name, folder, meet, host, Credentials(secret_file, cert, key, ca))


def describe_command() -> dict[str, Any]:
    """Return what a report says about this command: its arguments, start time, hopmeter version and machine."""
    from hopmeter.machine import description

    started = datetime.now().astimezone().isoformat(timespec="seconds")
    about: dict[str, Any] = {"command": ["hopmeter", *sys.argv[1:]], "started": started}
    return about | {"hopmeter": hopmeter.__version__, "machine": description.describe()}


def result_path(side: str) -> Path:
    """Return the default result directory of one side of an interactive measurement."""
    return paths.results() / f"by-hand-{time.strftime('%Y%m%d-%H%M%S')}-{side}"
