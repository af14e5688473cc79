# ruff: noqa: ARG001 (all writers and readers have the same arguments)
"""Encodes standard library values: times, durations, identifiers, exact numbers and paths.

Each value has exactly one encoding, and readers reject any other encoding.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hopmeter.codecs.checks import listing, one_of, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import quote
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.values.time_zones import check_offset, duration_of, offset_at, zone_node, zone_of
from hopmeter.codecs.writing import Frames

DECIMAL = re.compile(r"-?(\d+(\.\d+)?(E[+-]\d+)?|Infinity|s?NaN\d*)", re.ASCII)
EXACT = decimal.Context(capitals=1, traps=[])
"""The decimal context for writing and reading, which is independent of the program's own context."""
LONGEST_FRACTION = 4096
"""The maximum number of hexadecimal digits of a fraction's parts. Checking that a fraction is in lowest terms takes
quadratic time."""
PATHS = {kind.__name__: kind for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()))}


def _date(obj: dt.date, frames: Frames, depth: int) -> str:
    return f'["date","{obj.isoformat()}"]'


def _time(obj: dt.time, frames: Frames, depth: int) -> str:
    return f'["time","{obj.replace(tzinfo=None).isoformat()}",{obj.fold},{zone_node(obj.tzinfo)}]'


def _datetime(obj: dt.datetime, frames: Frames, depth: int) -> str:
    if obj.tzinfo is None:
        return f'["datetime","{obj.isoformat()}",{obj.fold},null,null]'
    zone, offset = zone_node(obj.tzinfo), offset_at(obj)
    local = obj.replace(tzinfo=None).isoformat()
    return f'["datetime","{local}",{obj.fold},{zone},{"null" if offset is None else offset}]'


def _timedelta(obj: dt.timedelta, frames: Frames, depth: int) -> str:
    return f'["timedelta",{obj.days},{obj.seconds},{obj.microseconds}]'


def _zone(obj: dt.tzinfo, frames: Frames, depth: int) -> str:
    return zone_node(obj)


def _uuid(obj: uuid.UUID, frames: Frames, depth: int) -> str:
    return f'["uuid","{obj.hex}","{obj.is_safe.name}"]'


def _decimal(obj: Decimal, frames: Frames, depth: int) -> str:
    return f'["decimal","{EXACT.to_sci_string(obj)}"]'


def _fraction(obj: Fraction, frames: Frames, depth: int) -> str:
    parts = f"{obj.numerator:x}", f"{obj.denominator:x}"
    if max(map(len, parts)) > LONGEST_FRACTION:
        raise CodecError(
            "E-NO-FORM",
            f"a fraction of more than {LONGEST_FRACTION} digits cannot be represented",
            "send numerator and denominator: `it.as_integer_ratio()`",
        )
    return f'["fraction","{parts[0]}","{parts[1]}"]'


def _path(obj: pathlib.PurePath, frames: Frames, depth: int) -> str:
    written = str(obj)
    if type(obj)(written) != obj:  # the text of a Windows path may be parsed as a path on a different drive
        raise CodecError("E-NO-FORM", f"the path {obj!r:.80} cannot be restored from its text", "send `it.parts`")
    return f'["path","{type(obj).__name__}",{quote(written)}]'


WRITERS: dict[type, Callable[[Any, Frames, int], str]] = {
    dt.date: _date,
    dt.time: _time,
    dt.datetime: _datetime,
    dt.timedelta: _timedelta,
    **dict.fromkeys((dt.timezone, zoneinfo.ZoneInfo), _zone),
    uuid.UUID: _uuid,
    Decimal: _decimal,
    Fraction: _fraction,
    **dict.fromkeys(PATHS.values(), _path),
}


def _invalid(what: str) -> CodecError:
    return CodecError("E-HEADER", f"the header contains an invalid {what}")


def _from_iso(kind: Any, written: Any) -> Any:
    """Return the date or time.

    Raises CodecError if the text has a form that Python parses but does not write.
    """
    try:
        value = kind.fromisoformat(text(written))
    except ValueError as cause:
        raise _invalid(kind.__name__) from cause
    if value.isoformat() != written or getattr(value, "tzinfo", None) is not None:
        raise _invalid(kind.__name__)
    return value


def _read_date(node: list[Any], reading: Reading) -> Maker:
    value = _from_iso(dt.date, listing(node, 2)[1])
    return lambda _: value


def _read_time(node: list[Any], reading: Reading) -> Maker:
    _, written, fold, zone = listing(node, 4)
    value = _from_iso(dt.time, written).replace(fold=one_of(fold, 0, 1), tzinfo=zone_of(zone))
    return lambda _: value


def _read_datetime(node: list[Any], reading: Reading) -> Maker:
    _, written, fold, zone, offset = listing(node, 5)
    value = _from_iso(dt.datetime, written).replace(fold=one_of(fold, 0, 1), tzinfo=zone_of(zone))
    check_offset(value, offset)
    return lambda _: value


def _read_timedelta(node: list[Any], reading: Reading) -> Maker:
    value = duration_of(listing(node, 4)[1:])
    return lambda _: value


def _read_zone(node: list[Any], reading: Reading) -> Maker:
    value = zone_of(node)
    return lambda _: value


def _read_uuid(node: list[Any], reading: Reading) -> Maker:
    _, digits, safety = listing(node, 3)
    if not re.fullmatch("[0-9a-f]{32}", text(digits)):
        raise _invalid("UUID")
    value = uuid.UUID(hex=digits, is_safe=uuid.SafeUUID[one_of(safety, *uuid.SafeUUID.__members__)])
    return lambda _: value


def _read_decimal(node: list[Any], reading: Reading) -> Maker:
    written = text(listing(node, 2)[1])
    value = Decimal(written, EXACT) if DECIMAL.fullmatch(written) else None
    if value is None or EXACT.to_sci_string(value) != written:  # an out-of-range exponent changes the number
        raise _invalid("decimal")
    return lambda _: value


def _read_fraction(node: list[Any], reading: Reading) -> Maker:
    parts = [text(part) for part in listing(node, 3)[1:]]
    if not all(re.fullmatch("0|-?[1-9a-f][0-9a-f]*", part) and len(part) <= LONGEST_FRACTION for part in parts):
        raise _invalid("fraction")
    above, below = (int(part, 16) for part in parts)
    if below < 1 or math.gcd(above, below) != 1:
        raise _invalid("fraction")
    value = Fraction(above, below)
    return lambda _: value


def _read_path(node: list[Any], reading: Reading) -> Maker:
    _, kind, written = listing(node, 3)
    value = PATHS[one_of(kind, *PATHS)](text(written))
    if str(value) != written:
        raise _invalid("path")
    return lambda _: value


READERS: dict[str, Callable[[list[Any], Reading], Maker]] = {
    "date": _read_date,
    "time": _read_time,
    "datetime": _read_datetime,
    "timedelta": _read_timedelta,
    **dict.fromkeys(("timezone", "zone"), _read_zone),
    "uuid": _read_uuid,
    "decimal": _read_decimal,
    "fraction": _read_fraction,
    "path": _read_path,
}
