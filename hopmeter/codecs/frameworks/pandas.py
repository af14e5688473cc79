# ruff: noqa: ARG001 (all writers and readers have the same arguments)
"""The pandas codec: data frames, series and indexes in NumPy or Arrow memory.

Each block of columns is sent as one frame, without a copy.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import integer, listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form, rows
from hopmeter.codecs.frameworks.pyarrow import adopter
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.values import pandas_values as values
from hopmeter.codecs.writing import Frames, node_of, part_node, refusal

ROOTS = ("pandas",)
EXTRA = "pandas"
ALSO = ("pyarrow",)
MEGABYTES = (12, 46)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append a data frame's blocks, or the values of a series or index, to `frames`, and return the header node.

    The header node includes the object's `attrs`.
    """
    pd = lookup.import_package("pandas", EXTRA)
    if type(obj) in (pd.DataFrame, pd.Series):
        writer = _frame if type(obj) is pd.DataFrame else _series
        node = writer(pd, obj, frames, depth)
        return node if obj.flags.allows_duplicate_labels else f'["pandas.unique",{node}]'
    if isinstance(obj, pd.Index):
        return _index(pd, obj, frames, depth)
    if isinstance(obj, pd.api.extensions.ExtensionArray):
        return f'["pandas.array",{values.node(pd, obj, frames, depth)}]'
    if type(obj) in (pd.Timestamp, pd.Timedelta):
        return values.moment_node(pd, obj, frames, depth)
    if obj is pd.NA or obj is pd.NaT:
        return '["pandas.NA"]' if obj is pd.NA else '["pandas.NaT"]'
    if isinstance(obj, pd.DataFrame | pd.Series):
        kind = "DataFrame" if isinstance(obj, pd.DataFrame) else "Series"
        raise refusal(obj, f"the data that a subclass adds would be lost; send `pandas.{kind}(it)`")
    raise refusal(obj, "send frames, series, indexes or arrays")


def _series(pd: Any, series: Any, frames: Frames, depth: int) -> str:
    parts = {".name": series.name, ".attrs": dict(series.attrs), ".index": series.index}
    about = [part_node(part, frames, depth, step) for step, part in parts.items()]
    return f'["pandas.series",{",".join(about)},{values.node(pd, series.array, frames, depth)}]'


def _frame(pd: Any, frame: Any, frames: Frames, depth: int) -> str:
    """Append a data frame's blocks to `frames`, and return the data frame's header node. pandas has no public API for
    blocks."""
    parts = {".columns": frame.columns, ".index": frame.index, ".attrs": dict(frame.attrs)}
    about = [part_node(part, frames, depth, step) for step, part in parts.items()]
    blocks = [
        f"[{_column_numbers(block.mgr_locs, len(frame.columns))},{values.node(pd, block.values, frames, depth)}]"
        for block in frame._mgr.blocks
    ]
    return f'["pandas.frame",{",".join(about)},[{",".join(blocks)}]]'


def _column_numbers(places: Any, columns: int) -> str:
    found = places.as_array
    return "null" if len(found) == columns and (found[:-1] < found[1:]).all() else repr(found.tolist()).replace(" ", "")


def _index(pd: Any, index: Any, frames: Frames, depth: int) -> str:
    if type(index) is pd.RangeIndex:
        name = node_of(index.name, frames, depth)
        return f'["pandas.range",{name},{index.start},{index.stop},{index.step}]'
    if isinstance(index, pd.MultiIndex):
        levels = [values.written_out_range(pd, level, len(index)) for level in index.levels]
        parts = (list(index.names), [np.asarray(codes) for codes in index.codes], levels)
        return f'["pandas.multi",{",".join(node_of(part, frames, depth) for part in parts)}]'
    freq = getattr(index, "freq", None) if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex) else None
    freq = None if freq is None else _frequency(freq)
    about = f"{node_of(index.name, frames, depth)},{node_of(freq, frames, depth)}"
    return f'["pandas.index",{about},{values.node(pd, index.array, frames, depth)}]'


