"""`hopmeter serve`: a server that works for a while, for whoever comes."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from hopmeter.byhand import brokers
from hopmeter.byhand.child import Child
from hopmeter.byhand.where import Door, Here, Where, joined
from hopmeter.byhand.wire import GoneError, Said, Wire, wait
from hopmeter.client.adapters import away, manifest_of
from hopmeter.errors import HopmeterError, RefusedValueError, UsageError
from hopmeter.model.units import work
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir, sweep

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
    manifest, offer = manifest_of({"ros": "ros1"}.get(served.transport, served.transport))
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
        ScratchDir() as ground,
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
    except RefusedValueError as wrong:
        raise UsageError("E-OPTION-VALUE", f"--work: {wrong.what}") from wrong
    if asked["kind"] == "copy" and asked.keys() != {"kind", "bytes"}:
        raise UsageError(
            "E-OPTION-VALUE", f"--work {text} is for scenarios", "by hand a server copies a number of bytes: copy:BYTES"
        )


def _opened(child: Child, alarm: Alarm) -> None:
    try:
        heard(child.wire.expect("bound", "failed", within_s=OPENED_S, alarm=alarm))
    except GoneError as gone:
        raise HopmeterError(
            "E-PARTICIPANT-DIED", f"the server has ended: {child.tail() or gone.what}", gone.remedy
        ) from gone


def heard(said: Said) -> Said:
    """What a participant said; HopmeterError where that is how it failed."""
    if said["say"] == "failed":
        raise HopmeterError(str(said.get("code") or "E-PEER-FAILED"), str(said["error"]), str(said.get("remedy", "")))
    return said


def _until_interrupted(child: Child, guests: Guests, alarm: Alarm) -> int:
    try:
        while not child.wire.hung_up:
            wait([*guests.sources, child.wire], LOOK_S, alarm)
            guests.greet()
            if (said := child.wire.heard()) is not None:
                heard(said)
    except InterruptedRunError:
        child.release()
        return int(child.wire.expect("done", within_s=OPENED_S)["calls"])
    raise HopmeterError("E-PARTICIPANT-DIED", f"the server has ended: {child.tail()}", "start it again")


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
