"""`hopmeter ask`: servers found, and asked at once or in turn by a participant on the Python that they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.byhand import brokers
from hopmeter.byhand.asking import ALL, COLUMNS
from hopmeter.byhand.child import Child, command
from hopmeter.byhand.servers import LOOK_S, OPENED_S, heard
from hopmeter.byhand.where import Here, Where, joined
from hopmeter.byhand.wire import Said, Wire, wait
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.images import Source, decoded
from hopmeter.images.source import Size
from hopmeter.manifest.discovery import find_transports
from hopmeter.manifest.model import Manifest
from hopmeter.model.units import work
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir, sweep

LAST_CALL_S = 8.0
"""For the calls that are under way when somebody presses Ctrl-C."""


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
    """What came of it."""

    rows: Any
    """Of asking.COLUMNS."""
    servers: list[dict[str, str]]
    """`name`, `transport` and `work` of each."""
    elapsed_ns: int
    size: Size
    """Of each frame."""
    ideal_ns: int | None
    """How long a frame would take if nothing but work took time; None where that is not known."""
    works_ns: list[float] | None
    """That of each server; None where calls wait for one another, or work has no length."""
    pictures: str = ""
    """What came out of a file."""
    failure: str = ""
    interrupted: bool = False

    def of(self, server: int = ALL) -> Any:
        """The rows of one server, by its place, or of all of them together."""
        return self.rows[self.column("server") == server]

    def took_ns(self, server: int = ALL) -> Any:
        """How long one server took for each frame, or all of them together."""
        rows = self.of(server)
        return rows[:, COLUMNS.index("ended_ns")] - rows[:, COLUMNS.index("began_ns")]

    def column(self, name: str) -> Any:
        """One of asking.COLUMNS."""
        return self.rows[:, COLUMNS.index(name)]

    @property
    def wrong(self) -> int:
        """Replies that were not the frame that was sent."""
        return int(self.of()[:, COLUMNS.index("wrong")].sum())


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


def ask(asking: Asking, began: Callable[[], object]) -> Answers:
    """Asks the servers; `began` is called when what is measured begins.

    Raises HopmeterError where one is not there or they need Pythons that differ.
    """
    sweep()
    with Alarm() as alarm, ScratchDir() as ground, ExitStack() as leaving:
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
            said = _done(child, [host.wire for host in hosts], alarm, began)
        return _answers(asking, hosts, works, said, told, shown)


def _answers(
    asking: Asking,
    hosts: Sequence[Host],
    works: Sequence[dict[str, Any]],
    said: Said,
    told: dict[str, Any],
    shown: decoded.Decoded | None,
) -> Answers:
    known = zip(asking.names, hosts, strict=True)
    servers = [{"name": name, "transport": host.manifest.name, "work": str(host.said["work"])} for name, host in known]
    works_ns = _alone_ns(asking, works)
    ideal_ns = None if works_ns is None else round(sum(works_ns) if asking.in_turn else max(works_ns))
    return Answers(
        np.load(told["rows"]),
        servers,
        said["elapsed_ns"],
        (told["width"], told["height"]),
        ideal_ns,
        works_ns,
        decoded.describe(shown.facts) if shown else "",
        said["failure"],
        bool(said.get("interrupted")),
    )


def _decoded(asking: Asking, ground: ScratchDir, alarm: Alarm) -> decoded.Decoded | None:
    """The frames of a file, before anybody is asked. PictureError where it shows nothing."""
    if asking.source is None:
        return None
    return decoded.decode(asking.source, asking.frames, ground.directory / "frames.rgb8", alarm.check)


def _done(child: Child, wires: Sequence[Wire], alarm: Alarm, began: Callable[[], object]) -> Said:
    """What the asking participant says at its end; also where it is interrupted, unless a call does not end. Servers'
    commands are heard meanwhile."""
    try:
        return _until_done(child, wires, alarm, began)
    except InterruptedRunError:
        child.release()
        try:
            return _last(child) | {"interrupted": True}
        except HopmeterError as cut:
            raise InterruptedRunError from cut


def _last(child: Child) -> Said:
    said = heard(child.wire.expect("asking", "done", "failed", within_s=LAST_CALL_S))
    return said if said["say"] == "done" else _last(child)


def _until_done(child: Child, wires: Sequence[Wire], alarm: Alarm, began: Callable[[], object]) -> Said:
    while True:
        wait([child.wire, *(wire for wire in wires if not wire.hung_up)], LOOK_S, alarm)
        for wire in wires:
            wire.heard()
        if (said := child.wire.heard()) is not None:
            if heard(said)["say"] == "done":
                return said
            began()
        if child.wire.hung_up:
            raise HopmeterError("E-PARTICIPANT-DIED", f"the participant that asks has ended: {child.tail()}")


def _introduced(asking: Asking, name: str, alarm: Alarm, leaving: ExitStack) -> Host:
    where = asking.where[name]
    wire = leaving.enter_context(closing(where.entered("server", name, asking.within_s, alarm)))
    here = leaving.enter_context(where.reached(wire))
    leaving.enter_context(joined(wire, here))
    said = wire.expect("server", within_s=OPENED_S, alarm=alarm)
    transport = str(said["transport"])
    return Host(wire, said, here, find_transports([transport])[transport])


def _refuse_apart(manifests: Sequence[Manifest], found: Sequence[brokers.Broker]) -> None:
    """One process asks all servers, on one Python and with one environment."""
    if len({tuple(command(one.offers["python"])) for one in manifests}) > 1:
        which = ", ".join(dict.fromkeys(one.name for one in manifests))
        raise UsageError(
            "E-SERVERS-DIFFER", f"these servers' transports need Pythons that differ: {which}", "ask them one by one"
        )
    if len({tuple(sorted(each.environment.items())) for each in found}) > 1:
        raise UsageError(
            "E-SERVERS-DIFFER", "these servers have masters of their own", "serve them all with one: --daemon ADDRESS"
        )


def _lengths_ns(asking: Asking, works: Sequence[dict[str, Any]]) -> list[float]:
    """How long each server works on a call; work that is measured in bytes has no length."""
    return [int(each.get("ns", 0)) * asking.coef for each in works]


def _alone_ns(asking: Asking, works: Sequence[dict[str, Any]]) -> list[float] | None:
    """Those lengths for one thread: several wait for one another at each server, now more and now less."""
    if asking.threads > 1 or not all("ns" in each or each["kind"] == "none" for each in works):
        return None
    return _lengths_ns(asking, works)


def _told(asking: Asking, servers: Sequence[dict[str, Any]], ground: ScratchDir, work_ns: float) -> dict[str, Any]:
    options = {name: getattr(asking, name) for name in ("frames", "coef", "threads", "in_turn")}
    return {
        "role": "ask",
        "servers": servers,
        "rows": str(ground.directory / "rows.npy"),
        "patience_s": work_ns / 1e9 * asking.threads,
        **options,
    }
