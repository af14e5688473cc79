"""Compare two objects strictly: the same types at every level, the same values and the same properties."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import struct
import uuid
import zoneinfo
from collections.abc import Mapping
from typing import Any

import numpy as np


def identical(one: Any, other: Any) -> bool:
    """Return whether two objects are identical, apart from the location and writability of their memory."""
    if type(one) is not type(other):
        return False
    for kinds, compare in _COMPARE:
        if isinstance(one, kinds):
            return bool(compare(one, other))
    return bool(_same_attributes(one, other))


def _floats(one: float, other: float) -> bool:
    return struct.pack("d", one) == struct.pack("d", other)


def _complexes(one: complex, other: complex) -> bool:
    return _floats(one.real, other.real) and _floats(one.imag, other.imag)


def _items(one: Any, other: Any) -> bool:
    limits = getattr(one, "maxlen", None) == getattr(other, "maxlen", None)
    return limits and len(one) == len(other) and all(map(identical, one, other)) and _own(one, other)


def _mappings(one: Any, other: Any) -> bool:
    return _items(list(one.items()), list(other.items()))


def _sets(one: Any, other: Any) -> bool:
    return _items(sorted(one, key=repr), sorted(other, key=repr))


def _zones(one: Any, other: Any) -> bool:
    if isinstance(one, zoneinfo.ZoneInfo):
        return one.key == other.key
    return isinstance(one, dt.timezone) and one.__getinitargs__() == other.__getinitargs__()  # type: ignore[attr-defined]


def _times(one: Any, other: Any) -> bool:
    bare = one.replace(tzinfo=None) == other.replace(tzinfo=None)
    return bool(bare) and one.fold == other.fold and identical(one.tzinfo, other.tzinfo)


def _views(one: memoryview, other: memoryview) -> bool:
    return (one.format, one.shape, one.tobytes()) == (other.format, other.shape, other.tobytes())


def _dtypes(one: Any, other: Any) -> bool:
    if (one.str, one.itemsize, one.names) != (other.str, other.itemsize, other.names):
        return False
    same = one == other and (one.kind != "V" or one.type is other.type) and one.isalignedstruct == other.isalignedstruct
    return bool(same) and _same_metadata(one, other) and _same_fields(one, other)


def _same_metadata(one: Any, other: Any) -> bool:
    return identical(dict(one.metadata or {}), dict(other.metadata or {}))


def _same_fields(one: Any, other: Any) -> bool:
    if one.subdtype is not None:
        return one.subdtype[1] == other.subdtype[1] and _dtypes(one.subdtype[0], other.subdtype[0])
    if one.names is None or other.names is None:
        return True
    pairs = [(one.fields[name], other.fields[name]) for name in one.names]
    return all(_dtypes(a[0], b[0]) and a[1:] == b[1:] for a, b in pairs)


def _arrays(one: Any, other: Any) -> bool:
    if one.shape != other.shape or not _dtypes(one.dtype, other.dtype):
        return False
    if one.dtype.hasobject:
        return identical(one.tolist(), other.tolist())
    if one.dtype.char == "T":
        return repr(one.tolist()) == repr(other.tolist())
    return _bytes(np.asarray(one)) == _bytes(np.asarray(other))


def _bytes(array: Any) -> list[bytes]:
    """Return the bytes of the values without the padding between fields, which NumPy does not copy."""
    names = array.dtype.names
    return [array.tobytes()] if names is None else [part for name in names for part in _bytes(array[name])]


def _compare_masked(one: Any, other: Any) -> bool:
    if one is np.ma.masked:
        return other is np.ma.masked
    same = one.hardmask == other.hardmask and (one.mask is np.ma.nomask) == (other.mask is np.ma.nomask)
    parts = ((one.data, other.data), (np.ma.getmaskarray(one), np.ma.getmaskarray(other)))
    return same and all(identical(a, b) for a, b in parts) and repr(one.fill_value) == repr(other.fill_value)


def _scalars(one: Any, other: Any) -> bool:
    if isinstance(one, str | bytes):
        return bool(one == other)
    return _arrays(np.asarray(one), np.asarray(other))


def _own(one: Any, other: Any) -> bool:
    attributes = getattr(one, "__dict__", {}), getattr(other, "__dict__", {})
    return not any(attributes) or identical(*attributes)


def _same_attributes(one: Any, other: Any) -> bool:
    names = [field.name for field in dataclasses.fields(one)] if dataclasses.is_dataclass(one) else []
    if not names:
        return bool(one == other)
    derived = {name for name, value in vars(type(one)).items() if isinstance(value, functools.cached_property)}
    more = getattr(one, "__dict__", {}).keys() - derived - set(names)
    return all(identical(getattr(one, name, ...), getattr(other, name, ...)) for name in {*names, *more})


_COMPARE: list[tuple[Any, Any]] = [
    (type(None) | bool | enum.Enum, lambda a, b: a is b),
    (np.ma.MaskedArray, _compare_masked),
    (np.ndarray, _arrays),
    (np.generic, _scalars),
    (np.dtype, _dtypes),
    (float, _floats),
    (complex, _complexes),
    (int | str | bytes | bytearray | range, lambda a, b: a == b and _own(a, b)),
    (memoryview, _views),
    (set | frozenset, _sets),
    (Mapping, _mappings),
    (slice, lambda a, b: _items([a.start, a.stop, a.step], [b.start, b.stop, b.step])),
    (dt.tzinfo, _zones),
    (dt.datetime | dt.time, _times),
    (list | tuple | collections.deque, _items),
    (decimal.Decimal, lambda a, b: a.as_tuple() == b.as_tuple()),
    (uuid.UUID, lambda a, b: a == b and a.is_safe is b.is_safe),
]
