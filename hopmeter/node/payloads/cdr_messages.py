"""Encodes and decodes a ROS 2 message in CDR with the Python package `rosbags`."""

from __future__ import annotations

import functools
import json
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package
from hopmeter.schemas.library import DEFINITIONS, OBJECT
from hopmeter.schemas.ros2.definition import OCTETS, STRING, Definition, FieldType
from hopmeter.schemas.ros2.wide_texts import UNITS, code_units

EXTRA = "cdr"
ENCAPSULATION = b"\0\1"
"""The first bytes of a message that is encoded as little-endian CDR."""
BASE, NAMED, ARRAY, SEQUENCE = range(1, 5)
"""The numbers by which rosbags identifies kinds of types."""


class CdrMessage:
    """A ROS 2 message that is built from the files in the directory of its codec library."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        definitions = [Definition.from_json(each) for each in json.loads((folder / DEFINITIONS).read_text())]
        self._name = facts["type"]
        self._store = type_store(tuple(definitions))
        self._definitions = {each.name: each for each in definitions}
        self._has_bounds = any(_is_bounded(field.type) for each in definitions for field in each.fields)
        self._object = self.decode_bytes((folder / OBJECT).read_bytes())
        self._bytes = self.encode()

    def encode(self) -> memoryview:
        """Encode the message on every call, and return its bytes."""
        return self._encode(self._object)

    def _encode(self, message: Any) -> memoryview:
        encoded: memoryview = self._store.serialize_cdr(message, self._name, little_endian=True)
        return encoded

    def decode_bytes(self, payload: bytes) -> Any:
        """Decode a payload, and return its message.

        Raises CodecError if the payload is not a message of the expected type.
        """
        try:
            if payload[:2] != ENCAPSULATION:
                raise ValueError("it is not little-endian CDR")
            came = self._store.deserialize_cdr(payload, self._name)
        except Exception as cause:
            raise CodecError("E-UNDECODABLE", f"this is not a message of the schema: {cause}") from cause
        if self._has_bounds:
            self._check_bounds(came, self._name)
        return came

    def _check_bounds(self, message: Any, name: str) -> None:
        """Raise CodecError if a string or a sequence is longer than its bound. rosbags itself does not check bounds."""
        for field in self._definitions[name].fields:
            attribute = f"{field.name}_" if keyword.iskeyword(field.name) else field.name
            kind, value = field.type, getattr(message, attribute)
            values = value if kind.is_list else [value]
            if kind.bound and len(values) > kind.bound:
                raise CodecError("E-UNDECODABLE", f"{field.name} has {len(values)} values, more than {kind.bound}")
            if kind.text_bound and any(len(text.encode()) > kind.text_bound for text in values):
                raise CodecError("E-UNDECODABLE", f"{field.name} is longer than {kind.text_bound} bytes")
            for each in values if kind.is_message else ():
                self._check_bounds(each, kind.name)

    def equals(self, came: Any) -> bool:
        """Return whether a received message equals the message that was sent."""
        return self._encode(came) == self._bytes


@functools.lru_cache(maxsize=64)
def type_store(definitions: tuple[Definition, ...]) -> Any:
    """Return a rosbags type store that contains the given type definitions.

    If a definition uses other definitions, these must precede it.
    """
    store = import_package("rosbags.typesys.store", EXTRA).Typestore()
    described: dict[str, Any] = {
        each.name: ([], [(field.name, _describe(field.type)) for field in each.fields]) for each in definitions
    }
    store.register(described)
    return store


def _describe(kind: FieldType) -> Any:
    # The ROS 2 type `byte` is unsigned, but rosbags treats `byte` as signed.
    name = "uint8" if kind.name in OCTETS else kind.name
    one = (NAMED, name) if kind.is_message else (BASE, (name, kind.text_bound))
    if not kind.is_list:
        return one
    return (ARRAY, (one, kind.length)) if kind.length else (SEQUENCE, (one, kind.bound))


def _is_bounded(kind: FieldType) -> bool:
    return bool(kind.bound or kind.text_bound)


def make_message(definitions: Mapping[str, Definition], name: str, values: Mapping[str, Any]) -> Any:
    """Return a rosbags message whose fields have the given values. If a field is a message of UTF-16 code units, its
    value may be a string."""
    store = type_store(tuple(definitions.values()))
    fields = (_make_field(definitions, field.type, values[field.name]) for field in definitions[name].fields)
    return store.types[name](*fields)


def _make_field(definitions: Mapping[str, Definition], kind: FieldType, value: Any) -> Any:
    if kind.is_message:
        wide = (
            {UNITS: code_units(each)} if isinstance(each, str) else each
            for each in (value if kind.is_list else [value])
        )
        made = [make_message(definitions, kind.name, each) for each in wide]
        return made if kind.is_list else made[0]
    if not kind.is_list or kind.name == STRING:
        return value
    numpy = import_package("numpy", EXTRA)
    return numpy.array(value, "uint8" if kind.name in OCTETS else kind.name)
