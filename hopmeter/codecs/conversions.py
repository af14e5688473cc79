"""Suggests conversions for objects that no codec can represent."""

from __future__ import annotations

import functools

KNOWN = {
    "array.array": "send `numpy.asarray(it)`",
    "builtins.mappingproxy": "send `dict(it)`",
    "collections.ChainMap": "send `dict(it)`",
    "collections.UserDict": "send `dict(it)`",
    "collections.UserList": "send `list(it)`",
    "collections.UserString": "send `str(it)`",
    "collections.defaultdict": "send `dict(it)`: a default factory is a function",
    "builtins.dict_items": "send `list(it)`",
    "builtins.dict_keys": "send `list(it)`",
    "builtins.dict_values": "send `list(it)`",
    "builtins.generator": "send `list(it)`",
    "datetime.tzinfo": "use `zoneinfo.ZoneInfo` or `datetime.timezone`",
    "ipaddress.IPv4Address": "send `str(it)`",
    "ipaddress.IPv6Address": "send `str(it)`",
    "re.Pattern": "send `it.pattern`",
    "types.SimpleNamespace": "send `vars(it)`",
    "time.struct_time": "send `tuple(it)`",
}
"""The suggestion for each type, by the type's qualified name."""
BASES = ("builtins", "collections", "datetime", "decimal", "fractions", "pathlib", "uuid", "zoneinfo")
"""Modules with types that have a codec. Subclasses of these types are rejected, because a subclass may contain more
than its base class."""
OTHERWISE = "send a type of Python, an array or a registered dataclass, or choose a pickle codec by name"


@functools.lru_cache(1024)
def conversion(kind: type) -> str:
    """Return a hint on how to convert objects of the given type, which no codec supports."""
    for base in kind.__mro__[:-1]:
        name = f"{base.__module__}.{base.__qualname__}"
        if name in KNOWN:
            return KNOWN[name]
        if base is not kind and base.__module__ in BASES and not issubclass(kind, BaseException):
            return f"a subclass is not sent as its base class: convert it to `{name.removeprefix('builtins.')}`"
    return OTHERWISE
