"""Hundreds of typical objects that other serialisers change; each codec must return them exactly, or refuse them.

`ZOO` maps names to functions, so that an object is created only when a test needs the object.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import io
import ipaddress
import math
import pathlib
import re
import struct
import types
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from zoo_arrays import ARRAYS

from hopmeter.codecs import register

BERLIN, UTC = zoneinfo.ZoneInfo("Europe/Berlin"), dt.UTC


@register
class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 (an alias)
    GREEN = "green"
    DEEP = (1, 2.5)


@register
class Level(enum.IntEnum):
    LOW = 1


@register
class Word(enum.StrEnum):
    GO = "go"


@register
class Bits(enum.Flag):
    A = 1
    B = 2


@register
class Point(NamedTuple):
    x: float
    y: Any = None


@register
class Pixel(collections.namedtuple("Pixel", "x y")):  # noqa: PYI024 (the older form is common)
    __slots__ = ()


@register
class Marked(collections.namedtuple("Marked", "x")):  # noqa: PYI024 (its instances have attributes)
    """A named tuple whose instances also have attributes."""


@register
@dataclasses.dataclass
class Pose:
    stamp: Any
    values: Any = None
    later: Any = dataclasses.field(init=False, repr=False, default=None)

    @functools.cached_property
    def norm(self) -> float:
        return 1.5


@register
@dataclasses.dataclass
class Unset:
    value: Any = dataclasses.field(init=False)


@register
@dataclasses.dataclass(slots=True)
class Slotted:
    a: int = 1


@register
@dataclasses.dataclass
class Several(list):  # type: ignore[type-arg]
    name: str = "n"

    __hash__ = None  # type: ignore[assignment]


@register
class Undecorated(Pose):
    pass


class File(dt.tzinfo):
    def utcoffset(self, _: Any) -> dt.timedelta:
        return dt.timedelta(hours=2)

    def dst(self, _: Any) -> None:
        return None

    def tzname(self, _: Any) -> str:
        return "CEST"


def subclass(base: type, *args: Any) -> Any:
    made = type(f"My{base.__name__}", (base,), {})
    return (register(made) if issubclass(made, Point) else made)(*args)


def with_attribute(obj: Any, name: str = "extra") -> Any:
    setattr(obj, name, 1)
    return obj


def pose_with_norm() -> Any:
    pose = Pose(1)
    assert pose.norm
    return pose


def cycle() -> Any:
    found: list[Any] = []
    found.append({"again": found})
    return found


def nest(depth: int, kind: Any = list) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = kind([made]) if kind is not dict else {"a": made}
    return made


def float_of(bits: str) -> float:
    value: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return value


def zone_from_file() -> Any:
    path = next(path for root in zoneinfo.TZPATH if (path := pathlib.Path(root) / "Asia/Tokyo").exists())
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(path.read_bytes()), "Europe/Berlin")


NUMBERS: list[Any] = [
    *(None, True, False, 0, 1, -1, 127, 255, 256, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63)),
    *(-(2**63) - 1, 2**200, 0.0, -0.0, 0.1, 1.0, 5e-324, 1e308, 1e16, 2.0**53, math.nan, math.inf, -math.inf),
    *(-math.nan, float_of("7ff8000000000001"), float_of("fff4000000000000"), 2j, complex(-0.0, math.inf)),
    *(complex(math.nan, -math.nan), 10**5000),
]
TEXTS: list[Any] = [
    *("", "plain", "ü\u2028\x00", "\ud800", "\udc80", "\ud83d\ude00", "\U0001f600", "x" * 5000, "ü\ud83d\ude00" * 3000),
    *("__numpy__", "e\u0301", "\u00e9", "\ufeff", "\r\n", b"", b"bytes", b"\xff\x00", bytearray(b"array"), bytearray()),
]
CONTAINERS: list[Any] = [
    *([], (), {}, set(), frozenset(), [1, [2, (3,)]], (1, 2), [(1,)], ([1],), [None], [[]], [()], {1: {"a": None}}),
    *({(1, 2): "b", None: 0}, {1, "a", None, (2.5, 3)}, frozenset({1}), range(3, 9, 2), range(0), slice(None, 5)),
    *({"b": 1, "a": 2}, {1: 1, "1": 2}, {True: 1}, {None: 1, "None": 2}, {"a": (1, 2)}, {b"a": 1}, {1.5: 1}, {-1: 2}),
    *({"a": 1, b"a": 2}, {math.inf: 1}, {2**70: 1}, {"\ud800": 1}, {"\ud83d\ude00": 1, "\U0001f600": 2}, {"": 0}),
    *({"__numpy__": "x"}, {"__numpy__": [1]}, {"dtype": "<f8", "shape": [1], "data": b"x" * 8}, {"array": 1}),
    *({"dtype": 1, "shape": 2, "data": 3}, {"a": {"__numpy__": 5}}, {"__metadata__": 1}, {"a": bytearray(b"b")}),
    *({frozenset({1}): 1}, {"x" * 5000: 1}, [1, 1.0, True], {"a": 1, "b": {"c": [1, (2, {"d": None})]}}),
    *({"k": math.nan}, [-0.0], {"a": {1: 2}}, {"a": {"b": {"stamp": b"1"}}}),
    *({1: "a", 2: "b"}, ["a", b"a"], {"nil": None}, {"data": b"", "dtype": "", "shape": []}),
]
TIMES: list[Any] = [
    *(dt.datetime(2026, 11, 26, 14, 0, 0, 1), dt.datetime(2026, 1, 1), dt.datetime.min, dt.datetime.max),
    *(dt.datetime(2026, 1, 1, tzinfo=UTC), dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)),
    *(dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), dt.datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN)),
    *(dt.datetime(1, 1, 1, tzinfo=BERLIN), dt.datetime(9999, 12, 31, 23, 59, tzinfo=BERLIN)),
    *(dt.datetime(2026, 1, 1, fold=1), dt.datetime(1800, 1, 1, tzinfo=BERLIN)),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, microseconds=7))),
    dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2), "CAT")),
    dt.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")),
    *(dt.date(2026, 11, 26), dt.date.min, dt.date.max, dt.time(), dt.time(23, 59, 59, 999999), dt.time(1, fold=1)),
    *(dt.time(1, tzinfo=UTC), dt.time(1, tzinfo=BERLIN), dt.timedelta(), dt.timedelta.min, dt.timedelta.max),
    *(dt.timedelta(days=-1, microseconds=1), UTC, BERLIN, dt.timezone(dt.timedelta(0), "UTC"), dt.timezone.min),
    zoneinfo.ZoneInfo.no_cache("Asia/Tokyo"),
    {dt.date(2026, 1, 1): dt.timedelta(1)},
    [dt.datetime(2026, 1, 1, tzinfo=BERLIN)] * 2,
]
IDENTIFIERS: list[Any] = [
    *(uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.uuid1(), uuid.UUID(int=5, is_safe=uuid.SafeUUID.safe)),
    *map(Decimal, ("0", "-0", "0E+5", "-0.00", "1.10", "1E+999999", "1E-999999", "NaN", "-NaN", "NaN123", "sNaN7")),
    *map(Decimal, ("-sNaN", "Infinity", "-Infinity", "1E+999999999999999999", "9" * 5000, "0.000000123", "123E+2")),
    *(Fraction(1, 3), Fraction(-7), Fraction(0), pathlib.Path("/tmp/a b"), pathlib.Path()),
    *(pathlib.PurePosixPath("a/../b"), pathlib.PureWindowsPath("C:\\a"), pathlib.Path("x\udcff"), pathlib.Path("//a")),
    *({"id": uuid.UUID(int=3)}, {Decimal(1): Decimal("NaN")}),
]
RECORDS: list[Any] = [
    *(Colour.RED, Colour.GREEN, Colour.DEEP, Level.LOW, Word.GO, Bits.A, Bits.A | Bits.B, Bits(0), Point(1.0)),
    *(Point(2.0, [Point(1.0)]), Pixel(1, 2), Marked(1), with_attribute(Marked(1)), Pose(1, [dt.date.min]), Slotted(5)),
    *(with_attribute(Pose(1)), Unset(), Several("n"), Undecorated(1), {"level": Level.LOW}, {Level.LOW: 1}),
    *(collections.deque([1, 2]), collections.deque([1], 5), collections.deque(), collections.deque(maxlen=0)),
    *(collections.OrderedDict(a=1), collections.Counter("aab"), collections.defaultdict(list, a=[1])),
    *(collections.ChainMap({"a": 1}), collections.UserDict(a=1), types.SimpleNamespace(a=1)),
    *(types.MappingProxyType({"a": 1}), array.array("d", [1.0]), {"a": 1}.keys(), {"a": 1}.items()),
    *(memoryview(b"abc"), memoryview(b"abcdef")[::2], memoryview(b""), memoryview(np.arange(6).reshape(2, 3))),
    *(
        memoryview(np.arange(6, dtype="f4")),
        memoryview(np.zeros((2, 0))),
        memoryview(np.zeros(0)),
        memoryview(b"ab").cast("c"),
    ),
    *(memoryview(np.zeros(2, ">f8")), memoryview(np.array(2.0)), memoryview(np.zeros(2, [("a", "f4")]))),
    *(int, Pose, Colour, len, print, re, object(), type, (lambda: 1), iter([1]), Exception("a"), ValueError()),
    *(with_attribute(collections.OrderedDict(a=1)), functools.partial(len), bytes, property()),
]
ODD: list[Any] = [
    *(dt.datetime(2026, 1, 1, tzinfo=File()), dt.time(1, tzinfo=File()), File(), Fraction(1, 2**20000)),
    *(ipaddress.ip_address("::1"), re.compile("a"), Ellipsis, NotImplemented),
]
SUBCLASSES: list[Any] = [
    *(subclass(int, 5), subclass(float, 1.5), subclass(str, "a"), subclass(bytes, b"a"), subclass(bytearray, b"a")),
    *(subclass(list, [1]), subclass(tuple, (1,)), subclass(dict, {"a": 1}), subclass(set, {1}), subclass(complex, 1j)),
    *(subclass(frozenset, {1}), subclass(dt.datetime, 2026, 1, 1), subclass(dt.date, 2026, 1, 1), subclass(dt.time)),
    *(subclass(dt.timedelta, 1), subclass(uuid.UUID, "0" * 32), subclass(Decimal, 1), subclass(Fraction, 1)),
    *(subclass(zoneinfo.ZoneInfo, "UTC"), subclass(collections.deque, [1]), subclass(collections.OrderedDict)),
    *(subclass(collections.Counter, "a"), subclass(pathlib.PurePosixPath, "a"), subclass(Point, 1.0)),
    *({"a": subclass(str, "a")}, {subclass(str, "a"): 1}, [subclass(int, 1)], {"a": [subclass(float, 1.0)]}),
]
GROUPS = {
    "number": NUMBERS,
    "text": TEXTS,
    "container": CONTAINERS,
    "time": TIMES,
    "identifier": IDENTIFIERS,
    "record": RECORDS,
    "odd": ODD,
    "subclass": SUBCLASSES,
}
ZOO: dict[str, Callable[[], Any]] = {
    f"{group} {place} {type(obj).__name__}": lambda obj=obj: obj  # type: ignore[misc]
    for group, found in GROUPS.items()
    for place, obj in enumerate(found)
}
ZOO |= {
    "a cycle": cycle,
    "lists beyond the limit": lambda: nest(200),
    "lists beyond Python's stack": lambda: nest(100_000),
    "dicts beyond the limit": lambda: nest(2000, dict),
    "tuples at the limit": lambda: nest(60, tuple),
    "a zone of a file": zone_from_file,
    "a dataclass with a computed property": pose_with_norm,
    "the same list twice": lambda: [[1]] * 2,
    "keys of many types": lambda: {1: 1, "a": 2, None: 3, 1.5: 4, (1,): 5},
    "a context of decimals": decimal.Context,
}
ZOO |= ARRAYS
