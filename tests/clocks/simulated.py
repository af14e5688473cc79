"""Two simulated clocks and a network with known delays, and the batches that the instrument would measure between
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hopmeter.clocks.batches import Batch, Exchange
from hopmeter.clocks.pair_model import Times

SECOND = 10**9
Clock = Callable[[int], int]
"""A function that returns the reading of a clock at a true time."""


def clock(ahead_ns: int = 0, fast_ppm: float = 0.0, jump_ns: int = 0, jump_at_ns: int = 0) -> Clock:
    """Return a clock with a constant offset, a drift, and at most one step."""

    def read(true_ns: int) -> int:
        jumped = jump_ns if true_ns >= jump_at_ns else 0
        return true_ns + ahead_ns + round(true_ns * fast_ppm / 1e6) + jumped

    return read


HERE = clock()


class Network:
    """Random delays between two hosts. One direction may be many times slower than the opposite direction."""

    def __init__(self, seed: int, here: Clock, there: Clock, names: tuple[str, str] = ("alpha", "beta")) -> None:
        self.random = np.random.default_rng(seed)
        self._here, self._there, self._names = here, there, names
        # The delay of each direction is drawn separately from 2 µs to 2 ms: the worst case for a clock estimate.
        self._least_ns = 10 ** self.random.uniform(3.3, 6.3, size=2)

    def delay_ns(self, direction: int) -> int:
        return int(self._least_ns[direction] * (1 + self.random.gamma(0.5, 0.3)))

    def exchange(self, true_ns: int) -> Exchange:
        """Return an exchange that begins at the given true time."""
        received = true_ns + self.delay_ns(0)
        sent = received + int(self.random.integers(1_000, 50_000))
        answered = sent + self.delay_ns(1)
        return Exchange(
            asked_ns=self._here(true_ns),
            received_ns=self._there(received),
            sent_ns=self._there(sent),
            answered_ns=self._here(answered),
            error_ns=(sent - received) // 1000 + 1,
            kernel_stamps=4,
        )

    def batch(self, true_ns: int, session: str = "s") -> Batch:
        """Return a batch that begins at the given true time."""
        found = [self.exchange(true_ns + number * 100_000) for number in range(10)]
        best = sorted(found, key=lambda each: each.round_trip_ns)[:8]
        return Batch(
            session=session,
            asker=self._names[0],
            responder=self._names[1],
            asked=len(found),
            answered=len(found),
            impossible=0,
            median_round_trip_ns=int(np.median([each.round_trip_ns for each in found])),
            best=tuple(best),
        )

    def batches(self, count: int) -> list[Batch]:
        """Return the batches of a run, about five seconds apart."""
        return [self.batch(number * 5 * SECOND + int(self.random.integers(SECOND))) for number in range(count)]


class Plain(Network):
    """The delays of a quiet network: about 20 µs in each direction. One direction may be slower by a fixed time."""

    slower_ns = 0

    def delay_ns(self, direction: int) -> int:
        return 20_000 + direction * self.slower_ns + int(self.random.integers(300))


def array(times: Sequence[int]) -> Times:
    return np.array(times, np.int64)
