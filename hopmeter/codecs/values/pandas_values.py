# ruff: noqa: ARG001, ARG005 (all writers and builders have the same arguments)
"""Converts the values of a pandas block, series or index to header nodes `[kind, …]` and back."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import integer, listing, one_of, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.header import quote
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ZONE = re.compile(r"(?!dateutil|tzlocal)[\w+/:-]{1,64}", re.ASCII)
PLAIN = (type(None), bool, int, float, str)
STRINGS = ("ArrowStringArray", "StringArray", "ArrowStringArrayNumpySemantics", "StringArrayNumpySemantics")
MASKED = ("IntegerArray", "FloatingArray", "BooleanArray")


def node(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    """Append the memory of a NumPy array or extension array to `frames`, and return the array's header node."""
    kind = type(array).__name__
    if kind in ("NumpyExtensionArray", "PandasArray"):  # pandas 1 uses the name `PandasArray`
        array, kind = array.to_numpy(), "ndarray"
    if kind == "ndarray":
        return _numpy(array, frames, depth)
    writer = _KINDS.get(kind)
    if writer is None:
        raise refusal(array, "convert the column: `astype`, or `.sparse.to_dense()`")
    return writer(pd, array, frames, depth)


def _numpy(array: Any, frames: Frames, depth: int) -> str:
    if not array.dtype.hasobject:
        return f'["numpy",{node_of(array, frames, depth)}]'
    flat = array.ravel().tolist()
    if not all(type(value) in PLAIN for value in flat):
        raise CodecError(
            "E-PYTHON-OBJECTS",
            "a column of Python objects other than text and numbers cannot be represented",
            "use `astype`",
        )
    return f'["object",{node_of(list(array.shape), frames, depth)},{node_of(flat, frames, depth)}]'


