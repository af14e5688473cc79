"""Runs in a Python with rclpy: encodes messages of ROS 2 as rclpy does, and reads those that hopmeter encoded.

Gets on standard input a list of [name, values, hopmeter's bytes], and prints for each the bytes of rclpy for the
values, and for what it decodes from hopmeter's bytes.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import AbstractNestedType, BasicType, NamespacedType


def message_class(name: str) -> Any:
    """Return the class of a message, or of a service's part: `std_srvs/srv/SetBool_Request`."""
    package, kind, words = name.split("/")
    found: Any = importlib.import_module(f"{package}.{kind}")
    for word in words.split("_"):
        found = getattr(found, word)
    return found


def make(kind: Any, values: dict[str, Any]) -> Any:
    message = kind()
    for (field, slot), type_ in zip(message.get_fields_and_field_types().items(), kind.SLOT_TYPES, strict=True):
        setattr(message, field, convert(type_, values[field], slot))
    return message


def convert(type_: Any, value: Any, slot: str) -> Any:
    if isinstance(type_, AbstractNestedType):
        return [convert(type_.value_type, each, slot) for each in value]
    if isinstance(type_, NamespacedType):
        return make(message_class("/".join([*type_.namespaces, type_.name])), value)
    if isinstance(type_, BasicType) and type_.typename == "octet":
        return bytes([value])
    return value


found = []
for name, values, ours in json.load(sys.stdin):
    kind = message_class(name)
    read = deserialize_message(bytes.fromhex(ours), kind)
    found.append([serialize_message(make(kind, values)).hex(), serialize_message(read).hex()])
json.dump(found, sys.stdout)
