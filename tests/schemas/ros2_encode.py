"""Encode ROS 2 messages with rclpy, and decode messages that hopmeter has encoded.

The input is a JSON list of [name, values, hopmeter's bytes]. The output has two results for each entry: the values
encoded by rclpy, and hopmeter's bytes decoded and encoded again by rclpy.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import AbstractNestedType, BasicType, NamespacedType


def message_class(name: str) -> Any:
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
