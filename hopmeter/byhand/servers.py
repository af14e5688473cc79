"""`hopmeter serve` and `hopmeter ask`: servers that work for a while, asked at once or in turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.byhand import brokers
from hopmeter.byhand.child import Child, command
from hopmeter.byhand.study import settled
from hopmeter.byhand.where import Door, Here, Where, joined
from hopmeter.byhand.wire import GoneError, Said, Wire, wait
from hopmeter.connecting.adapters import away, manifest_of
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.launch.alarm import Alarm
from hopmeter.launch.failure import InterruptedRunError
from hopmeter.launch.ground import Ground, sweep
from hopmeter.manifest.discovery import named
from hopmeter.manifest.model import Manifest
from hopmeter.pictures import Source, decoded
from hopmeter.pictures.source import Size
from hopmeter.scenario.amounts import work

OPENED_S = 60.0
LOOK_S = 1.0
LARGEST_BYTES = 64 << 20


@dataclass(frozen=True)
class Served:
    """What `hopmeter serve` was asked for."""

    name: str
    transport: str
    work: str
    where: Where
    largest_bytes: int
    daemon: str | None = None


def serve(served: Served, ready: Any) -> int:
    """Serves until it is told to end, and answers how many calls that were; `ready` is called when it serves."""
    _checked_work(served.work)
    manifest, offer = manifest_of(settled(served.transport))
    if served.where.meet:
        away(manifest)
    told = {
        "role": "serve",
        "transport": manifest.name,
        "link": served.name,
        "work": served.work,
        "largest_bytes": min(served.largest_bytes, manifest.max_payload_bytes),
    }
    sweep()
    with (
        Alarm() as alarm,
        Ground() as ground,
        served.where.bound() as here,
        served.where.door("server", served.name) as opened,
        brokers.running(manifest, served.daemon, ground.trial(), here.host) as broker,
    ):
        told |= {"folder": str(here.folder), "host": here.host, "daemon": broker.address if manifest.daemon else None}
        with Child(offer, told, ground.trial(), broker.environment) as child:
            _opened(child, alarm)
            ready()
            hello = {"transport": manifest.name, "work": served.work, "broker": broker.told()}
            with closing(Guests(opened, here, alarm, hello)) as guests:
                return _until_interrupted(child, guests, alarm)


def _checked_work(text: str) -> None:
    try:
        asked = work(text)
    except ValueError as wrong:
        raise UsageError(f"--work: {wrong}") from wrong
    if asked["kind"] == "copy" and asked.keys() != {"kind", "bytes"}:
        raise UsageError(f"--work {text} is for scenarios", "by hand a server copies a number of bytes: copy:BYTES")


def _opened(child: Child, alarm: Alarm) -> None:
    try:
        _heard(child.wire.expect("bound", "failed", within_s=OPENED_S, alarm=alarm))
    except GoneError as gone:
        raise HopmeterError(f"the server has ended: {child.tail() or gone.what}", gone.remedy) from gone


def _heard(said: Said) -> Said:
    if said["say"] == "failed":
        raise HopmeterError(str(said["error"]), str(said.get("remedy", "")))
    return said


def _until_interrupted(child: Child, guests: Guests, alarm: Alarm) -> int:
    try:
        while not child.wire.hung_up:
            wait([*guests.sources, child.wire], LOOK_S, alarm)
            guests.greet()
            if (said := child.wire.heard()) is not None:
                _heard(said)
    except InterruptedRunError:
        child.release()
        return int(child.wire.expect("done", within_s=OPENED_S)["calls"])
    raise HopmeterError(f"the server has ended: {child.tail()}", "start it again")


class Guests:
    """Whoever has come: told how to reach the server, and kept for as long as he stays if on another machine."""

    def __init__(self, opened: Door, here: Here, alarm: Alarm, hello: Said) -> None:
        self._door, self._here, self._alarm, self._hello = opened, here, alarm, hello
        self._stay: dict[Wire, ExitStack] = {}

    @property
    def sources(self) -> list[Any]:
        """For `select`."""
        return [self._door, *self._stay]

    def greet(self) -> None:
        """Lets in who is at the door, hears who stays, and lets go of who has left."""
        for guest in list(self._stay):
            guest.heard()
            if guest.hung_up:
                self._stay.pop(guest).close()
        try:
            guest = self._door.admit(0, self._alarm)
        except GoneError:
            return
        with ExitStack() as leaving:
            leaving.enter_context(closing(guest))
            leaving.enter_context(joined(guest, self._here))
            guest.say(say="server", **self._hello)
            if self._here.host is not None:
                self._stay[guest] = leaving.pop_all()

    def close(self) -> None:
        """All have left."""
        for leaving in self._stay.values():
            leaving.close()


@dataclass(frozen=True)
class Asking:
    """What `hopmeter ask` was asked for."""

    names: list[str]
    frames: int
    coef: float
    threads: int
    size: Size
    """Width and height, of a frame that is generated."""
    source: Source | None
    """Where frames come out of a file."""
    in_turn: bool
    where: dict[str, Where]
    """By server."""
    within_s: float


@dataclass(frozen=True)
class Answers:
    """How long it took, in nanoseconds: a row a frame, first all servers together, then each."""

    rows: Any
    transports: list[str]
    elapsed_ns: int
    wrong: int
    size: Size
    """Of each frame."""
    ideal_ns: int | None
    """How long it would take if nothing but work took time; None where that is not known."""
    pictures: str = ""
    """What came out of a file."""
    failure: str = ""


@dataclass(frozen=True)
class Host:
    """A server as the command that asks knows it: the wire to its command, what that said, and where both meet."""

    wire: Wire
    said: Said
    here: Here
    manifest: Manifest

    def broker(self, directory: Path) -> brokers.Broker:
        """The server's broker."""
        own = {"here": self.here.host, "directory": str(directory)} if self.here.host else None
        return brokers.Broker.heard(self.manifest, self.said["broker"], own)

    def told(self, name: str, broker: brokers.Broker) -> dict[str, Any]:
        """What the participant is told of it."""
        where = {"folder": str(self.here.folder), "host": self.here.host}
        return {"transport": self.manifest.name, "link": name, **where, "daemon": self._address(broker)}

    def _address(self, broker: brokers.Broker) -> str | None:
        return broker.address if self.manifest.daemon else None


