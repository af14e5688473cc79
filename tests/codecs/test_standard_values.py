"""Standard-library values arrive equal and of the same type, or are refused by name."""

from __future__ import annotations

import array
import collections
import datetime as dt
import enum
import json
import pathlib
import re
import struct
import uuid
import zoneinfo
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd
import pytest
from carrying import carry
from dateutil import tz

from hopmeter.codecs import CodecError, decode, encode, register
from hopmeter.codecs.header import pack

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
ODD_NAN = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]


class Fix(NamedTuple):
    stamp: dt.datetime
    values: list[Any]


@register
class Pair(NamedTuple):
    a: int
    b: Any = None


@register
class Mode(enum.IntFlag):
    READ = 1
    WRITE = 2


@register
class Colour(enum.Enum):
    RED = (255, 0, 0)
    CRIMSON = RED


class Moment(dt.datetime):
    pass


class Money(Decimal):
    pass


class Shifting(dt.tzinfo):
    def utcoffset(self, _: Any) -> dt.timedelta:
        return dt.timedelta(0)


@register
@dataclass
class Open:
    a: int


def with_attribute(obj: Any) -> Any:
    obj.extra = 1
    return obj


def describe(value: Any) -> Any:
    """Return everything observable about a value, including differences that Python's == ignores."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, dt.datetime | dt.time):
        return value.replace(tzinfo=None), value.fold, describe(value.tzinfo)
    if isinstance(value, dt.timezone):
        return value.__reduce__()
    if isinstance(value, Decimal):
        return value.as_tuple()
    if isinstance(value, uuid.UUID):
        return value, value.is_safe
    if isinstance(value, memoryview):
        return value.format, value.shape, value.tobytes()
    if isinstance(value, collections.deque):
        return value, value.maxlen
    return value


VALUES: list[Any] = [
    *(dt.date.min, dt.date(2024, 2, 29), dt.datetime.min, dt.datetime.max, dt.datetime(2024, 1, 1, fold=1)),
    dt.datetime(2024, 10, 27, 2, 30, 0, 5, BERLIN, fold=1),
    dt.datetime(2024, 10, 27, 2, 30, 0, 5, BERLIN),
    *(dt.datetime(1800, 1, 1, tzinfo=BERLIN), dt.datetime.max.replace(tzinfo=zoneinfo.ZoneInfo("Etc/GMT+5"))),
    *(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), "UTC"))),
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-5, microseconds=3), "é")),
    *(dt.time(), dt.time(1, 2, 3, 4, BERLIN, fold=1), dt.time(1, tzinfo=dt.UTC), dt.UTC, BERLIN),
    *(dt.timedelta.min, dt.timedelta.max, dt.timedelta(microseconds=-1)),
    *(uuid.UUID(int=1), uuid.UUID(int=2**128 - 1, is_safe=uuid.SafeUUID.unsafe)),
    *map(Decimal, ("1.10", "-0", "0E-7", "NaN", "-NaN123", "sNaN9", "Infinity", "-Infinity", "1E+999999999999999999")),
    *map(Decimal, ("1E-1999999999999999997", "0E+999999999999999999", "9" * 5000)),
    *(Fraction(-3, 7), Fraction(2**200, 3), pathlib.Path("a/b"), pathlib.PurePosixPath("//a"), pathlib.Path()),
    *(pathlib.PureWindowsPath("C:/a"), pathlib.PureWindowsPath("C:a")),
    *(collections.OrderedDict(b=1, a=2), collections.Counter("abca"), collections.deque([1, [2]], 3)),
    *(collections.deque(maxlen=0), collections.deque("ab"), Pair(1, [2]), Mode.WRITE, Colour.CRIMSON, ODD_NAN),
    *(
        memoryview(array.array("h", [1, -2])),
        memoryview(bytes(6)).cast("B", [2, 3]),
        "\ud83d\ude00",
        {"\ud83d\ude00": 1},
    ),
    {Decimal(1), dt.date.min, uuid.UUID(int=3)},
    {dt.date.min: Decimal(1), (uuid.UUID(int=3), 1): dt.timedelta(1)},
    [{"stamp": dt.datetime(2024, 1, 1, tzinfo=BERLIN), "parts": (Decimal("1.0"),)}],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_arrive_equal_in_every_detail(value: Any) -> None:
    back = carry(value)
    assert type(back) is type(value)
    assert describe(back) == describe(value)


NAMED: list[tuple[Any, str]] = [
    (Moment(2024, 1, 1), "Moment .*`datetime.datetime`"),
    (Money(1), "Money .*`decimal.Decimal`"),
    (Moment, "no codec for builtins.type"),
    (dt.datetime(2024, 1, 1, tzinfo=tz.gettz("Europe/Berlin")), "dateutil.*ZoneInfo.*E-TIME-ZONE"),
    (dt.time(1, tzinfo=Shifting()), "Shifting.*E-TIME-ZONE"),
    (collections.defaultdict(list), r"defaultdict .*`dict\(it\)`"),
    (collections.ChainMap({}), r"`dict\(it\)`"),
    (array.array("i", [1]), r"numpy.asarray\(it\)"),
    (re.compile("a"), r"`it.pattern`"),
    ({}.keys(), r"`list\(it\)`"),
    (with_attribute(collections.OrderedDict(a=1)), "attribute 'extra' .*OrderedDict"),
    (with_attribute(Open(1)), "attribute 'extra' .*Open"),
    (Mode.READ | Mode.WRITE, "combination .*`it.value`"),
    (pathlib.PureWindowsPath("./c:b"), "`it.parts`"),
    (Fraction(1, 2**20000), "as_integer_ratio"),
]


@pytest.mark.parametrize(("value", "named"), NAMED, ids=[f"{type(value).__name__}" for value, _ in NAMED])
def test_what_has_no_exact_form_is_refused_with_the_conversion(value: Any, named: str) -> None:
    with pytest.raises(CodecError, match=named):
        encode(value)


def test_a_timestamp_of_pandas_stays_one() -> None:
    stamp = pd.Timestamp("2024-01-01T00:00:00.000000001")
    assert carry({"stamp": stamp})["stamp"] == stamp
    assert type(carry(stamp)) is pd.Timestamp


def test_the_error_says_where_the_object_is() -> None:
    for obj, place in (
        ({"stamp": [1, 2, 3, object()]}, r'obj\["stamp"\]\[3\]'),
        ([Pair(1, {4: (object(),)})], r"obj\[0\]\.b\[4\]\[0\]"),
        (collections.deque([1, object()]), r"obj\[1\]"),
        ({"k" * 99: Open(object())}, r'obj\["k+…\]\.a'),  # type: ignore[arg-type]
    ):
        with pytest.raises(CodecError, match=f"builtins.object, at {place} "):
            encode(obj)


def test_a_class_that_the_receiver_has_not_registered_is_refused() -> None:
    with pytest.raises(CodecError, match=r"namedtuple .*Fix .*register.*E-DATACLASS-UNKNOWN"):
        carry(Fix(dt.datetime.min, []))


FORGED: list[Any] = [
    *(["date", text] for text in ("20240101", "2024-02-30", "2024-W01-1", "", 1, None)),
    *(["time", text, 0, None] for text in ("1:00", "01:00:00+00:00", "25:00:00", "01:00:00.5")),
    *(["time", "01:00:00", fold, None] for fold in (2, True, None, "0")),
    *(["datetime", "2024-01-01T00:00:00", 0, zone, None] for zone in ([], ["zone"], ["list", []], 1, ["zone", 1])),
    *(
        ["datetime", "2024-01-01T00:00:00", 0, ["zone", "Europe/Berlin"], offset]
        for offset in (None, 7200, 3600.0, "x")
    ),
    *(["datetime", "2024-01-01T00:00:00", 0, None, offset] for offset in (0, 3600)),
    *(["zone", key] for key in ("../../etc/passwd", "/etc/passwd", "Europe", "No/Where", "localtime", "", "a\0b", ".")),
    *(["timezone", [days, 0, 0], None] for days in (1, -1, 10**30, True, "0")),
    ["timezone", [0, 0, 0], 1],
    *(
        ["timedelta", *parts]
        for parts in ((0, -1, 0), (0, 86400, 0), (0, 0, 10**6), (10**9, 0, 0), (0.0, 0, 0), (0, 0))
    ),
    *(["uuid", text, "safe"] for text in ("0" * 31, "G" * 32, "{" + "0" * 32 + "}", None)),
    ["uuid", "0" * 32, "nonsense"],
    *(
        ["decimal", text]
        for text in ("1e5", "1E+9999999999999999999", "01_0", " 1", "nan", "NaN0", "١", "", 1, "1" * 9 + "x")
    ),
    *(["fraction", *parts] for parts in (("2", "4"), ("1", "0"), ("1", "-1"), ("0x1", "1"), ("1", "f" * 5000))),
    *(["path", *parts] for parts in (("Path", "a"), ("PurePosixPath", "a//b"), ("PurePosixPath", 1), ("str", "a"))),
    *(["deque", [1, 2], limit] for limit in (1, -1, "2", 2.0)),
    *(
        ["enum", f"{__name__}.Colour", *parts]
        for parts in (("BLUE", 1), ("RED", 1), ("CRIMSON", 1), (1, 1), ("mro", 1))
    ),
    ["enum", f"{__name__}.Pair", "a", 1],
    ["namedtuple", f"{__name__}.Pair", [["a", 1]]],
    ["dataclass", f"{__name__}.Pair", [["a", 1], ["b", 1]]],
    *(["float", text] for text in ("7ff0000000000000", "3ff0000000000000", "7FF8000000000001", "nan ")),
    *(["OrderedDict", pairs] for pairs in (1, [1], [[1]], [[["list", []], 1]])),
]


@pytest.mark.parametrize("node", FORGED, ids=lambda node: f"{node!r:.40}")
def test_a_form_that_encode_does_not_write_is_refused(node: Any) -> None:
    with pytest.raises(CodecError):
        decode([pack(json.dumps(node), 0)])


@pytest.mark.parametrize("node", [["memoryview", "h", [2]], ["memoryview", "<h", [1]], ["memoryview", "B", [3, -1]]])
def test_a_memoryview_of_another_shape_than_its_frame_is_refused(node: Any) -> None:
    with pytest.raises(CodecError):
        decode([pack(json.dumps(node), 1), bytes(3)])
