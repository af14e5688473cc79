# ruff: noqa: ARG001, ARG005 (all writers and readers have the same arguments)
"""Python's own types: numbers, text, bytes, containers, dataclasses. Any codec may write their contents."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

from hopmeter.codecs import records
from hopmeter.codecs.checks import MOST_KEYS, buffer, keys, listing, mapping, one_of, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ROOTS = ("builtins",)
EXTRA = ""
LONG_TEXT = 4096
"""Longer text gets its own frame."""
SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Write numbers and short text to the header; each bytes object gets its own frame."""
    writer = _WRITERS.get(type(obj))
    if writer is not None:
        return writer(obj, frames, depth)  # type: ignore[no-any-return]
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return _dataclass(obj, frames, depth)
    raise refusal(obj, "convert the object to a plain type, or choose a pickle codec by name")


def _dataclass(obj: Any, frames: Frames, depth: int) -> str:
    pairs = [(field.name, getattr(obj, field.name)) for field in dataclasses.fields(obj)]
    fields = (f"[{json.dumps(name)},{node_of(value, frames, depth)}]" for name, value in pairs)
    return f'["dataclass",{json.dumps(records.name_of(type(obj)))},[{",".join(fields)}]]'


def _integer(obj: int, frames: Frames, depth: int) -> str:
    return repr(obj) if -(2**63) <= obj < 2**63 else f'["int","{obj:x}"]'


def _write_float(obj: float, frames: Frames, depth: int) -> str:
    return repr(obj) if math.isfinite(obj) else f'["float","{obj!r}"]'


def _write_complex(obj: complex, frames: Frames, depth: int) -> str:
    return f'["complex",{_write_float(obj.real, frames, depth)},{_write_float(obj.imag, frames, depth)}]'


def _text(obj: str, frames: Frames, depth: int) -> str:
    if len(obj) <= LONG_TEXT:
        return json.dumps(obj)
    frames.append(memoryview(obj.encode("utf-8", "surrogatepass")))
    return '["str"]'


def _bytes(obj: Any, frames: Frames, depth: int) -> str:
    view = memoryview(obj)
    frames.append(buffer(view if view.c_contiguous else view.tobytes()) if view.nbytes else memoryview(b""))
    return f'["{type(obj).__name__}"]'


def _sequence(obj: Any, frames: Frames, depth: int) -> str:
    return f'["{type(obj).__name__}",[{",".join([node_of(item, frames, depth) for item in obj])}]]'


def _refuse_many(obj: Any) -> None:
    """Raise CodecError for keys that the receiver would refuse."""
    if len(obj) > MOST_KEYS:
        keys(list(obj))


def _set(obj: Any, frames: Frames, depth: int) -> str:
    """Sort members by their written form, since Python's own order differs between runs."""
    before = len(frames)
    _refuse_many(obj)
    items = sorted(node_of(item, frames, depth) for item in obj)
    if len(frames) != before:
        raise CodecError("E-NO-FORM", "a set may hold only numbers and short text", "use a list")
    return f'["{type(obj).__name__}",[{",".join(items)}]]'


def _dict(obj: dict[Any, Any], frames: Frames, depth: int) -> str:
    _refuse_many(obj)
    items = (f"[{node_of(key, frames, depth)},{node_of(value, frames, depth)}]" for key, value in obj.items())
    return f'["dict",[{",".join(items)}]]'


_WRITERS: dict[type, Any] = {
    type(None): lambda obj, frames, depth: "null",
    bool: lambda obj, frames, depth: "true" if obj else "false",
    int: _integer,
    float: _write_float,
    complex: _write_complex,
    str: _text,
    **dict.fromkeys((bytes, bytearray, memoryview), _bytes),
    **dict.fromkeys((list, tuple), _sequence),
    **dict.fromkeys((set, frozenset), _set),
    dict: _dict,
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
    value = ODD_FLOATS[one_of(listing(node, 2)[1], *ODD_FLOATS)]
    return lambda _: value


def _read_complex(node: list[Any], reading: Reading) -> Maker:
    real, imaginary = (reading.maker(part) for part in listing(node, 3)[1:])
    return lambda frames: complex(real(frames), imaginary(frames))


def _read_str(node: list[Any], reading: Reading) -> Maker:
    place = reading.frame()
    return lambda frames: str(buffer(frames[place]), "utf-8", "surrogatepass")


def _read_bytes(node: list[Any], reading: Reading) -> Maker:
    kind: Any = {"bytes": bytes, "bytearray": bytearray, "memoryview": buffer}[listing(node, 1)[0]]
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


def _read_limits(node: list[Any], reading: Reading) -> Maker:
    tag, limits = listing(node, 2)
    kind, make = {"range": range, "slice": slice}[tag], reading.maker(limits)
    return lambda frames: kind(*listing(make(frames), 3))


def _read_dataclass(node: list[Any], reading: Reading) -> Maker:
    _, name, fields = listing(node, 3)
    pairs = [listing(pair, 2) for pair in listing(fields)]
    kind = records.registered_type(text(name), [text(field) for field, _ in pairs])
    makers = [(field, reading.maker(value)) for field, value in pairs]
    return lambda frames: records.new_instance(kind, ((field, make(frames)) for field, make in makers))


READERS = {
    "int": _read_int,
    "float": _read_float,
    "complex": _read_complex,
    "str": _read_str,
    **dict.fromkeys(("bytes", "bytearray", "memoryview"), _read_bytes),
    **dict.fromkeys(SEQUENCES, _read_sequence),
    "dict": _read_dict,
    **dict.fromkeys(("range", "slice"), _read_limits),
    "dataclass": _read_dataclass,
}
