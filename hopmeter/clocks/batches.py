"""Batches of clock exchanges: their stamps, and the offset that they show with its bound."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hopmeter._instrument import clock_batch
from hopmeter.errors import HopmeterError

MOST_NS = 1 << 60
"""The latest time that a clock may show; sums and differences of some of them fit into 64 bits."""
ROUND_TRIP_S = 1.0
"""The longest round trip between two hosts whose clocks can be compared."""
MOST_EXCHANGES = 64
"""The most exchanges that a stored batch may have; the instrument retains fewer."""

Time = Annotated[int, Field(ge=-MOST_NS, le=MOST_NS)]
Count = Annotated[int, Field(ge=0, le=MOST_NS)]
Name = Annotated[str, Field(min_length=1, max_length=255)]


class ClockError(HopmeterError):
    """The clocks of two hosts cannot be compared."""


class Received(BaseModel):
    """Values from another host or from a file; what cannot be true raises ValueError."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Exchange(Received):
    """Four stamps: asked and answered by the clock of the asker, received and sent by that of the responder."""

    asked_ns: Time
    received_ns: Time
    sent_ns: Time
    answered_ns: Time
    error_ns: Count
    """What the error of the offset may be beyond half of the round trip."""
    kernel_stamps: Count
    """How many of the four stamps are those of the kernel."""

    @model_validator(mode="after")
    def _check(self) -> Exchange:
        if self.round_trip_ns < 0:
            raise ValueError("the datagrams arrived before they were sent")
        return self

    @property
    def round_trip_ns(self) -> int:
        """The time that both datagrams travelled."""
        return self.answered_ns - self.asked_ns - (self.sent_ns - self.received_ns)

    @property
    def at_ns(self) -> int:
        """The middle of the exchange by the clock of the asker."""
        return (self.asked_ns + self.answered_ns) // 2

    @property
    def offset_ns(self) -> int:
        """How far the responder's clock is ahead of the asker's."""
        return (self.received_ns - self.asked_ns + self.sent_ns - self.answered_ns) // 2

    @property
    def bound_ns(self) -> int:
        """The most by which the offset may be wrong: half of the round trip, if one direction took all of it."""
        return (self.round_trip_ns + 1) // 2 + 1 + self.error_ns


class Batch(Received):
    """What one batch found: the exchanges with the least round trips, the least first."""

    session: Name
    """The measuring process: after a restart another one may follow, and hosts may have other clocks then."""
    asker: Name
    responder: Name
    asked: Count
    answered: Count
    impossible: Count
    """Exchanges whose stamps contradict each other, because a clock was set in the meantime."""
    median_round_trip_ns: Count
    best: Annotated[tuple[Exchange, ...], Field(strict=False, min_length=1, max_length=MOST_EXCHANGES)]

    @property
    def least(self) -> Exchange:
        """The exchange with the least bound."""
        return min(self.best, key=lambda each: each.bound_ns)


def measure_batch(session: str, asker: str, responder: str, address: tuple[str, int], token: bytes) -> Batch:
    """Ask a responder for its clock, from this host. Raises ClockError if it does not answer."""
    try:
        found = clock_batch(*address, token, patience_s=ROUND_TRIP_S)
    except OSError as cause:
        raise ClockError(
            "E-CLOCK-SILENT",
            f"the clock of host {responder} cannot be read from host {asker}: {cause}",
            "let datagrams (UDP) pass between the hosts in both directions",
        ) from cause
    return Batch.model_validate(found | {"session": session, "asker": asker, "responder": responder})