def _categorical(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    parts = (np.asarray(array.codes), written_out_range(pd, array.categories, len(array)), bool(array.ordered))
    return f'["categorical",{",".join(node_of(part, frames, depth) for part in parts)}]'


def _masked_node(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    return f'["masked",{node_of(array._data, frames, depth)},{node_of(array._mask, frames, depth)}]'


def _arrow(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    return f'["arrow",{node_of(array.__arrow_array__(), frames, depth)}]'


def _string(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    missing = "NA" if array.dtype.na_value is pd.NA else "nan"
    pa = lookup.import_package("pyarrow", "pyarrow")
    values = array.__arrow_array__()
    values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return f'["string","{array.dtype.storage}","{missing}",{node_of(values, frames, depth)}]'


def _moments(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    zone = getattr(array, "tz", None)
    written = "null" if zone is None else zone_node(pd, zone, frames, depth)
    return f'["moments",{written},{node_of(array._ndarray, frames, depth)}]'


def zone_node(pd: Any, zone: Any, frames: Frames, depth: int) -> str:
    """Return a name that pandas maps back to the same time zone, or the zone's header node if there is no such name."""
    name = str(zone)
    if ZONE.fullmatch(name) and _is_zone_named(pd, name, zone):
        return quote(name)
    try:
        return node_of(zone, frames, depth)
    except CodecError as cause:
        raise CodecError(
            "E-TIME-ZONE", f"the time zone {zone!r} has no name", 'use `tz_convert("Europe/Berlin")` or "UTC"'
        ) from cause


def _is_zone_named(pd: Any, name: str, zone: Any) -> bool:
    try:
        found = pd.DatetimeTZDtype("ns", name).tz
    except (KeyError, ValueError, TypeError):
        return False
    return type(found) is type(zone) and str(found) == name and (found == zone or hasattr(zone, "zone"))


def time_zone(zone: Any) -> Any:
    """Return `zone` if it is a time zone object or a valid time zone name. Raises CodecError if the name is invalid."""
    if isinstance(zone, dt.tzinfo):
        return zone
    if not ZONE.fullmatch(text(zone)):  # some time zone names make pandas open files
        raise CodecError("E-TIME-ZONE", f"the time zone {zone[:40]!r} is invalid")
    return zone


def _periods(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    return f'["period",{node_of(array.freqstr, frames, depth)},{node_of(array.asi8, frames, depth)}]'


def _intervals(pd: Any, array: Any, frames: Frames, depth: int) -> str:
    left, right = (node_of(written_out_range(pd, ends, 0), frames, depth) for ends in (array.left, array.right))
    return f'["interval","{array.closed}",{left},{right}]'


def written_out_range(pd: Any, index: Any, rows: int) -> Any:
    """Return a range as an index that contains every number, because the receiver would store every number anyway.

    A range of at most `rows` numbers is returned unchanged.
    """
    is_range = type(index) is pd.RangeIndex and len(index) > rows
    return pd.Index(np.arange(index.start, index.stop, index.step), name=index.name) if is_range else index


_KINDS = {
    "Categorical": _categorical,
    **dict.fromkeys(MASKED, _masked_node),
    "ArrowExtensionArray": _arrow,
    **dict.fromkeys(STRINGS, _string),
    "DatetimeArray": _moments,
    "TimedeltaArray": _moments,
    "PeriodArray": _periods,
    "IntervalArray": _intervals,
}


def required_dtype(written: Any) -> type | None:
    """Return `object` if pandas would otherwise convert the values to strings. Return None for all other values."""
    return object if listing(written)[:1] == ["object"] else None


def maker(pd: Any, written: Any, reading: Reading) -> Maker:
    """Return a function that rebuilds an array of pandas values. The array uses the frames' memory if its type can
    share memory."""
    kind, *parts = listing(written)
    wants = {"object": 2, "categorical": 3, "masked": 2, "arrow": 1, "moments": 2, "period": 2, "numpy": 1}
    wants |= {"string": 3, "interval": 3}
    if len(parts) != wants[one_of(kind, *wants)]:
        raise CodecError("E-PARTS", "the parts of pandas values do not match their kind")
    makers = (
        makers_without_ranges(parts, reading)
        if kind in ("categorical", "interval")
        else [reading.maker(part) for part in parts]
    )
    build = _BUILD[kind]
    return lambda frames: build(pd, *[make(frames) for make in makers])


def makers_without_ranges(parts: list[Any], reading: Reading) -> list[Maker]:
    """Return the functions that build the parts of an array of pandas values.

    Each number of a range counts as one row for the row limit, because pandas would store every number of the range.
    """
    before, reading.dense = reading.dense, True
    makers = [reading.maker(part) for part in parts]
    reading.dense = before
    return makers


def _object(pd: Any, shape: Any, values: Any) -> Any:
    made = np.empty(len(listing(values)), object)
    if not shape or not all(
        type(value) in PLAIN for value in values
    ):  # NumPy would convert the contents of other objects
        raise CodecError("E-PARTS", "pandas values are neither text nor numbers")
    made[:] = values
    return made.reshape([integer(length) for length in listing(shape)])


def _array_of(kind: str) -> Any:
    def check(value: Any) -> Any:
        # pandas would repeat the value of a zero-dimensional array for every position of the index.
        if type(value) is not np.ndarray or not value.ndim or (kind and value.dtype.kind not in kind):
            raise CodecError("E-PARTS", "pandas values do not fit the type of their array")
        return value

    return check


def index(pd: Any, value: Any) -> Any:
    """Return `value` if it is a pandas index. Raises CodecError otherwise."""
    if not isinstance(value, pd.Index):
        raise CodecError("E-PARTS", "a part must be a pandas index")
    return value


def _categorical_of(pd: Any, codes: Any, of: Any, ordered: Any) -> Any:
    return pd.Categorical.from_codes(_CODES(codes), index(pd, of), bool(ordered))


_ANY, _CODES, _BITS, _TIMES = _array_of(""), _array_of("i"), _array_of("b"), _array_of("mM")


def _masked_of(pd: Any, data: Any, mask: Any) -> Any:
    kinds = {"i": pd.arrays.IntegerArray, "u": pd.arrays.IntegerArray, "f": pd.arrays.FloatingArray}
    return {**kinds, "b": pd.arrays.BooleanArray}[_ANY(data).dtype.kind](data, _BITS(mask))


def _string_of(pd: Any, storage: Any, missing: Any, values: Any) -> Any:
    na = {"NA": pd.NA, "nan": np.nan}[missing]
    kind = one_of(storage, "python", "pyarrow")
    # Before pandas 2.3, string arrays had only one kind of missing value.
    dtype = pd.StringDtype(kind) if na is pd.NA else pd.StringDtype(kind, na_value=na)
    return dtype.__from_arrow__(values)


def moment_node(pd: Any, obj: Any, frames: Frames, depth: int) -> str:
    """Return the part of a frame header that describes one `Timestamp` or `Timedelta`."""
    zone = getattr(obj, "tz", None)
    kind = "timestamp" if type(obj) is pd.Timestamp else "timedelta"
    node = f'["pandas.{kind}",{node_of(obj.to_numpy() if zone is None else obj.to_datetime64(), frames, depth)}'
    return f"{node}]" if zone is None else f"{node},{zone_node(pd, zone, frames, depth)}]"


def read_moment(node: list[Any], reading: Reading) -> Maker:
    """Return a function that builds a single time or duration."""
    tag, value, *zone = listing(node, None if len(node) == 3 else 2)
    pd, make = lookup.import_package("pandas", "pandas"), reading.maker(value)
    if not zone:
        kind = pd.Timestamp if tag == "pandas.timestamp" else pd.Timedelta
        return lambda frames: kind(make(frames))
    place = reading.maker(zone[0])
    return lambda frames: pd.Timestamp(make(frames), tz="UTC").tz_convert(time_zone(place(frames)))


def _moments_of(pd: Any, zone: Any, values: Any) -> Any:
    series = pd.Series(_TIMES(values).reshape(-1), copy=False)
    if zone is not None:
        series = series.dt.tz_localize("UTC").dt.tz_convert(time_zone(zone))
    return series.array.reshape(values.shape) if values.ndim > 1 else series.array


def _intervals_of(pd: Any, closed: Any, left: Any, right: Any) -> Any:
    ends = index(pd, left), index(pd, right)
    return pd.arrays.IntervalArray.from_arrays(*ends, one_of(closed, "left", "right", "both", "neither"))


def levels_of(pd: Any, names: Any, codes: Any, levels: Any) -> Any:
    """Return a multi-level index with the given names, codes and levels. Raises CodecError if a code or a level has the
    wrong type."""
    numbers, known = [_CODES(code) for code in listing(codes)], [index(pd, level) for level in listing(levels)]
    return pd.MultiIndex(known, numbers, names=listing(names), verify_integrity=True)


_BUILD: dict[str, Any] = {
    "numpy": lambda pd, array: _ANY(array),
    "object": _object,
    "categorical": _categorical_of,
    "masked": _masked_of,
    "arrow": lambda pd, values: pd.arrays.ArrowExtensionArray(values),
    "string": _string_of,
    "moments": _moments_of,
    "period": lambda pd, freq, values: pd.arrays.PeriodArray(_CODES(values), dtype=pd.PeriodDtype(text(freq))),
    "interval": _intervals_of,
}
