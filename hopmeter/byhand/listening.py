"""The participant that listens: receives, decodes, verifies, and never waits for ever for what was lost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from hopmeter.byhand.moments import NULL, table
from hopmeter.byhand.participant import Ears, checked, opened
from hopmeter.byhand.plugins import PLUGINS, Expected
from hopmeter.client.frames import Kind, Message
from hopmeter.client.pubsub import Subscriber
from hopmeter.codecs import CodecError, decode
from hopmeter.codecs.packing import unpack

BOUND_S = 120.0
"""For the publisher to import its frameworks."""
LOOK_S = 0.05
QUIET_S = 1.0
"""What has not come so long after the last message is lost."""


def play(ears: Ears, told: dict[str, Any]) -> None:
    """Connects, records what comes, and tells when that is all."""
    expected = Expected(PLUGINS[told["plugin"]].made(told["height"], told["width"]))
    with opened(told) as house:
        ears.expect("bound", BOUND_S)
        subscriber = house.subscriber(told["link"])
        ears.say("ready")
        hearing = Hearing(ears, subscriber, expected, told["skip"])
        try:
            hearing.run()
        finally:  # what was measured is kept, also where the broker ends before the publisher has said so
            np.save(told["rows"], table(hearing.rows))
        ears.say("finished", **hearing.counts())
    ears.say("done", sent=hearing.sent, whole=hearing.sent is not None)


class Hearing:
    """What came over one link."""

    def __init__(self, ears: Ears, subscriber: Subscriber, expected: Expected, skip: int) -> None:
        self._ears, self._subscriber, self._expected, self._skip = ears, subscriber, expected, skip
        self.rows: list[tuple[int, ...]] = []
        self.sent: int | None = None
        """Messages that the publisher sent after those to skip; None as long as it has not said."""
        self._seen: set[int] = set()
        self._proved = False

    def run(self) -> None:
        """Until everything has come, or nothing comes any more."""
        last = time.monotonic()
        while not self._ears.over.is_set():
            message = self._subscriber.message(LOOK_S)
            if message is not None:
                self._take(message)
                last = time.monotonic()
            elif (told := self._ears.heard()) is not None:
                self.sent = int(checked(told, "sent")["count"])
                last = time.monotonic()
            if self.sent is not None and (self._all_here() or time.monotonic() - last > QUIET_S):
                return

    def _all_here(self) -> bool:
        return self.sent is not None and sum(number >= 0 for number in self._seen) >= self.sent

    def _take(self, message: Message) -> None:
        if message.kind == Kind.PROBE and not self._proved:
            self._proved = True
            self._ears.say("proved")
        elif message.kind == Kind.OBJECT:
            number = message.number - self._skip
            decoded_ns, wrong = self._judged(message)
            times = (message.due_ns, message.sent_ns, NULL, NULL, message.arrived_ns, decoded_ns)
            self._seen.add(number)
            self.rows.append((number, *times, int(wrong)))

    def _judged(self, message: Message) -> tuple[int, bool]:
        """When it was decoded, and whether it is wrong; comparing comes after the time is taken."""
        try:
            obj = decode(unpack(message.payload))
        except CodecError:
            return NULL, True
        decoded_ns = time.monotonic_ns()
        return decoded_ns, not self._expected.is_met(message.payload, obj)

    def counts(self) -> dict[str, int]:
        """What the publisher is told."""
        measured = [row for row in self.rows if row[0] >= 0]
        return {"received": len({row[0] for row in measured}), "wrong": sum(row[-1] for row in self.rows)}
