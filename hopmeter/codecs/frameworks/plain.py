# ruff: noqa: ARG001, ARG005 (all writers and readers have the same arguments)
"""The codec for Python's built-in types: numbers, text, bytes, containers, times and records.

Containers may hold objects of any codec.
"""

from __future__ import annotations

import collections
import math
import re
import struct
from json.encoder import encode_basestring_ascii
from typing import Any

from hopmeter.codecs.checks import MOST_KEYS, buffer, integer, keys, listing, mapping, one_of, text
from hopmeter.codecs.conversions import conversion
from hopmeter.codecs.errors import CodecError, key_step
from hopmeter.codecs.header import has_pairs, quote
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.values import memoryviews, records, standard_values
from hopmeter.codecs.writing import Frames, node_of, part_node, refusal

ROOTS = ("builtins", "collections", "datetime", "decimal", "enum", "fractions", "pathlib", "uuid", "zoneinfo")
EXTRA = ""
LONG_TEXT = 4096
"""Text with more characters than this is stored in a separate frame."""
SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
MAPPINGS: dict[str, Any] = {"OrderedDict": collections.OrderedDict, "Counter": collections.Counter}
ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NAN_BITS = re.compile("[7f]ff(?!0{13})[0-9a-f]{13}")
USUAL_NAN = struct.pack(">d", math.nan)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Return an object's header node.

    Numbers and short text are stored in the header node; each bytes object is stored in a separate frame.
    """
    writer = WRITERS.get(type(obj))
    if writer is not None:
        return writer(obj, frames, depth)  # type: ignore[no-any-return]
    kind: Any = type(obj)
    tag = records.category(kind)
    if tag == "enum":
        return _member(obj, frames, depth)
    if not tag:
        raise refusal(obj, conversion(kind))
    names = (
        f"[{quote(name)},{part_node(value, frames, depth, f'.{name}')}]" for name, value in records.field_values(obj)
    )
    return f'["{tag}",{quote(records.name_of(kind))},[{",".join(names)}]]'


def _member(obj: Any, frames: Frames, depth: int) -> str:
    kind = type(obj)
    if kind.__members__.get(obj.name) is not obj:
        raise CodecError("E-NO-FORM", f"{obj!r} is a combination of members", "send its value: `it.value`")
    value = part_node(obj.value, frames, depth, ".value")
    return f'["enum",{quote(records.name_of(kind))},{quote(obj.name)},{value}]'


def _integer(obj: int, frames: Frames, depth: int) -> str:
    return repr(obj) if -(2**63) <= obj < 2**63 else f'["int","{obj:x}"]'


def _write_float(obj: float, frames: Frames, depth: int) -> str:
    if math.isfinite(obj):
        return repr(obj)
    bits = struct.pack(">d", obj)
    return f'["float","{bits.hex() if math.isnan(obj) and bits != USUAL_NAN else repr(obj)}"]'


def _write_complex(obj: complex, frames: Frames, depth: int) -> str:
    return f'["complex",{_write_float(obj.real, frames, depth)},{_write_float(obj.imag, frames, depth)}]'


def _text(obj: str, frames: Frames, depth: int) -> str:
    if len(obj) <= LONG_TEXT and not has_pairs(obj):
        return encode_basestring_ascii(obj)
    frames.append(memoryview(obj.encode("utf-8", "surrogatepass")))
    return '["str"]'


def _bytes(obj: Any, frames: Frames, depth: int) -> str:
    frames.append(memoryview(obj))
    return f'["{type(obj).__name__}"]'


def _sequence(obj: Any, frames: Frames, depth: int) -> str:
    return f'["{type(obj).__name__}",{_items(obj, frames, depth)}]'


def _items(obj: Any, frames: Frames, depth: int) -> str:
    items = iter(obj)
    try:
        return f"[{','.join([node_of(item, frames, depth) for item in items])}]"
    except CodecError as error:
        error.within(f"[{len(obj) - 1 - sum(1 for _ in items)}]")
        raise


def _deque(obj: Any, frames: Frames, depth: int) -> str:
    limit = "null" if obj.maxlen is None else obj.maxlen
    return f'["deque",{_items(obj, frames, depth)},{limit}]'


def _refuse_many(obj: Any) -> None:
    """Raise CodecError if the receiver would reject the keys of a dict or the members of a set."""
    if len(obj) > MOST_KEYS:
        keys(list(obj))


def _set(obj: Any, frames: Frames, depth: int) -> str:
    """Return a set's header node.

    The members of a set are sorted by their JSON text, because Python's own order differs between runs.
    """
    before = len(frames)
    _refuse_many(obj)
    items = sorted(node_of(item, frames, depth) for item in obj)
    if len(frames) != before:
        raise CodecError("E-NO-FORM", "a set may hold only numbers and short text", "use a list")
    return f'["{type(obj).__name__}",[{",".join(items)}]]'


def _dict(obj: dict[Any, Any], frames: Frames, depth: int) -> str:
    if type(obj) is not dict and vars(obj):
        raise records.loss(type(obj), f"the attribute {next(iter(vars(obj)))!r}", "send the attributes separately")
    _refuse_many(obj)
    items: list[str] = []
    key = None
    try:
        for key, value in obj.items():
            items.append(f"[{node_of(key, frames, depth)},{node_of(value, frames, depth)}]")
    except CodecError as error:
        error.within(key_step(key))
        raise
    return f'["{type(obj).__name__}",[{",".join(items)}]]'


WRITERS: dict[type, Any] = {
    type(None): lambda obj, frames, depth: "null",
    bool: lambda obj, frames, depth: "true" if obj else "false",
    int: _integer,
    float: _write_float,
    complex: _write_complex,
    str: _text,
    **dict.fromkeys((bytes, bytearray), _bytes),
    memoryview: memoryviews.write,
    **dict.fromkeys((list, tuple), _sequence),
    **dict.fromkeys((set, frozenset), _set),
    **dict.fromkeys((dict, collections.OrderedDict, collections.Counter), _dict),
    collections.deque: _deque,
    **standard_values.WRITERS,
    range: lambda obj, frames, depth: f'["range",{_sequence([obj.start, obj.stop, obj.step], frames, depth)}]',
    slice: lambda obj, frames, depth: f'["slice",{_sequence([obj.start, obj.stop, obj.step], frames, depth)}]',
}


def _read_int(node: list[Any], reading: Reading) -> Maker:
    digits = text(listing(node, 2)[1])
    if not re.fullmatch("-?[1-9a-f][0-9a-f]*", digits):
        raise CodecError("E-HEADER", "the header contains an invalid integer")
    value = int(digits, 16)
    return lambda _: value


def _read_float(node: list[Any], reading: Reading) -> Maker:
    word = text(listing(node, 2)[1])
    bits = bytes.fromhex(word) if NAN_BITS.fullmatch(word) else None
    value = ODD_FLOATS[one_of(word, *ODD_FLOATS)] if bits is None else struct.unpack(">d", bits)[0]
    return lambda _: value


def _read_complex(node: list[Any], reading: Reading) -> Maker:
    real, imaginary = (reading.maker(part) for part in listing(node, 3)[1:])
    return lambda frames: complex(real(frames), imaginary(frames))


def _read_str(node: list[Any], reading: Reading) -> Maker:
    place = reading.frame()
    return lambda frames: str(buffer(frames[place]), "utf-8", "surrogatepass")


def _read_bytes(node: list[Any], reading: Reading) -> Maker:
    kind: Any = {"bytes": bytes, "bytearray": bytearray}[listing(node, 1)[0]]
    place = reading.frame()
    return lambda frames: kind(memoryview(frames[place])) if type(frames[place]) is not kind else frames[place]


def _read_sequence(node: list[Any], reading: Reading) -> Maker:
    tag, items = listing(node, 2)
    kind, makers = SEQUENCES[tag], [reading.maker(item) for item in listing(items)]
    if kind in (set, frozenset):
        return lambda frames: kind(keys([make(frames) for make in makers]))
    return lambda frames: kind([make(frames) for make in makers])


def _read_dict(node: list[Any], reading: Reading) -> Maker:
    pairs = [listing(pair, 2) for pair in listing(listing(node, 2)[1])]
    return mapping([(reading.maker(key), reading.maker(value)) for key, value in pairs])


def _read_mapping(node: list[Any], reading: Reading) -> Maker:
    kind, make = MAPPINGS[node[0]], _read_dict(node, reading)
    return lambda frames: kind(make(frames))


def _read_deque(node: list[Any], reading: Reading) -> Maker:
    _, items, limit = listing(node, 3)
    makers = [reading.maker(item) for item in listing(items)]
    if limit is not None and integer(limit) < len(makers):
        raise CodecError("E-PARTS", "a deque has more items than its maximum length")
    return lambda frames: collections.deque([make(frames) for make in makers], limit)


def _read_limits(node: list[Any], reading: Reading) -> Maker:
    tag, limits = listing(node, 2)
    kind, make = {"range": range, "slice": slice}[tag], reading.maker(limits)
    return lambda frames: kind(*listing(make(frames), 3))


def _read_record(node: list[Any], reading: Reading) -> Maker:
    tag, name, fields = listing(node, 3)
    pairs = [listing(pair, 2) for pair in listing(fields)]
    kind = records.registered_type(text(name), [text(field) for field, _ in pairs], tag)
    makers = [(field, reading.maker(value)) for field, value in pairs]
    return lambda frames: records.new_instance(kind, ((field, make(frames)) for field, make in makers))


def _read_member(node: list[Any], reading: Reading) -> Maker:
    _, name, member, value = listing(node, 4)
    kind, make = records.registered_type(text(name), [], "enum"), reading.maker(value)
    called = text(member)
    return lambda frames: records.member(kind, called, make(frames))


READERS = {
    "int": _read_int,
    "float": _read_float,
    "complex": _read_complex,
    "str": _read_str,
    **dict.fromkeys(("bytes", "bytearray"), _read_bytes),
    "memoryview": memoryviews.read,
    **dict.fromkeys(SEQUENCES, _read_sequence),
    "dict": _read_dict,
    **dict.fromkeys(("range", "slice"), _read_limits),
    **dict.fromkeys(("dataclass", "namedtuple"), _read_record),
    "enum": _read_member,
    **dict.fromkeys(MAPPINGS, _read_mapping),
    "deque": _read_deque,
    **standard_values.READERS,
}
