"""Encodes the user's classes: dataclasses, named tuples and enumerations.

The receiver must register the classes that it accepts, because a name in a frame never imports a module or runs code.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Iterable
from typing import Any, TypeVar

from hopmeter.codecs import reading
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import by_root

Kind = TypeVar("Kind", bound=type)
OWN_STATE = ("__dict__", "__weakref__")
IS_PYTHON = 1 << 9
"""The type flag of classes that a class statement created. Most types that are implemented in C lack this flag."""

_known: dict[str, type] = {}


def name_of(kind: type) -> str:
    """Return the name by which frames refer to a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def category(kind: type) -> str:
    """Return `enum`, `namedtuple` or `dataclass`, or an empty string for any other class."""
    if issubclass(kind, enum.Enum):
        return "enum"
    if issubclass(kind, tuple) and type(getattr(kind, "_fields", None)) is tuple:
        return "namedtuple"
    return "dataclass" if dataclasses.is_dataclass(kind) else ""


def register(kind: Kind, name: str | None = None) -> Kind:
    """Register a dataclass, named tuple or enumeration that may be received, and return the class. `register` can be
    used as a decorator.

    Frames refer to the class by `name`, or by default by the class's own name. Raises CodecError if the class is not a
    dataclass, named tuple or enumeration.
    """
    if not isinstance(kind, type) or not category(kind):
        raise CodecError(
            "E-NO-FORM", f"{kind!r} is not a dataclass, named tuple or enumeration", "decorate it with `@dataclass`"
        )
    _known[name or name_of(kind)] = kind
    reading.forget()
    return kind


@functools.lru_cache(1024)
def field_names(kind: type) -> tuple[str, ...]:
    """Return the field names of a dataclass or named tuple, or an empty tuple for an enumeration."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(getattr(kind, "_fields", ()))


def registered_type(name: str, fields: list[str], tag: str = "dataclass") -> type:
    """Return the class that was registered under a name.

    Raises CodecError if the category or fields of the registered class differ from the sender's class.
    """
    kind = _known.get(name)
    if kind is None or category(kind) != tag:
        raise CodecError(
            "E-DATACLASS-UNKNOWN",
            f"the {tag} {name[:80]} is unknown here",
            "call `hopmeter.codecs.register` with it",
        )
    if list(field_names(kind)) != fields:
        raise CodecError(
            "E-DATACLASS-FIELDS",
            f"the {tag} {name[:80]} has other fields here",
            "use the same version of your program on both sides",
        )
    return kind


def field_values(obj: Any) -> list[tuple[str, Any]]:
    """Return the names and values of an instance's fields. Raises CodecError if the instance contains data outside its
    fields."""
    kind: Any = type(obj)
    names = field_names(kind)
    extra = sorted((vars(obj).keys() if hasattr(obj, "__dict__") else set()) - set(names) - _derived_names(kind))
    if extra or not _has_only_fields(kind):
        more = f"the attribute {extra[0]!r}" if extra else "the contents of a base class"
        raise loss(kind, more, "make it a field")
    if isinstance(obj, tuple):
        if len(obj) != len(names):
            raise loss(kind, "the number of values", "send `tuple(it)`")
        return list(zip(names, obj, strict=True))
    try:
        return [(name, getattr(obj, name)) for name in names]
    except AttributeError as cause:
        raise CodecError(
            "E-NO-FORM", f"a field of {name_of(kind)} has no value: {cause}", "set every field before you send it"
        ) from cause


def loss(kind: type, what: str, remedy: str) -> CodecError:
    """Return the error for an object that would lose `what`, such as an attribute, if it were encoded."""
    return CodecError("E-NO-FORM", f"{what} of an object of {name_of(kind)} would be lost", remedy)


@functools.lru_cache(1024)
def _derived_names(kind: type) -> frozenset[str]:
    """Return the names of a class's cached properties, which are computed from the fields."""
    found = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    return frozenset(name for name, value in found.items() if isinstance(value, functools.cached_property))


@functools.lru_cache(1024)
def _has_only_fields(kind: type) -> bool:
    """Return whether the base classes store no data other than the fields. Other data may be in slots, or in C
    structures (as in `list`)."""
    allowed = (object, tuple) if category(kind) == "namedtuple" else (object,)
    bases = [base for base in kind.__mro__ if base not in allowed]
    slots = {name for base in bases for name in _slots(base)}
    in_c = any(not base.__flags__ & IS_PYTHON or base.__module__ in by_root() for base in bases)
    return not in_c and slots <= {*field_names(kind), *OWN_STATE}


def _slots(base: type) -> Iterable[str]:
    slots = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def new_instance(kind: type, fields: Iterable[tuple[str, Any]]) -> Any:
    """Return an instance with the given field values, without running `__init__`, `__new__` or `__post_init__`."""
    if issubclass(kind, tuple):
        return tuple.__new__(kind, [value for _, value in fields])
    instance: Any = object.__new__(kind)
    for name, value in fields:
        object.__setattr__(instance, name, value)
    return instance


def member(kind: Any, name: str, value: Any) -> Any:
    """Return an enumeration member by its name. Raises CodecError if the member's value differs from the value that was
    sent."""
    found = kind.__members__.get(name)
    if found is None or found.name != name or type(found.value) is not type(value) or found.value != value:
        raise CodecError(
            "E-DATACLASS-FIELDS",
            f"the enum {name_of(kind)[:80]} has no member {name[:40]} with this value here",
            "use the same version of your program on both sides",
        )
    return found
