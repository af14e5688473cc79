"""Polars: data frames and series, as Arrow's tables; their text stays in views and is not copied."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import listing, text
from hopmeter.codecs.forms import Form, rows
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refused

ROOTS = ("polars",)
EXTRA = "polars"
ALSO = ("pyarrow",)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """A lazy frame is a plan, not data: it is refused."""
    pl = lookup.required("polars", EXTRA)
    newest = pl.CompatLevel.newest()
    if isinstance(obj, pl.DataFrame):
        _refuse_objects(pl, obj, obj.dtypes)
        return f'["polars.frame",{node_of(obj.to_arrow(compat_level=newest), frames, depth)}]'
    if isinstance(obj, pl.Series):
        _refuse_objects(pl, obj, [obj.dtype])
        name, array = node_of(obj.name, frames, depth), obj.to_arrow(compat_level=newest)
        return f'["polars.series",{name},{node_of(array, frames, depth)}]'
    raise refused(obj, "collect a lazy frame first: `frame.collect()`")


def _refuse_objects(pl: Any, obj: Any, dtypes: list[Any]) -> None:
    if pl.Object in dtypes:
        raise refused(obj, "a column of Python objects is not data: cast it")


def _read_frame(node: list[Any], reading: Reading) -> Maker:
    make = reading.maker(listing(node, 2)[1])
    if reading.as_ not in (None, "polars"):
        return make
    pl = lookup.required("polars", EXTRA)
    return make if reading.as_ else lambda frames: pl.from_arrow(make(frames))


def _read_series(node: list[Any], reading: Reading) -> Maker:
    _, name, array = listing(node, 3)
    make, called = reading.maker(array), text(name)
    if reading.as_ not in (None, "polars"):
        return make
    pl = lookup.required("polars", EXTRA)
    return lambda frames: pl.Series(called, make(frames))


def adopt(obj: Any) -> Any:
    """Tables and arrays of Arrow's, arrays of NumPy's."""
    pl = lookup.required("polars", EXTRA)
    if type(obj).__module__.partition(".")[0] == "pyarrow":
        return pl.from_arrow(obj)
    return pl.Series(obj) if getattr(obj, "ndim", 0) == 1 else pl.from_numpy(obj)


READERS = {"polars.frame": _read_frame, "polars.series": _read_series}


FORM = Form(lambda array, _: lookup.required("polars", EXTRA).DataFrame(rows(array)), lambda frame: frame.to_numpy())
