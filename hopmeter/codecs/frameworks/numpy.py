# ruff: noqa: ARG001 (all writers and readers have the same arguments)
"""The NumPy codec: arrays, scalars, masked arrays, record arrays, and variable-length strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopmeter.codecs import arrays, devices, dtypes
from hopmeter.codecs.checks import listing, one_of, text
from hopmeter.codecs.cuda import nodes
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import KEPT, Frames, frames_by_nodes, node_of, refusal

ROOTS = ("numpy", "ml_dtypes")
EXTRA = ""
PLAIN = {np.ndarray: "", np.memmap: ""}
NAMED = {np.recarray: "recarray", np.matrix: "matrix"}
CLASSES: dict[str, type[arrays.Array]] = {"recarray": np.recarray, "matrix": np.matrix}
_kept: dict[Any, bytes] = {}
HARD = ',"hard"'
MASKED_STATE = {"_fill_value", "_hardmask", "_mask", "_sharedmask", "_isfield", "_baseclass", "_optinfo", "_basedict"}
"""NumPy's own attributes of a masked array. `_optinfo` contains the attributes of the original, unmasked array."""
NA = {"none": None, "nan": float("nan")}


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append an array's memory to `frames` without a copy, and return the array's header node.

    Variable-length strings are first copied into one buffer.
    """
    kind = type(obj)
    if kind is np.ndarray:
        return _strings(obj, frames, depth) if obj.dtype.char == "T" else arrays.write(obj, frames)
    if kind in PLAIN:
        return arrays.write(np.asarray(obj), frames)
    if kind in NAMED:
        return f'["numpy.{NAMED[kind]}",{arrays.write(np.asarray(obj), frames)}]'
    return _write_rare(obj, frames, depth)


def whole(array: Any) -> Frames:
    """Return the complete encoding of an array: the header and the data frames. For a known dtype and shape, the
    function needs only one cache lookup and one memory view."""
    try:
        return [_kept[array.dtype, array.shape, array.dtype.metadata], array.data.cast("B")]
    except (KeyError, TypeError, ValueError):  # the dtype or shape is unknown, or the array is not in row-major order
        frames = frames_by_nodes(array)
        if arrays.is_castable(array.dtype) and array.size and array.flags.c_contiguous:
            if len(_kept) >= KEPT:
                _kept.clear()
            _kept[array.dtype, array.shape, None] = frames[0]
        return frames


WHOLE = {np.ndarray: whole}


def _write_rare(obj: Any, frames: Frames, depth: int) -> str:
    if obj is np.ma.masked:
        return '["numpy.masked"]'
    if type(obj) is np.ma.MaskedArray and type(obj.data) in PLAIN:
        return _masked_node(obj, frames)
    if isinstance(obj, np.generic):
        return _scalar(obj, frames)
    if isinstance(obj, np.dtype):
        return f'["numpy.dtype",{node_of(None, frames, depth)},{_json(dtypes.to_node(obj))}]'
    masked = isinstance(obj, np.ma.MaskedArray)
    raise refusal(obj, f"pass `numpy.{'ma.MaskedArray(numpy.asarray(it.data), it.mask)' if masked else 'asarray(it)'}`")


def _masked_node(obj: Any, frames: Frames) -> str:
    """Append the data, mask and fill value of a masked array to `frames`, and return the array's header node. In the
    header node, the mask is null if no element was ever masked.

    The header node also records whether the mask is hard.
    """
    if extra := sorted({*vars(obj)} - MASKED_STATE) or sorted(map(str, obj._optinfo)):
        raise CodecError(
            "E-NO-FORM",
            f"the attribute {extra[0]!r} of a masked array would be lost",
            "send `numpy.ma.MaskedArray(numpy.asarray(it.data), it.mask)`, and the attribute separately",
        )
    arrays_of = [np.asarray(obj.data), None if obj.mask is np.ma.nomask else obj.mask, np.asarray(obj.fill_value)]
    parts = ["null" if part is None else arrays.write(part, frames) for part in arrays_of]
    return f'["numpy.masked",{",".join(parts)}{HARD if obj.hardmask else ""}]'


def _scalar(obj: Any, frames: Frames) -> str:
    array = np.asarray(obj)
    again: Any = array[()]
    if type(again) is not type(obj) or (isinstance(obj, str | bytes) and again != obj):
        raise refusal(obj, "a subclass, an alias or text that ends with zeros: send `it.item()`")
    if array.dtype.kind in "iu" and np.dtype(array.dtype.str).type is not type(obj):
        raise refusal(obj, f"send `numpy.{np.dtype(array.dtype.str)}(it)`")
    return f'["numpy.scalar",{arrays.write(array, frames)}]'


def _json(node: Any) -> str:
    import json

    return json.dumps(node, separators=(",", ":"))


def _strings(array: Any, frames: Frames, depth: int) -> str:
    missing = getattr(array.dtype, "na_object", NA)
    word = "" if missing is NA else next((name for name, value in NA.items() if missing is value), "")
    word = "nan" if type(missing) is float and missing != missing else word
    if missing is not NA and not word:
        raise CodecError(
            "E-NO-FORM",
            f"strings with the missing value {missing!r} cannot be represented",
            "use StringDType(na_object=None) or nan",
        )
    values = [value if isinstance(value, str) else None for value in array.ravel().tolist()]
    about = [list(array.shape), word, *([] if array.dtype.coerce else ["strict"])]
    return f'["numpy.strings",{_json(about)},{node_of(values, frames, depth)}]'


def _read_named(node: list[Any], reading: Reading) -> Maker:
    tag, inner = listing(node, 2)
    make, kind = reading.maker(_array(inner)), CLASSES[tag.partition(".")[2]]
    return make if reading.as_ not in (None, "numpy") else lambda frames: make(frames).view(kind)


def _read_masked(node: list[Any], reading: Reading) -> Maker:
    _refuse_others(reading, "a masked array", "send `array.filled()`")
    if len(node) == 1:
        return lambda _: np.ma.masked
    hard = node[4:] == ["hard"]
    _, whole, hidden, filling = listing(node[:4] if hard else node, 4)
    data = reading.maker(_array(whole))
    mask = (lambda _: np.ma.nomask) if hidden is None else reading.maker(_array(hidden))
    fill = reading.maker(_array(filling))

    def make(frames: Any) -> Any:
        made: Any = np.ma.MaskedArray(data(frames), mask(frames), copy=False, hard_mask=hard)
        value = fill(frames)[()]
        if made.fill_value != value:  # NumPy's default fill value for text may be longer than the dtype allows
            made.fill_value = value
        return made

    return make


def _read_scalar(node: list[Any], reading: Reading) -> Maker:
    if listing(_array(listing(node, 2)[1])[3]):
        raise CodecError("E-PARTS", "a scalar must not have dimensions")
    make = reading.maker(node[1])
    return make if reading.as_ not in (None, "numpy") else lambda frames: make(frames)[()]


def _read_dtype(node: list[Any], reading: Reading) -> Maker:
    dtype = dtypes.from_node(listing(node, 3)[2])
    return lambda _: dtype


def _refuse_others(reading: Reading, what: str, remedy: str) -> None:
    if reading.as_ not in (None, "numpy"):
        raise CodecError(
            "E-RECEIVE-AS", f"{what} cannot be received as {reading.as_}", f"choose numpy or none, or {remedy}"
        )


def _read_strings(node: list[Any], reading: Reading) -> Maker:
    _refuse_others(reading, "a NumPy StringDType array", "send `array.tolist()`")
    _, (shape, word, *more), values = listing(node, 3)
    if more not in ([], ["strict"]):
        raise CodecError("E-PARTS", "the strings have an unknown property")
    lengths, make = tuple(listing(shape)), reading.maker(values)
    devices.refuse_gpu("NumPy", reading.device)
    na: Any = {"na_object": NA[word]} if one_of(word, "", *NA) else {}
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        raise CodecError(
            "E-FRAMEWORK-DTYPE",
            f"NumPy {np.__version__} does not support strings of variable length",
            "receive the strings on NumPy 2",
        )
    dtype: Any = np.dtypes.StringDType(coerce=not more, **na)

    def build(frames: Any) -> Any:
        found = [na["na_object"] if value is None else text(value) for value in listing(make(frames))]
        return np.array(found, dtype).reshape(lengths)

    return build


def _array(node: Any) -> list[Any]:
    if type(node) is not list or len(node) != 6 or node[:2] != ["array", "numpy"]:
        raise CodecError("E-PARTS", "a part must be a NumPy array")
    return node


def adopt(obj: Any) -> Any:
    """Convert another framework's array to NumPy."""
    return np.asarray(obj)


READERS = {
    "array": arrays.read,
    "cuda.memory": nodes.read,
    "numpy.recarray": _read_named,
    "numpy.matrix": _read_named,
    "numpy.masked": _read_masked,
    "numpy.scalar": _read_scalar,
    "numpy.dtype": _read_dtype,
    "numpy.strings": _read_strings,
}


FORM = Form(lambda array, _: array, noun="a NumPy array")
