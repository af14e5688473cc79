"""One plugin over one middleware: this command's participant and the other's, and what they say to each other."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from hopmeter.byhand.child import Child
from hopmeter.byhand.clocks import Clocks
from hopmeter.byhand.wire import GoneError, Said, Wire, wait
from hopmeter.messages import tag
from hopmeter.runtime.signals import Alarm

RELAYED = ("bound", "ready", "proved", "sent", "finished", "failed")
LOOK_S = 1.0
ENDING_S = 60.0
"""How long one participant may still take when the other has ended."""


@dataclass
class Spoken:
    """The last message of each kind, of the participant here and of the one there."""

    here: dict[str, Said] = field(default_factory=dict)
    there: dict[str, Said] = field(default_factory=dict)
    left: bool = False
    """Whether the other command has gone."""

    @property
    def failed(self) -> Said | None:
        """What failed first: of two, one does so because the other did."""
        own, other = self.here.get("failed"), self.there.get("failed")
        return other if other and (own is None or own.get("kind") == "GoneError") else own

    @property
    def status(self) -> str:
        """`ok`, `missing` where something is not installed, or `failed`."""
        if self.failed and self.failed.get("kind") == "MissingError":
            return "missing"
        return "failed" if self.failed or self.left else "ok"

    @property
    def failure(self) -> str:
        """What went wrong, with its remedy; empty where nothing did."""
        if self.left:
            return tag("E-PEER-GONE", "the other end has left")
        first = self.failed
        if first is None:
            return ""
        remedy = f" ({first['remedy']})" if first.get("remedy") else ""
        there = "there: " if first is self.there.get("failed") else ""
        return tag(str(first.get("code") or "E-PEER-FAILED"), f"{there}{first['error']}{remedy}")


class Pair:
    """Carries messages between the two, until both have ended."""

    def __init__(self, number: int, child: Child, peer: Wire, alarm: Alarm, clocks: Clocks | None = None) -> None:
        self._number, self._child, self._peer, self._alarm = number, child, peer, alarm
        self._clocks = clocks
        """The other machine's, looked at before messages go and after."""
        self.spoken = Spoken()
        self._ended_here = self._ended_there = False
        self._deadline = math.inf

    def run(self) -> None:
        """Raises InterruptedRunError once the alarm has rung."""
        if self._clocks is not None:
            self._clocks.look()
        while not (self._ended_here and self._ended_there):
            open_ends = [each for each in (self._child.wire, self._peer) if not each.hung_up]
            wait(open_ends, LOOK_S, self._alarm)
            self._hear_child()
            self._hear_peer()
            self._end_in_time()

    def _end_in_time(self) -> None:
        """A library that does not let go of what it opened must not hold up everything."""
        if self._ended_there and self._deadline == math.inf:
            self._deadline = time.monotonic() + ENDING_S
        if time.monotonic() > self._deadline:
            self._child.kill()

    def _hear_child(self) -> None:
        wire = self._child.wire
        while (message := wire.heard()) is not None:
            self._said_here(message)
        if wire.hung_up and not self._ended_here:
            self._ended_here = True
            if not {"done", "failed"} & self.spoken.here.keys():
                why = self._child.tail() or "it said nothing"
                self._said_here(
                    {"say": "failed", "error": f"the participant has ended: {why}", "remedy": "", "kind": ""}
                )
            if self._clocks is not None:
                self._clocks.look()
            self._peer.say(say="ended", pair=self._number)

    def _said_here(self, message: Said) -> None:
        self.spoken.here[message["say"]] = message
        if message["say"] in RELAYED:
            self._peer.say(say="relay", pair=self._number, message=message)

    def _hear_peer(self) -> None:
        while not self._ended_there and (message := self._peer.heard()) is not None:
            if message.get("pair") == self._number:
                self._said_there(message)
        if self._peer.hung_up and not self._ended_there:
            self.spoken.left = self._ended_there = True
            self._child.release()

    def _said_there(self, message: Said) -> None:
        if message["say"] == "ended":
            self._ended_there = True
        elif message["say"] == "relay" and isinstance(relayed := message.get("message"), dict):
            self.spoken.there[str(relayed.get("say"))] = relayed
            if relayed.get("say") in RELAYED:
                self._child.wire.say(**relayed)


def agreed(peer: Wire, mine: dict[str, Any], within_s: float, alarm: Alarm) -> dict[str, Any]:
    """What the other command says of itself, after this one has said the same."""
    peer.say(say="hello", **mine)
    said = peer.expect("hello", within_s=within_s, alarm=alarm)
    if said.get("version") != mine["version"]:
        raise GoneError(
            "E-VERSIONS-DIFFER", "the other end is another version of hopmeter", "use one version at both ends"
        )
    return said
