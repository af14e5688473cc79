"""Represents a ROS 2 message definition: the names, types, bounds and defaults of the fields."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

INTEGERS = {f"{sign}int{bits}": (bits, not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""The integer types: their number of bits, and whether they are signed."""
OCTETS = ("byte", "char")
"""The types that ROS 2 encodes as an unsigned 8-bit integer."""
SIZES = {"bool": 1, "float32": 4, "float64": 8, "byte": 1, "char": 1} | {
    name: bits // 8 for name, (bits, _) in INTEGERS.items()
}
"""The size in bytes of each primitive type with a fixed size."""
STRING, WIDE = "string", "wstring"
PRIMITIVES = (*SIZES, STRING, WIDE)
PLACEHOLDER = "structure_needs_at_least_one_member"
"""The field that ROS 2 adds to a message without fields."""

REQUEST, RESPONSE = "_Request", "_Response"
"""The name suffixes of a service's two messages."""


def is_service(name: str) -> bool:
    """Return whether a full name is the name of a service, such as `nav_msgs/srv/GetMap`."""
    return name.split("/")[1:2] == ["srv"] and not name.endswith((REQUEST, RESPONSE))


def parts_of(name: str) -> list[str]:
    """Return the full name of a message, or the full names of a service's request and response."""
    return [name + REQUEST, name + RESPONSE] if is_service(name) else [name]


@dataclass(frozen=True)
class FieldType:
    """The type of a field in a ROS 2 definition."""

    name: str
    """A primitive type, or a message's full name such as `std_msgs/msg/Header`."""
    text_bound: int = 0
    """The maximum length of a string in bytes, or 0 if the string is unbounded."""
    is_list: bool = False
    """Whether the field is an array or a sequence."""
    length: int = 0
    """The length of an array, or 0 for a sequence."""
    bound: int = 0
    """The maximum length of a sequence, or 0 if the sequence is unbounded."""

    @property
    def is_message(self) -> bool:
        """Return whether the values of the field are ROS 2 messages."""
        return self.name not in PRIMITIVES

    @property
    def text(self) -> str:
        """Return the field's type in the syntax of a `.msg` file."""
        name = "/".join(self.name.split("/msg/")) if self.is_message else self.name
        bounded = f"{name}<={self.text_bound}" if self.text_bound else name
        if not self.is_list:
            return bounded
        return f"{bounded}[{self.length or (f'<={self.bound}' if self.bound else '')}]"


@dataclass(frozen=True)
class Field:
    """A field of a message."""

    name: str
    type: FieldType
    default: Any = None
    """The default value, or a tuple of values. None stands for zero."""
    line: int = 0
    """The field's line in its definition, or 0 for a field that the definition does not contain."""


@dataclass(frozen=True)
class Definition:
    """The fields of a message. Constants are omitted, because messages do not contain them."""

    name: str
    """The full name, such as `nav_msgs/msg/Odometry`, or `nav_msgs/srv/GetPlan_Request` for a service's request."""
    fields: tuple[Field, ...]

    def messages(self) -> list[Field]:
        """Return the fields that are messages or lists of messages."""
        return [field for field in self.fields if field.type.is_message]

    def as_json(self) -> dict[str, Any]:
        """Return the message's name and each field's name and type as data that JSON can represent. The default
        values of the fields are omitted."""
        return {"name": self.name, "fields": [[field.name, *astuple(field.type)] for field in self.fields]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Definition:
        """Create a definition from the plain data that `as_json` returned. The created definition has no default
        values."""
        return Definition(data["name"], tuple(Field(name, FieldType(*kind)) for name, *kind in data["fields"]))
