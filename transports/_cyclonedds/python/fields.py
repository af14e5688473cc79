"""Lets Python messages over Cyclone DDS use `bytes` for a field of octets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cyclonedds.idl import IdlStruct
from cyclonedds.idl._machinery import BytesMachine

Struct = TypeVar("Struct", bound=IdlStruct)


def octets_as_bytes(field: str) -> Callable[[type[Struct]], type[Struct]]:
    """Return a class decorator for messages: the message reads and writes a field of octets as `bytes`, with the same
    bytes on the wire.

    The binding creates a Python integer for each octet of a sequence. The binding also supports `bytes`, but cannot
    describe a field of this type to peers. The decorator keeps the declared type, and replaces only the code that reads
    and writes the field.
    """

    def replace(struct: type[Struct]) -> type[Struct]:
        struct.__idl__.populate()
        for machine in (struct.__idl__.v1_machine, struct.__idl__.v2_machine):
            machine.members_machines[field] = BytesMachine()
        return struct

    return replace
