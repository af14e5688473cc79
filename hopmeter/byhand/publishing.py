"""The participant that publishes: real objects, on an absolute schedule, to a listener that is proved to be there."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from hopmeter.byhand.moments import NULL, table, until
from hopmeter.byhand.participant import Ears, checked, opened
from hopmeter.byhand.plugins import PLUGINS
from hopmeter.byhand.wire import GoneError, Said
from hopmeter.client.errors import TimedOutError
from hopmeter.client.frames import Kind
from hopmeter.client.pubsub import Publisher
from hopmeter.codecs import encode
from hopmeter.codecs.packing import packed_bytes

LEAST_BYTES = 4096
PROBE_S = 0.02
PROVED_S = 30.0
READY_S = 120.0
"""For the listener to import its frameworks."""
FINISHED_S = 3600.0
"""For a listener that is slower than the schedule; one that fails says so."""
OFFERED_S = 1.0
"""How long one message is offered to a transport that is busy."""
HEAD_START_NS = 50_000_000


def play(ears: Ears, told: dict[str, Any]) -> None:
    """Binds, proves, sends, and tells what was sent; the listener tells when it has what will come."""
    obj = PLUGINS[told["plugin"]].made(told["height"], told["width"])
    largest = max(LEAST_BYTES, packed_bytes(encode(obj)))
    with opened(told, largest_bytes=largest) as house:
        publisher = house.publisher(told["link"])
        ears.say("bound")
        ears.expect("ready", READY_S)
        _prove(ears, publisher)
        rows = _sent(ears, publisher, obj, told)
        np.save(told["rows"], table(rows))
        ears.say("sent", count=len(rows) - told["skip"], accepted=_accepted(rows[told["skip"] :]))
        ears.expect("finished", FINISHED_S)
    ears.say("done")


def _prove(ears: Ears, publisher: Publisher) -> None:
    """Connecting takes some transports a while, in which messages are lost: small ones prove that they arrive."""
    deadline, probe = time.monotonic() + PROVED_S, encode(None)
    while time.monotonic() < deadline and not ears.over.is_set():
        publisher.put(Kind.PROBE, 0, probe, PROVED_S)
        if (message := ears.heard(PROBE_S)) is not None:
            checked(message, "proved")
            return
    raise GoneError("E-NO-PROOF", f"no message reached the listener within {PROVED_S:g} s")


def _sent(ears: Ears, publisher: Publisher, obj: Any, told: Said) -> list[tuple[int, ...]]:
    """A row for each message, those to skip included: they are below zero, where frames, which count from 0, have no
    numbers."""
    rows: list[tuple[int, ...]] = []
    period_ns, start_ns = 1e9 / told["rate"], time.monotonic_ns() + HEAD_START_NS
    for number in range(told["skip"] + told["trials"]):
        due_ns = start_ns + round(number * period_ns)
        until(due_ns, ears.over.is_set)
        if ears.over.is_set():
            break
        rows.append((number - told["skip"], due_ns, *_one(publisher, number, obj, due_ns), NULL, NULL, 0))
    return rows


def _one(publisher: Publisher, number: int, obj: Any, due_ns: int) -> tuple[int, int, int]:
    """When it was sent, encoded and handed over; sent is null where the transport refused it for too long."""
    sent_ns = time.monotonic_ns()
    frames = encode(obj)
    encoded_ns = time.monotonic_ns()
    try:
        publisher.put(Kind.OBJECT, number, frames, OFFERED_S, (due_ns, sent_ns))
    except TimedOutError:
        return NULL, encoded_ns, time.monotonic_ns()
    return sent_ns, encoded_ns, time.monotonic_ns()


def _accepted(rows: list[tuple[int, ...]]) -> int:
    return sum(row[2] != NULL for row in rows)
