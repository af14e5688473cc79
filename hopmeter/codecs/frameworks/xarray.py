"""xarray: arrays, datasets and variables with names, coordinates and attributes; the data may be of any codec."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import listing
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refused

ROOTS = ("xarray",)
EXTRA = "xarray"
MEGABYTES = (13, 60)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Indexes are made anew by the receiver from their coordinates."""
    xr = lookup.required("xarray", EXTRA)
    if isinstance(obj, xr.DataArray):
        name = node_of(obj.name, frames, depth)
        variable = _variable(obj.variable, frames, depth)
        return f'["xarray.array",{name},{variable},{_variables(obj.coords, frames, depth)}]'
    if isinstance(obj, xr.Dataset):
        attrs = node_of(dict(obj.attrs), frames, depth)
        names = {name: obj[name] for name in obj.data_vars}
        return f'["xarray.dataset",{attrs},{_variables(names, frames, depth)},{_variables(obj.coords, frames, depth)}]'
    if isinstance(obj, xr.Variable):
        return f'["xarray.variable",{_variable(obj, frames, depth)}]'
    raise refused(obj, "send arrays, datasets or variables")


def _variable(variable: Any, frames: Frames, depth: int) -> str:
    parts = (variable.dims, variable.attrs, variable.data)
    return f"[{','.join([node_of(part, frames, depth) for part in parts])}]"


def _variables(found: Any, frames: Frames, depth: int) -> str:
    pairs = (f"[{node_of(name, frames, depth)},{_variable(of.variable, frames, depth)}]" for name, of in found.items())
    return f"[{','.join(pairs)}]"


def _variable_maker(node: Any, reading: Reading) -> Maker:
    xr = lookup.required("xarray", EXTRA)
    dims, attrs, data = (reading.maker(part) for part in listing(node, 3))

    def make(frames: Any) -> Any:
        values = data(frames)
        if not hasattr(values, "shape"):
            raise CodecError("a variable of xarray's without an array")
        return xr.Variable(dims(frames), values, attrs(frames) or None)

    return make


def _variables_maker(node: Any, reading: Reading) -> Maker:
    pairs = [listing(pair, 2) for pair in listing(node)]
    makers = [(reading.maker(name), _variable_maker(of, reading)) for name, of in pairs]
    return lambda frames: {name(frames): of(frames) for name, of in makers}


def _read_variable(node: list[Any], reading: Reading) -> Maker:
    return _own(reading, lambda: _variable_maker(listing(node, 2)[1], reading))


def _read_array(node: list[Any], reading: Reading) -> Maker:
    xr = lookup.required("xarray", EXTRA)
    _, name, variable, coords = listing(node, 4)

    def build() -> Maker:
        called, of, along = reading.maker(name), _variable_maker(variable, reading), _variables_maker(coords, reading)

        def make(frames: Any) -> Any:
            return xr.DataArray(of(frames), coords=along(frames) or None, name=called(frames))

        def bare(frames: Any) -> Any:
            return xr.DataArray(of(frames), coords={}, name=called(frames), indexes={}, fastpath=True)

        return make if coords else bare

    return _own(reading, build)


def _read_dataset(node: list[Any], reading: Reading) -> Maker:
    xr = lookup.required("xarray", EXTRA)
    _, attrs, names, coords = listing(node, 4)
    parts = reading.maker(attrs), _variables_maker(names, reading), _variables_maker(coords, reading)
    if reading.as_ not in (None, "xarray"):
        raise CodecError(f"a dataset cannot be received as {reading.as_}", "ask for its arrays, or for none")
    return lambda frames: xr.Dataset(parts[1](frames), parts[2](frames), parts[0](frames))


def _own(reading: Reading, build: Any) -> Maker:
    """The data keeps its own framework; asked for as NumPy's, only the data is left."""
    asked, reading.as_ = reading.as_, None
    make: Maker = build()
    reading.as_ = asked
    if asked in (None, "xarray"):
        return make
    if asked != "numpy":
        raise CodecError(f"what is xarray's cannot be received as {asked}", "ask for numpy or for none")
    return lambda frames: make(frames).to_numpy()


def adopt(obj: Any) -> Any:
    """Any array, its dimensions unnamed."""
    return lookup.required("xarray", EXTRA).DataArray(obj)


READERS = {"xarray.array": _read_array, "xarray.dataset": _read_dataset, "xarray.variable": _read_variable}