@functools.lru_cache(256)
def _frequency(freq: Any) -> str:
    """Return pandas' name for the frequency of an index. Raises CodecError if pandas would parse the name as a
    different frequency."""
    word = str(freq.freqstr)
    try:
        again = lookup.import_package("pandas", EXTRA).tseries.frequencies.to_offset(word)
    except ValueError:
        again = None
    if again != freq:
        raise CodecError(
            "E-NO-FORM",
            f"the frequency {freq!r} of an index has no name",
            "set `index.freq = None` on a copy of the index",
        )
    return word


def _read_frame(node: list[Any], reading: Reading) -> Maker:
    pd = lookup.import_package("pandas", EXTRA)
    asked, reading.as_ = reading.as_, None
    _, columns, index, attrs, blocks = listing(node, 5)
    of, along, more = _shared_index_maker(columns, reading), reading.maker(index), _shared_index_maker(attrs, reading)
    parts = [listing(block, 2) for block in listing(blocks)]
    makers = [(_place(places), values.maker(pd, data, reading)) for places, data in parts]
    reading.as_ = asked

    def make(frames: Any) -> Any:
        named, held = of(frames), [(places, make(frames)) for places, make in makers]
        frame = _join_blocks(pd, held, named, along(frames))
        if attributes := more(frames):
            frame.attrs.update(attributes)
        return frame

    return _converter(make, reading)


def _shared_index_maker(node: Any, reading: Reading) -> Maker:
    """Return a function that builds an index.

    If the header describes the index completely, the index is built once and shared by all decoded objects.
    """
    before, make = reading.taken, reading.maker(node)
    if reading.taken != before or not isinstance(node, list) or not str(node[0]).startswith("pandas."):
        return make
    once: list[Any] = []

    def build(frames: Any) -> Any:
        if not once:
            once.append(make(frames))
        return once[0].view()

    return build


def _place(node: Any) -> Any:
    return None if node is None else [integer(place) for place in listing(node)]


def _join_blocks(pd: Any, held: list[Any], columns: Any, index: Any) -> Any:
    if len(held) == 1 and held[0][0] is None and type(held[0][1]) is np.ndarray and held[0][1].ndim == 2:
        kind = object if held[0][1].dtype.hasobject else None  # otherwise pandas would infer a different dtype
        return pd.DataFrame(held[0][1].T, index=index, columns=columns, dtype=kind, copy=False)
    found: dict[int, Any] = {}
    for places, block in held:
        many = block if block.ndim == 2 else [block]
        if block.dtype == object:
            many = [pd.Series(row, index=index, dtype=object, copy=False) for row in many]
        found.update(zip(range(len(columns)) if places is None else places, many, strict=True))
    if len(found) != len(columns) or any(not 0 <= place < len(columns) for place in found):
        raise CodecError("E-PARTS", "a pandas frame lacks some of its columns")
    frame = pd.DataFrame({place: found[place] for place in sorted(found)}, index=index, copy=False)
    frame.columns = columns
    return frame


def _converter(make: Maker, reading: Reading) -> Maker:
    if reading.as_ in (None, "pandas"):
        return make
    if reading.as_ == "numpy":
        return lambda frames: make(frames).to_numpy()
    adopt = getattr(lookup.codec_named(reading.as_ or ""), "adopt", None)
    if adopt is None or reading.as_ == "pillow":
        raise CodecError(
            "E-RECEIVE-AS", f"pandas data cannot be received as {reading.as_}", "choose numpy, pyarrow or polars"
        )
    table = lookup.import_package("pyarrow", "pyarrow")
    return lambda frames: adopt(table.Table.from_pandas(make(frames)))


def _read_series(node: list[Any], reading: Reading) -> Maker:
    pd = lookup.import_package("pandas", EXTRA)
    asked, reading.as_ = reading.as_, None
    _, name, attrs, index, data = listing(node, 5)
    called, more, along = (reading.maker(part) for part in (name, attrs, index))
    held, kind = values.maker(pd, data, reading), values.required_dtype(data)
    reading.as_ = asked

    def make(frames: Any) -> Any:
        of = along(frames)
        series = pd.Series(held(frames), index=of, name=called(frames), dtype=kind, copy=False)
        series.attrs.update(more(frames))
        return series

    if asked in ("pyarrow", "polars"):
        return _as_arrow(make, adopter(asked))
    if asked not in (None, "pandas", "numpy"):
        raise CodecError(
            "E-RECEIVE-AS", f"a pandas series cannot be received as {asked}", "choose numpy, pyarrow or polars"
        )
    return _converter(make, reading)


