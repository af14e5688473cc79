"""A wire between test hosts: one TAP device per namespace, with frames forwarded by a seeded plan."""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

SET_INTERFACE, TAP, NO_PACKET_INFORMATION = 0x400454CA, 0x0002, 0x1000
LARGEST_FRAME = 65_600
MULTICAST = b"\x01\x00\x5e"
"""The hardware address prefix of IPv4 multicast groups."""


@dataclass(frozen=True)
class Way:
    """The treatment of frames from one host to another: delay, loss, duplication."""

    delay_s: float = 0.0
    loss: float = 0.0
    """The share of frames that are dropped."""
    duplication: float = 0.0
    """The share of frames that are duplicated."""
    reordering: float = 0.0
    """The share of frames that are delayed by `late_s`, so that later frames overtake them."""
    late_s: float = 0.005
    cut: bool = False
    multicast: bool = True
    """Whether multicast frames are forwarded."""


class Direction:
    """One direction between two hosts. The fate of frame n depends only on the seed, the hosts, the treatment and n."""

    def __init__(self, seed: int, sender: int, receiver: int, way: Way) -> None:
        self.way = way
        self._random = random.Random(f"{seed} {sender} {receiver}")

    def next_delays(self, frame: bytes = b"") -> tuple[float, ...]:
        """Return the delay of each copy of the next frame that arrives.

        Every frame consumes three random numbers, so a change of treatment does not affect the random numbers of later
        frames.
        """
        lost, twice, late = (self._random.random() for _ in range(3))
        is_blocked = not self.way.multicast and frame.startswith(MULTICAST)
        if self.way.cut or is_blocked or lost < self.way.loss:
            return ()
        delay = self.way.delay_s + (self.way.late_s if late < self.way.reordering else 0.0)
        return (delay,) * (2 if twice < self.way.duplication else 1)


@dataclass(order=True)
class _Waiting:
    due_s: float
    number: int
    receiver: int = field(compare=False)
    frame: bytes = field(compare=False)


class Wire:
    """Forwards frames between TAP devices; `plan` contains the seed and the treatments, by sender and receiver."""

    def __init__(self, taps: list[int], plan: dict[str, Any]) -> None:
        self.taps, self._waiting, self._count = taps, list[_Waiting](), 0
        self._directions = {
            (sender, receiver): Direction(plan["seed"], sender, receiver, Way())
            for sender in range(len(taps))
            for receiver in range(len(taps))
            if sender != receiver
        }
        for sender, receiver, way in plan["ways"]:
            self._directions[sender, receiver].way = Way(**way)

    def change(self, sender: int, receiver: int, way: dict[str, Any]) -> None:
        """Change the treatment of frames that are sent from now on."""
        self.read_frames(self.taps[sender])
        self._directions[sender, receiver].way = Way(**way)

    def read_frames(self, tap: int) -> None:
        """Read a host's outgoing frames, and forward all frames that are due."""
        sender = self.taps.index(tap)
        for frame in _frames(tap):
            now = time.monotonic()
            for receiver in self._receivers(sender, frame):
                for delay in self._directions[sender, receiver].next_delays(frame):
                    self._count += 1
                    heapq.heappush(self._waiting, _Waiting(now + delay, self._count, receiver, frame))
            self.send_due()

    def _receivers(self, sender: int, frame: bytes) -> list[int]:
        """Return the host that the frame addresses, or all other hosts for a broadcast."""
        if frame[0] & 1:
            return [each for each in range(len(self.taps)) if each != sender]
        receiver = frame[5] - 1  # the last byte of a hardware address is the host's number, counted from 1
        return [receiver] if (sender, receiver) in self._directions else []

    def send_due(self) -> float | None:
        """Forward the frames that are due, and return the delay until the next frame is due, or None."""
        while self._waiting:
            left = self._waiting[0].due_s - time.monotonic()
            if left > 0:
                return left
            due = heapq.heappop(self._waiting)
            try:
                os.write(self.taps[due.receiver], due.frame)
            except OSError:  # the device is down, so the frame is lost as on a real wire
                continue
        return None


def _frames(tap: int) -> Iterator[bytes]:
    """Return the host's pending frames, limited to its queue length so that other devices are served in between."""
    for _ in range(1000):
        try:
            yield os.read(tap, LARGEST_FRAME)
        except BlockingIOError:
            return


def open_tap(name: str) -> int:
    """Create a TAP device in the current network namespace; the device disappears when the file is closed."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, SET_INTERFACE, struct.pack("16sH22x", name.encode(), TAP | NO_PACKET_INFORMATION))
    return tap


def run_wire(wire: Wire | None, commands: int) -> None:
    """Forward frames until the input ends. The input contains JSON lines `[sender, receiver, way]`, each of which
    changes a treatment and is answered."""
    watched, rest = [commands, *(wire.taps if wire else [])], b""
    while True:
        left = wire.send_due() if wire else None
        for ready in select.select(watched, [], [], left)[0]:
            if ready != commands:
                assert wire is not None
                wire.read_frames(ready)
                continue
            if not (said := os.read(commands, 65_536)):
                return
            *lines, rest = (rest + said).split(b"\n")
            for line in lines:
                assert wire is not None
                wire.change(*json.loads(line))
                os.write(1, b"{}\n")


def plan(seed: int, ways: dict[tuple[int, int], Way]) -> dict[str, Any]:
    return {"seed": seed, "ways": [[*ends, asdict(way)] for ends, way in ways.items()]}
