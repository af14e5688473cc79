"""`hopmeter serve` and `hopmeter ask`: servers that work for a while, asked at once or in turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopmeter.byhand import brokers
from hopmeter.byhand.child import Child, command
from hopmeter.byhand.meeting import Door, door, entered
from hopmeter.byhand.study import settled
from hopmeter.byhand.wire import GoneError, Said, wait
from hopmeter.connecting.adapters import manifest_of
from hopmeter.connecting.rendezvous import Rendezvous
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.launch.alarm import Alarm
from hopmeter.launch.failure import InterruptedRunError
from hopmeter.launch.ground import Ground, sweep
from hopmeter.manifest.discovery import named
from hopmeter.manifest.model import Manifest
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
    folder: Path | None
    largest_bytes: int
    daemon: str | None = None


def serve(served: Served, ready: Any) -> int:
    """Serves until it is told to end, and answers how many calls that were; `ready` is called when it serves."""
    _checked_work(served.work)
    manifest, offer = manifest_of(settled(served.transport))
    folder = Rendezvous(served.folder, manifest.name).folder
    told = {
        "role": "serve",
        "transport": manifest.name,
        "folder": str(folder),
        "link": served.name,
        "work": served.work,
        "largest_bytes": min(served.largest_bytes, manifest.max_payload_bytes),
    }
    sweep()
    with (
        Alarm() as alarm,
        Ground() as ground,
        door(folder, "server", served.name) as opened,
        brokers.running(manifest, served.daemon, ground.trial()) as broker,
    ):
        told["daemon"] = broker.address if manifest.daemon else None
        with Child(offer, told, ground.trial(), broker.environment) as child:
            _opened(child, alarm)
            ready()
            hello = {"transport": manifest.name, "work": served.work, "broker": broker.told()}
            return _until_interrupted(child, opened, alarm, hello)


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


def _until_interrupted(child: Child, opened: Door, alarm: Alarm, hello: Said) -> int:
    try:
        while not child.wire.hung_up:
            wait([opened, child.wire], LOOK_S, alarm)
            _greet(opened, alarm, hello)
            if (said := child.wire.heard()) is not None:
                _heard(said)
    except InterruptedRunError:
        child.release()
        return int(child.wire.expect("done", within_s=OPENED_S)["calls"])
    raise HopmeterError(f"the server has ended: {child.tail()}", "start it again")


def _greet(opened: Door, alarm: Alarm, hello: Said) -> None:
    """Tells whoever has come how to reach the server."""
    try:
        with closing(opened.admit(0, alarm)) as guest:
            guest.say(say="server", **hello)
    except GoneError:
        return


@dataclass(frozen=True)
class Asking:
    """What `hopmeter ask` was asked for."""

    names: list[str]
    frames: int
    coef: float
    threads: int
    width: int
    height: int
    in_turn: bool
    folder: Path | None
    within_s: float


@dataclass(frozen=True)
class Answers:
    """How long it took, in nanoseconds: a row a frame, first all servers together, then each."""

    rows: Any
    transports: list[str]
    elapsed_ns: int
    wrong: int
    ideal_ns: int | None
    """How long it would take if nothing but work took time; None where that is not known."""
    failure: str = ""


def ask(asking: Asking) -> Answers:
    """Asks the servers. Raises HopmeterError where one is not there or they need Pythons that differ."""
    sweep()
    with Alarm() as alarm, Ground() as ground:
        heard = [_introduced(asking, name, alarm) for name in asking.names]
        manifests = [named([str(each["transport"])])[str(each["transport"])] for each in heard]
        found = [brokers.Broker.heard(one, said["broker"]) for one, said in zip(manifests, heard, strict=True)]
        _refuse_apart(manifests, found)
        works = [work(str(each["work"])) for each in heard]
        told = _told(asking, manifests, found, ground, sum(_lengths_ns(asking, works)))
        with Child(manifests[0].offers["python"], told, ground.trial(), found[0].environment) as child:
            said = _done(child, alarm)
        rows = np.load(told["rows"]).reshape(-1, 1 + len(manifests))
        names = [one.name for one in manifests]
        return Answers(rows, names, said["elapsed_ns"], said["wrong"], _ideal(asking, works), said["failure"])


def _done(child: Child, alarm: Alarm) -> Said:
    """What the asking participant says at its end; it says it also where it is interrupted, unless it hangs."""
    while True:
        wait([child.wire], LOOK_S, alarm)
        if (said := child.wire.heard()) is not None:
            return _heard(said)
        if child.wire.hung_up:
            raise HopmeterError(f"the participant that asks has ended: {child.tail()}")


def _introduced(asking: Asking, name: str, alarm: Alarm) -> Said:
    with closing(entered(asking.folder, "server", name, asking.within_s, alarm)) as guest:
        return guest.expect("server", within_s=OPENED_S, alarm=alarm)


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


def _told(
    asking: Asking, manifests: Sequence[Manifest], found: Sequence[brokers.Broker], ground: Ground, work_ns: float
) -> dict[str, Any]:
    servers = [
        {"transport": one.name, "link": name, "daemon": broker.address if one.daemon else None}
        for one, name, broker in zip(manifests, asking.names, found, strict=True)
    ]
    options = {name: getattr(asking, name) for name in ("frames", "coef", "threads", "width", "height", "in_turn")}
    return {
        "role": "ask",
        "servers": servers,
        "folder": str(Rendezvous(asking.folder, manifests[0].name).folder),
        "rows": str(ground.directory / "rows.npy"),
        "patience_s": work_ns / 1e9 * asking.threads,
        **options,
    }
