"""The definition of a ROS 2 message: its fields, each with type, bounds and default."""

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
"""The size in bytes of each fixed-size type."""
STRING, WIDE = "string", "wstring"
PRIMITIVES = (*SIZES, STRING, WIDE)
PLACEHOLDER = "structure_needs_at_least_one_member"
"""The field that ROS 2 adds to a message without fields."""

REQUEST, RESPONSE = "_Request", "_Response"
"""The endings of the names of a service's two messages."""


def is_service(name: str) -> bool:
    """Return whether a full name is that of a service, such as `nav_msgs/srv/GetMap`."""
    return name.split("/")[1:2] == ["srv"] and not name.endswith((REQUEST, RESPONSE))


def parts_of(name: str) -> list[str]:
    """Return the full names of the messages of a type: a message's own name, or those of a service's request and
    response."""
    return [name + REQUEST, name + RESPONSE] if is_service(name) else [name]


@dataclass(frozen=True)
class FieldType:
    """The type of a field."""

    name: str
    """A primitive type, or the full name of a message: `std_msgs/msg/Header`."""
    text_bound: int = 0
    """The maximum length of a string in bytes; 0 if it has no bound."""
    is_list: bool = False
    """Whether the field is an array or a sequence."""
    length: int = 0
    """The length of an array; 0 for a sequence."""
    bound: int = 0
    """The maximum length of a sequence; 0 if it has no bound."""

    @property
    def is_message(self) -> bool:
        """Return whether the values are messages."""
        return self.name not in PRIMITIVES

    @property
    def text(self) -> str:
        """Return the type as it is written in a definition."""
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
    """The default value, or tuple of values; None means zero."""
    line: int = 0
    """The line of the field in its definition; 0 for a field that is not written there."""


@dataclass(frozen=True)
class Definition:
    """The fields of a message. Constants are omitted, because they are not sent."""

    name: str
    """The full name: `nav_msgs/msg/Odometry`, or for a service's request `nav_msgs/srv/GetPlan_Request`."""
    fields: tuple[Field, ...]

    def messages(self) -> list[Field]:
        """Return the fields that are messages or lists of messages."""
        return [field for field in self.fields if field.type.is_message]

    def as_json(self) -> dict[str, Any]:
        """Return the name, and the name and type of each field, as plain data; defaults are omitted."""
        return {"name": self.name, "fields": [[field.name, *astuple(field.type)] for field in self.fields]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Definition:
        """Return the definition in plain data from `as_json`; it has no defaults."""
        return Definition(data["name"], tuple(Field(name, FieldType(*kind)) for name, *kind in data["fields"]))
