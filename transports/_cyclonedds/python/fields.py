"""What the fields of all messages over Cyclone DDS have in common in Python; ../cpp/message.hpp has it for C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from cyclonedds.idl import IdlStruct
from cyclonedds.idl._machinery import BytesMachine

from hopmeter.node.contract import Setup
from hopmeter.node.typed import sent_of

SECOND_NS = 1_000_000_000

Struct = TypeVar("Struct", bound=IdlStruct)


class Stamp(Protocol):
    sec: Any
    nanosec: Any


def moment(header: bytearray) -> tuple[int, int]:
    """When a frame was sent, in seconds and nanoseconds, as ROS has them."""
    return divmod(sent_of(header), SECOND_NS)


def nanoseconds(stamp: Stamp) -> int:
    return int(stamp.sec * SECOND_NS + stamp.nanosec)


def shape(setup: Setup) -> tuple[int, int, str, int, int]:
    """What never changes of a picture: height, width, encoding, whether it is big-endian, and bytes a row."""
    return setup.height, setup.width, "rgb8", 0, 3 * setup.width


def whole(field: str) -> Callable[[type[Struct]], type[Struct]]:
    """A decorator that has a field of octets written and read as `bytes`, and the same on the wire.

    The binding makes an integer of each octet of a sequence. It has `bytes` too, but cannot describe such a field to
    peers; so the type stays what it was, and only what writes and reads the field is the other's.
    """

    def of(struct: type[Struct]) -> type[Struct]:
        struct.__idl__.populate()
        for machine in (struct.__idl__.v1_machine, struct.__idl__.v2_machine):
            machine.members_machines[field] = BytesMachine()
        return struct

    return of