def _as_arrow(make: Maker, convert: Any) -> Maker:
    """Return a function that converts a series, without its index, to an Arrow array or to a Polars series of the same
    name."""
    array = lookup.import_package("pyarrow", "pyarrow").array

    def build(frames: Any) -> Any:
        series = make(frames)
        values = convert(array(series, from_pandas=True))
        return values.alias(series.name) if type(series.name) is str and hasattr(values, "alias") else values

    return build


def _read_index(node: list[Any], reading: Reading) -> Maker:
    pd = lookup.import_package("pandas", EXTRA)
    _, name, freq, data = listing(node, 4)
    called, often, held = reading.maker(name), reading.maker(freq), values.maker(pd, data, reading)
    kind = values.required_dtype(data)

    def make(frames: Any) -> Any:
        index = pd.Index(held(frames), name=called(frames), dtype=kind, copy=False)
        step = often(frames)
        return index if step is None else type(index)(index, freq=text(step))

    return make


def _read_range(node: list[Any], reading: Reading) -> Maker:
    pd = lookup.import_package("pandas", EXTRA)
    _, name, *limits = listing(node, 5)
    if not all(type(limit) is int and abs(limit) < 2**62 for limit in limits):
        raise CodecError("E-PARTS", "a pandas range has no valid start, stop or step")
    called = reading.maker(name)
    reading.free += len(range(*limits)) if reading.dense else 0
    return lambda frames: pd.RangeIndex(*limits, name=called(frames))


def _read_multi(node: list[Any], reading: Reading) -> Maker:
    pd = lookup.import_package("pandas", EXTRA)
    makers = values.makers_without_ranges(listing(node, 4)[1:], reading)
    return lambda frames: values.levels_of(pd, *[make(frames) for make in makers])


def _read_array(node: list[Any], reading: Reading) -> Maker:
    pd, held = lookup.import_package("pandas", EXTRA), listing(node, 2)[1]
    make = values.maker(pd, held, reading)
    if reading.as_ == "numpy" or listing(held)[:1] not in (["numpy"], ["object"]):
        return make
    wrapper = getattr(pd.arrays, "NumpyExtensionArray", None) or pd.arrays.PandasArray
    return lambda frames: wrapper(make(frames))


def _read_unique(node: list[Any], reading: Reading) -> Maker:
    """Return a function that builds a data frame or series that rejects duplicate labels."""
    make = reading.maker(listing(node, 2)[1])

    def build(frames: Any) -> Any:
        made = make(frames)
        if hasattr(made, "flags") and hasattr(made, "attrs"):
            made.flags.allows_duplicate_labels = False
        return made

    return build


def _read_missing(node: list[Any], reading: Reading) -> Maker:
    value = getattr(lookup.import_package("pandas", EXTRA), listing(node, 1)[0].partition(".")[2])
    return lambda _: value


def adopt(obj: Any) -> Any:
    """Convert a NumPy array of one or two dimensions, or an Arrow table, to pandas."""
    pd = lookup.import_package("pandas", EXTRA)
    if hasattr(obj, "to_pandas"):
        return obj.to_pandas()
    return pd.Series(obj, copy=False) if obj.ndim == 1 else pd.DataFrame(obj, copy=False)


READERS = {
    "pandas.frame": _read_frame,
    "pandas.series": _read_series,
    "pandas.index": _read_index,
    "pandas.range": _read_range,
    "pandas.multi": _read_multi,
    "pandas.array": _read_array,
    "pandas.unique": _read_unique,
    **dict.fromkeys(("pandas.timestamp", "pandas.timedelta"), values.read_moment),
    **dict.fromkeys(("pandas.NA", "pandas.NaT"), _read_missing),
}


FORM = Form(
    lambda array, _: lookup.import_package("pandas", EXTRA).DataFrame(rows(array)),
    lambda frame: frame.to_numpy(),
    noun="a pandas DataFrame",
)
