"""Batches of clock exchanges: their timestamps, and the clock offset with its error bound."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hopmeter._instrument import clock_batch
from hopmeter.errors import HopmeterError

MOST_NS = 1 << 60
"""The latest time that a clock may show. Sums and differences of a few times up to this limit fit into 64 bits."""
ROUND_TRIP_S = 1.0
"""The longest round trip for which the clocks of two hosts can be compared."""
MOST_EXCHANGES = 64
"""The maximum number of exchanges in a stored batch. The instrument itself stores fewer exchanges."""

Time = Annotated[int, Field(ge=-MOST_NS, le=MOST_NS)]
Count = Annotated[int, Field(ge=0, le=MOST_NS)]
Name = Annotated[str, Field(min_length=1, max_length=255)]


class ClockError(HopmeterError):
    """The clocks of two hosts cannot be compared."""


class Received(BaseModel):
    """A model for values from another host or from a file. The model raises ValueError for impossible values."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Exchange(Received):
    """The four timestamps of one exchange. The asker's clock gives `asked_ns` and `answered_ns`, and the responder's
    clock gives `received_ns` and `sent_ns`."""

    asked_ns: Time
    received_ns: Time
    sent_ns: Time
    answered_ns: Time
    error_ns: Count
    """The possible error of the clock offset, in addition to half of the round trip."""
    kernel_stamps: Count
    """The number of timestamps, among the four, that the kernel took."""

    @model_validator(mode="after")
    def _check(self) -> Exchange:
        if self.round_trip_ns < 0:
            raise ValueError("the datagrams arrived before they were sent")
        return self

    @property
    def round_trip_ns(self) -> int:
        """The total travel time of both datagrams."""
        return self.answered_ns - self.asked_ns - (self.sent_ns - self.received_ns)

    @property
    def at_ns(self) -> int:
        """The midpoint of the exchange on the asker's clock."""
        return (self.asked_ns + self.answered_ns) // 2

    @property
    def offset_ns(self) -> int:
        """By how many nanoseconds the responder's clock is ahead of the asker's clock."""
        return (self.received_ns - self.asked_ns + self.sent_ns - self.answered_ns) // 2

    @property
    def bound_ns(self) -> int:
        """The maximum error of the offset: half of the round trip, plus `error_ns`. The error is largest if one
        direction took the whole round trip."""
        return (self.round_trip_ns + 1) // 2 + 1 + self.error_ns


class Batch(Received):
    """The result of one batch: the exchanges with the shortest round trips, in ascending order of round trip."""

    session: Name
    """The id of the measuring process. After a restart, the process has a different id, and the hosts may have
    different clocks."""
    asker: Name
    responder: Name
    asked: Count
    answered: Count
    impossible: Count
    """The number of exchanges with contradictory timestamps, because a clock was set during the exchange."""
    median_round_trip_ns: Count
    best: Annotated[tuple[Exchange, ...], Field(strict=False, min_length=1, max_length=MOST_EXCHANGES)]

    @property
    def least(self) -> Exchange:
        """The exchange with the smallest error bound."""
        return min(self.best, key=lambda each: each.bound_ns)


def measure_batch(session: str, asker: str, responder: str, address: tuple[str, int], token: bytes) -> Batch:
    """Compare the clock of this host with the clock of a responder. Raises ClockError if the responder does not
    reply."""
    try:
        found = clock_batch(*address, token, patience_s=ROUND_TRIP_S)
    except OSError as cause:
        raise ClockError(
            "E-CLOCK-SILENT",
            f"the clock of host {responder} cannot be read from host {asker}: {cause}",
            "let datagrams (UDP) pass between the hosts in both directions",
        ) from cause
    return Batch.model_validate(found | {"session": session, "asker": asker, "responder": responder})
