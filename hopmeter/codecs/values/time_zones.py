"""Encodes time zones: fixed offsets (`datetime.timezone`), and zones of the time zone database (`zoneinfo.ZoneInfo`) by
name."""

from __future__ import annotations

import datetime as dt
import functools
import pickle
import re
import zoneinfo
from typing import Any

from hopmeter.codecs.checks import listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import quote

KEY = re.compile(r"(?!localtime|posixrules)[A-Za-z0-9+_-]{1,32}(/[A-Za-z0-9+_-]{1,32}){0,3}")
"""Matches time zone names. The two excluded names stand for zones that each machine defines for itself."""
REMEDY = 'convert it: `it.astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))`, or a `datetime.timezone`'
SECONDS_IN_A_DAY = 86400


def zone_node(zone: Any) -> str:
    """Return a time zone's header node. Raises CodecError if the receiver of the message could not rebuild the time
    zone."""
    if zone is None:
        return "null"
    writer = _WRITERS.get(type(zone))
    if writer is None:
        kind = type(zone)
        raise CodecError(
            "E-TIME-ZONE", f"a time zone of type {kind.__module__}.{kind.__qualname__} cannot be represented", REMEDY
        )
    written: str = writer(zone)
    return written


@functools.lru_cache(256)
def _key_node(zone: zoneinfo.ZoneInfo) -> str:
    try:
        zone.__reduce__()
    except pickle.PicklingError as cause:
        raise CodecError("E-TIME-ZONE", f"the time zone {zone.key} was read from a file", REMEDY) from cause
    if not KEY.fullmatch(zone.key):
        raise CodecError("E-TIME-ZONE", f"the time zone {zone.key[:40]!r} differs between machines", REMEDY)
    return f'["zone","{zone.key}"]'


def _offset_node(zone: dt.timezone) -> str:
    offset, *name = zone.__getinitargs__()  # type: ignore[attr-defined]
    return f'["timezone",[{offset.days},{offset.seconds},{offset.microseconds}],{quote(name[0]) if name else "null"}]'


_WRITERS: dict[type, Any] = {dt.timezone: _offset_node, zoneinfo.ZoneInfo: _key_node}


def zone_of(node: Any) -> dt.tzinfo | None:
    """Return the time zone that a header node describes, or None if the node describes no time zone.

    Raises CodecError if the zone is invalid or unknown to this machine.
    """
    if node is None:
        return None
    tag = listing(node)[0] if node else ""
    if tag == "timezone":
        return _offset_zone(*listing(node, 3)[1:])
    if tag != "zone":
        raise CodecError("E-HEADER", "the header contains an invalid time zone")
    return _find_zone(text(listing(node, 2)[1]))


def _offset_zone(offset: Any, name: Any) -> dt.timezone:
    since = duration_of(listing(offset, 3))
    if abs(since) >= dt.timedelta(days=1):
        raise CodecError("E-TIME-ZONE", f"the offset of a time zone is a day or more: {since}")
    return dt.timezone(since) if name is None else dt.timezone(since, text(name))


def _find_zone(key: str) -> zoneinfo.ZoneInfo:
    if not KEY.fullmatch(key):  # an unchecked name could open any file
        raise CodecError("E-TIME-ZONE", f"the time zone {key[:40]!r} is invalid")
    try:
        return zoneinfo.ZoneInfo(key)
    except (LookupError, ValueError, OSError) as cause:
        raise CodecError(
            "E-TIME-ZONE", f"the time zone {key[:40]!r} is unknown here", "run `pip install --upgrade tzdata`"
        ) from cause


def duration_of(parts: list[Any]) -> dt.timedelta:
    """Return a duration from days, seconds and microseconds.

    Raises CodecError if the three numbers are not in the form that `datetime.timedelta` uses, for example if the
    seconds exceed a day.
    """
    limits = ((-999_999_999, 999_999_999), (0, SECONDS_IN_A_DAY - 1), (0, 999_999))
    valid = (type(part) is int and least <= part <= most for part, (least, most) in zip(parts, limits, strict=True))
    if not all(valid):
        raise CodecError("E-HEADER", "the header contains an invalid duration")
    return dt.timedelta(*parts)


def offset_at(moment: dt.datetime) -> int | None:
    """Return the UTC offset, in seconds, of a `datetime` whose zone is from the time zone database. Return None for
    every other `datetime`."""
    if type(moment.tzinfo) is not zoneinfo.ZoneInfo:
        return None
    offset = moment.utcoffset()
    return None if offset is None else offset.days * SECONDS_IN_A_DAY + offset.seconds


def check_offset(moment: dt.datetime, sent: Any) -> None:
    """Raise CodecError if the time's UTC offset in this machine's time zone database differs from the offset at the
    sender."""
    here = offset_at(moment)
    if here != sent or type(here) is not type(sent):
        raise CodecError(
            "E-TIME-ZONE",
            f"the offset of the time zone {moment.tzinfo} is {here} s here, but {sent!r:.20} s at the sender",
            "install the same tzdata on both sides",
        )
