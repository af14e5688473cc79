"""The definition of a ROS 2 message: its fields, each with type, bounds and default."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

INTEGERS = {f"{sign}int{bits}": (bits, not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""The types of whole numbers: their bits, and whether they have a sign."""
OCTETS = ("byte", "char")
"""The types that ROS 2 sends as a whole number of 8 bits without sign."""
SIZES = {"bool": 1, "float32": 4, "float64": 8, "byte": 1, "char": 1} | {
    name: bits // 8 for name, (bits, _) in INTEGERS.items()
}
"""The bytes of the types of one size."""
STRING, WIDE = "string", "wstring"
PRIMITIVES = (*SIZES, STRING, WIDE)
PLACEHOLDER = "structure_needs_at_least_one_member"
"""The field that ROS 2 sends for a message without fields."""

REQUEST, RESPONSE = "_Request", "_Response"
"""How the names of the two messages of a service end."""


def is_service(name: str) -> bool:
    """Return whether a full name is that of a service: `nav_msgs/srv/GetMap`."""
    return name.split("/")[1:2] == ["srv"] and not name.endswith((REQUEST, RESPONSE))


def parts_of(name: str) -> list[str]:
    """Return the full names of the messages of a type: its own, or those of a service's request and response."""
    return [name + REQUEST, name + RESPONSE] if is_service(name) else [name]


@dataclass(frozen=True)
class FieldType:
    """The type of a field."""

    name: str
    """A primitive type, or the full name of a message: `std_msgs/msg/Header`."""
    text_bound: int = 0
    """The most bytes of a text; 0 without a bound."""
    is_list: bool = False
    """Whether the field has several values: an array or a sequence."""
    length: int = 0
    """The length of an array; 0 for a sequence."""
    bound: int = 0
    """The most values of a sequence; 0 without a bound."""

    @property
    def is_message(self) -> bool:
        """Return whether the values are messages."""
        return self.name not in PRIMITIVES

    @property
    def text(self) -> str:
        """Return the type as a definition writes it."""
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
    """The value, or tuple of values, of a message that does not set the field; None for zero."""
    line: int = 0
    """The line of the definition; 0 for a field that it does not write down."""


@dataclass(frozen=True)
class Definition:
    """The fields of a message that travel. Constants do not."""

    name: str
    """The full name: `nav_msgs/msg/Odometry`; of the request of a service `nav_msgs/srv/GetPlan_Request`."""
    fields: tuple[Field, ...]

    def messages(self) -> list[Field]:
        """Return the fields that are other messages, or lists of them."""
        return [field for field in self.fields if field.type.is_message]

    def as_json(self) -> dict[str, Any]:
        """Return the name and the types of the fields as plain data."""
        return {"name": self.name, "fields": [[field.name, *astuple(field.type)] for field in self.fields]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Definition:
        """Return the definition of plain data, without defaults."""
        return Definition(data["name"], tuple(Field(name, FieldType(*kind)) for name, *kind in data["fields"]))
