"""Where two commands meet, and where their participants do: in a folder of one machine, or over a network.

On two machines there is no folder that both see. Each command has one of its own then, and what is bound in it is
told to the other one (`hopmeter.client.remote_registry`), so that participants find each other as they do on one
machine.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hopmeter.byhand import clocks, meeting, network
from hopmeter.byhand.wire import Said, Wire
from hopmeter.client.errors import ConnectError
from hopmeter.client.remote_registry import Mirror
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.runtime.signals import Alarm

Door = meeting.Door | network.Door


@dataclass(frozen=True)
class Here:
    """What participants of one command are told."""

    folder: Path
    host: str | None = None
    """This machine's address, where others are on another one."""


@dataclass(frozen=True)
class Where:
    """What was asked on the command line."""

    folder: Path | None = None
    meet: network.Endpoint | None = None
    host: str | None = None

    @contextmanager
    def door(self, kind: str, name: str) -> Iterator[Door]:
        """The end that others come to, closed for certain."""
        opened = network.Door(self.meet, kind, name) if self.meet else meeting.Door(self.folder, kind, name)
        try:
            yield opened
        finally:
            opened.close()

    def entered(self, kind: str, name: str, within_s: float, alarm: Alarm) -> Wire:
        """A wire to that door, as soon as it is open."""
        if self.meet is None:
            return meeting.entered(self.folder, kind, name, within_s, alarm)
        return network.entered(self.meet, kind, name, within_s, alarm)

    @contextmanager
    def bound(self) -> Iterator[Here]:
        """For the end that has the door: it binds where the door is, unless told otherwise."""
        host = network.own(self.host or self.meet.host) if self.meet else None
        with self._folder() as folder:
            yield Here(folder, host)

    @contextmanager
    def reached(self, wire: Wire) -> Iterator[Here]:
        """For the end that has come: it binds where it left this machine, unless told otherwise."""
        host = (network.own(self.host) if self.host else wire.own_host) if self.meet else None
        with self._folder() as folder:
            yield Here(folder, host)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """The folder that both commands see, or a fresh one of this command alone, which is removed."""
        shared = Rendezvous(self.folder, "by-hand")
        if self.meet is None:
            yield shared.folder
            return
        shared.sweep()
        name = f"away_{secrets.token_hex(4)}"
        record = shared.claim(name, "folder", 0, {}, ())
        folder = Path(record.directory) / "ends"  # the private folder itself stays locked by its owner
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shared.retract(name, "folder", record)


@contextmanager
def joined(wire: Wire, here: Here) -> Iterator[None]:
    """While entered, the other end is told the time, and both folders are as one where there are two machines."""
    clocks.answering(wire)
    if here.host is None:
        yield
        return
    mirror = Mirror(here.folder, wire.say)
    wire.aside |= {"opened": lambda said: _adopt(mirror, wire, said), "closed": mirror.remove_end}
    try:
        yield
    finally:
        mirror.close()


def _adopt(mirror: Mirror, wire: Wire, said: Said) -> None:
    """Whoever offers what makes no sense is spoken to no more."""
    try:
        mirror.add_end(said)
    except ConnectError:
        wire.hung_up = True
