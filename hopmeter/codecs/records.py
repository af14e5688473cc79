"""Dataclasses that may be received. A name in a frame imports no module and runs no code: the receiver registers its
classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

from hopmeter.codecs import reading
from hopmeter.codecs.errors import CodecError

Kind = TypeVar("Kind", bound=type)

_known: dict[str, type] = {}


def name_of(kind: type) -> str:
    """Return the name that a dataclass has in frames."""
    return f"{kind.__module__}.{kind.__qualname__}"


def register(kind: Kind, name: str | None = None) -> Kind:
    """Allow a dataclass to be received, under `name` or its own name, and return the class; usable as a decorator."""
    if not dataclasses.is_dataclass(kind):
        raise CodecError("E-NO-FORM", f"{kind!r} is not a dataclass", "decorate it with `@dataclass`")
    _known[name or name_of(kind)] = kind
    reading.forget()
    return kind


def registered_type(name: str, fields: list[str]) -> type:
    """Return the registered dataclass, after checking that it has the same fields as the sender's class."""
    kind = _known.get(name)
    if kind is None:
        raise CodecError(
            "E-DATACLASS-UNKNOWN",
            f"the dataclass {name[:80]} is unknown here",
            "call `hopmeter.codecs.register` with it",
        )
    if [field.name for field in dataclasses.fields(kind)] != fields:
        raise CodecError(
            "E-DATACLASS-FIELDS",
            f"the dataclass {name[:80]} has other fields here",
            "use the same version of hopmeter on both sides",
        )
    return kind


def new_instance(kind: type, fields: Iterable[tuple[str, Any]]) -> Any:
    """Return an instance with these field values, without running `__init__` or `__post_init__`."""
    instance: Any = object.__new__(kind)
    for name, value in fields:
        object.__setattr__(instance, name, value)
    return instance
