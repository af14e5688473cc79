"""The Polars codec: data frames and series are sent as Arrow tables. Text columns are sent in Arrow's string-view
layout, without a copy."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs import lookup
from hopmeter.codecs.arrow import types
from hopmeter.codecs.checks import listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form, rows
from hopmeter.codecs.frameworks.pyarrow import adopter
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ROOTS = ("polars",)
EXTRA = "polars"
ALSO = ("pyarrow",)
MOST_ROWS = 2**32 - 1
"""The maximum number of rows. Polars counts rows in 32 bits, and reserves the largest 32-bit number."""
DAYS = 95_000_000
"""The largest distance from 1970, in days, that Polars can display. The distance corresponds to 260,000 years."""
IN_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append the memory of a data frame or series to `frames`, and return its header node.

    Raises CodecError for a lazy frame, which contains a query plan instead of data.
    """
    pl = lookup.import_package("polars", EXTRA)
    if type(obj) is pl.DataFrame:
        return f'["polars.frame",{node_of(_table(pl, obj), frames, depth)}]'
    if type(obj) is pl.Series:
        name = node_of(obj.name, frames, depth)
        return f'["polars.series",{name},{node_of(_table(pl, obj.to_frame()), frames, depth)}]'
    if isinstance(obj, pl.DataFrame | pl.Series):
        raise refusal(
            obj,
            f"a subclass may hold more; send `polars.{'DataFrame' if isinstance(obj, pl.DataFrame) else 'Series'}(it)`",
        )
    raise refusal(obj, "collect a lazy frame first: `frame.collect()`")


def _table(pl: Any, frame: Any) -> Any:
    """Return the Arrow table of a data frame.

    The fields of the table's schema describe Polars types that Arrow lacks, such as `Enum` and named categories.
    """
    if pl.Object in frame.dtypes:
        raise refusal(frame, "a column of Python objects cannot be represented; cast it")
    try:
        return frame.to_arrow(compat_level=pl.CompatLevel.newest())
    except lookup.import_package("pyarrow", "pyarrow").ArrowException as cause:
        raise CodecError(
            "E-ARROW-TYPE", f"Arrow cannot represent a Polars column: {cause}", "cast the column: Int128 to Decimal"
        ) from cause


def _read_frame(node: list[Any], reading: Reading) -> Maker:
    make = reading.maker(listing(node, 2)[1])
    if reading.as_ not in (None, "polars"):
        return make
    pl = lookup.import_package("polars", EXTRA)
    return make if reading.as_ else lambda frames: _from_arrow(pl, make(frames))


def _read_series(node: list[Any], reading: Reading) -> Maker:
    _, name, table = listing(node, 3)
    called, asked = _valid_name(text(name)), reading.as_
    reading.as_ = None
    make = reading.maker(table)
    reading.as_ = asked
    if asked in (None, "polars"):
        return lambda frames: adopt(make(frames)).to_series(0).alias(called)
    convert = adopter(asked)
    return lambda frames: convert(_array(make(frames).column(0)))


def _array(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _from_arrow(pl: Any, obj: Any) -> Any:
    """Convert an Arrow table or array to Polars. Raises CodecError for values that would make Polars panic."""
    pa = lookup.import_package("pyarrow", "pyarrow")
    if _has_moments(pa, obj.schema if hasattr(obj, "schema") else [pa.field("", obj.type)]):
        _check_moments(pa, getattr(obj, "columns", [obj]))
    if len(obj) >= MOST_ROWS and pl.get_index_type() == pl.UInt32:
        raise CodecError(
            "E-FRAMEWORK-LIMIT",
            f"{len(obj)} rows are too many for Polars",
            "install polars[rt64], or receive the table as pyarrow",
        )
    return pl.from_arrow(obj)


def _has_moments(pa: Any, fields: Any) -> bool:
    """Return whether any field contains times or durations.

    Raises CodecError for types and names that make Polars panic.
    """
    found, is_wide = False, pa.types.is_decimal256
    for field in types.fields(fields):
        if is_wide(field.type):
            raise CodecError("E-FRAMEWORK-DTYPE", "Polars has no decimals of 256 bits", "receive the object as pyarrow")
        _valid_name(field.name)
        found = found or _largest_moment(pa, field.type) > 0
    return found


def _valid_name(name: str) -> str:
    if "\0" in name:  # Polars panics when it exports a column whose name contains a null character
        raise CodecError("E-FRAMEWORK-LIMIT", "the name of a Polars column contains a zero byte", "rename it")
    return name


def _check_moments(pa: Any, columns: list[Any]) -> None:
    """Raise CodecError for times and durations that Polars can store but cannot display without a panic."""
    min_max = lookup.import_package("pyarrow.compute", "pyarrow").min_max
    for array in [one for column in columns for one in types.nested_arrays(pa, column)]:
        most = _largest_moment(pa, array.type)
        ends = min_max(array.view(f"int{array.type.bit_width}")).as_py() if most else {}
        if any(end is not None and abs(end) > most for end in ends.values()):
            raise CodecError(
                "E-FRAMEWORK-DTYPE", f"a {array.type} exceeds the range of Polars", "receive it as pyarrow"
            )


def _largest_moment(pa: Any, of: Any) -> int:
    """Return the largest value that Polars can display for a time type, or 0 if the type has no limit."""
    types = pa.types
    if types.is_date(of):
        return DAYS if types.is_date32(of) else DAYS * IN_A_DAY["ms"]
    is_one = types.is_timestamp(of) or types.is_duration(of)
    return DAYS * IN_A_DAY.get(of.unit, 0) if is_one else 0


def adopt(obj: Any) -> Any:
    """Convert an Arrow table, an Arrow array or a NumPy array to Polars."""
    pl = lookup.import_package("polars", EXTRA)
    if type(obj).__module__.partition(".")[0] == "pyarrow":
        return _from_arrow(pl, obj)
    return pl.Series(obj) if getattr(obj, "ndim", 0) == 1 else pl.from_numpy(obj)


READERS = {"polars.frame": _read_frame, "polars.series": _read_series}


FORM = Form(
    lambda array, _: lookup.import_package("polars", EXTRA).DataFrame(rows(array)),
    lambda frame: frame.to_numpy(),
    noun="a Polars DataFrame",
)
