"""What the fields of all messages over Cyclone DDS have in common in Python; ../cpp/message.hpp has it for C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cyclonedds.idl import IdlStruct
from cyclonedds.idl._machinery import BytesMachine

Struct = TypeVar("Struct", bound=IdlStruct)


def octets_as_bytes(field: str) -> Callable[[type[Struct]], type[Struct]]:
    """Decorate a type so that a field of octets is written and read as `bytes`, with the same bytes on the wire.

    The binding makes an integer of each octet of a sequence. It has `bytes` too, but cannot describe such a field to
    peers; so the type stays the same, and only the code that writes and reads the field is replaced.
    """

    def replace(struct: type[Struct]) -> type[Struct]:
        struct.__idl__.populate()
        for machine in (struct.__idl__.v1_machine, struct.__idl__.v2_machine):
            machine.members_machines[field] = BytesMachine()
        return struct

    return replace