def ask(asking: Asking) -> Answers:
    """Asks the servers. Raises HopmeterError where one is not there or they need Pythons that differ."""
    sweep()
    with Alarm() as alarm, Ground() as ground, ExitStack() as leaving:
        hosts = [_introduced(asking, name, alarm, leaving) for name in asking.names]
        found = [host.broker(ground.trial()) for host in hosts]
        manifests = [host.manifest for host in hosts]
        _refuse_apart(manifests, found)
        works = [work(str(host.said["work"])) for host in hosts]
        servers = [host.told(name, one) for host, name, one in zip(hosts, asking.names, found, strict=True)]
        shown = _decoded(asking, ground, alarm)
        size = shown.size if shown else asking.size
        told = _told(asking, servers, ground, sum(_lengths_ns(asking, works)))
        told |= {"width": size[0], "height": size[1], "pictures": str(shown.file) if shown else None}
        with Child(manifests[0].offers["python"], told, ground.trial(), found[0].environment) as child:
            said = _done(child, [host.wire for host in hosts], alarm)
        rows = np.load(told["rows"]).reshape(-1, 1 + len(manifests))
        names = [one.name for one in manifests]
        line = decoded.said(shown.facts) if shown else ""
        ideal_ns, failure = _ideal(asking, works), said["failure"]
        return Answers(rows, names, said["elapsed_ns"], said["wrong"], size, ideal_ns, line, failure)


def _decoded(asking: Asking, ground: Ground, alarm: Alarm) -> decoded.Decoded | None:
    """The frames of a file, before anybody is asked. PictureError where it shows nothing."""
    if asking.source is None:
        return None
    return decoded.decode(asking.source, asking.frames, ground.directory / "frames.rgb8", alarm.check)


def _done(child: Child, wires: Sequence[Wire], alarm: Alarm) -> Said:
    """What the asking participant says at its end; it says it also where it is interrupted, unless it hangs. Servers'
    commands are heard meanwhile."""
    while True:
        wait([child.wire, *(wire for wire in wires if not wire.hung_up)], LOOK_S, alarm)
        for wire in wires:
            wire.heard()
        if (said := child.wire.heard()) is not None:
            return _heard(said)
        if child.wire.hung_up:
            raise HopmeterError(f"the participant that asks has ended: {child.tail()}")


def _introduced(asking: Asking, name: str, alarm: Alarm, leaving: ExitStack) -> Host:
    where = asking.where[name]
    wire = leaving.enter_context(closing(where.entered("server", name, asking.within_s, alarm)))
    here = leaving.enter_context(where.reached(wire))
    leaving.enter_context(joined(wire, here))
    said = wire.expect("server", within_s=OPENED_S, alarm=alarm)
    transport = str(said["transport"])
    return Host(wire, said, here, named([transport])[transport])


def _refuse_apart(manifests: Sequence[Manifest], found: Sequence[brokers.Broker]) -> None:
    """One process asks all servers, on one Python and with one environment."""
    if len({tuple(command(one.offers["python"])) for one in manifests}) > 1:
        which = ", ".join(dict.fromkeys(one.name for one in manifests))
        raise UsageError(f"these servers' transports need Pythons that differ: {which}", "ask them one by one")
    if len({tuple(sorted(each.environment.items())) for each in found}) > 1:
        raise UsageError("these servers have masters of their own", "serve them all with one: --daemon ADDRESS")


def _lengths_ns(asking: Asking, works: Sequence[dict[str, Any]]) -> list[float]:
    """How long each server works on a call; work that is measured in bytes has no length."""
    return [int(each.get("ns", 0)) * asking.coef for each in works]


def _ideal(asking: Asking, works: Sequence[dict[str, Any]]) -> int | None:
    """For one thread: several wait for one another at each server, now more and now less."""
    if asking.threads > 1 or not all("ns" in each or each["kind"] == "none" for each in works):
        return None
    lengths = _lengths_ns(asking, works)
    return round(sum(lengths) if asking.in_turn else max(lengths))


def _told(asking: Asking, servers: Sequence[dict[str, Any]], ground: Ground, work_ns: float) -> dict[str, Any]:
    options = {name: getattr(asking, name) for name in ("frames", "coef", "threads", "in_turn")}
    return {
        "role": "ask",
        "servers": servers,
        "rows": str(ground.directory / "rows.npy"),
        "patience_s": work_ns / 1e9 * asking.threads,
        **options,
    }
