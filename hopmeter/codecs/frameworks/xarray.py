"""The xarray codec: arrays, datasets and variables with names, coordinates and attributes.

The data of an xarray object may use any other codec.
"""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from hopmeter.codecs import lookup
from hopmeter.codecs.checks import listing, mapping
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.values import pandas_values as values
from hopmeter.codecs.writing import KEPT, Frames, node_of, refusal

NOTHING = '["dict",[]]'
"""The header node of empty attributes."""
_dims: dict[Any, str] = {}
ROOTS = ("xarray",)
EXTRA = "xarray"
MEGABYTES = (13, 60)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append an xarray object without its indexes to `frames`, and return the object's header node.

    The receiver rebuilds the indexes from the coordinates.
    """
    xr = lookup.import_package("xarray", EXTRA)
    if type(obj) is xr.DataArray:
        coords = obj.coords.variables
        if coords:
            _refuse_indexes(xr, coords, obj.xindexes)
        name = "null" if obj.name is None else node_of(obj.name, frames, depth)
        variable = _variable(obj.variable, frames, depth)
        return f'["xarray.array",{name},{variable},{_variables(coords, frames, depth) if coords else "[]"}]'
    if type(obj) is xr.Dataset:
        coords = obj.coords.variables
        _refuse_indexes(xr, coords, obj.xindexes)
        attrs = node_of(dict(obj.attrs), frames, depth)
        names = {name: obj.variables[name] for name in obj.data_vars}
        return f'["xarray.dataset",{attrs},{_variables(names, frames, depth)},{_variables(coords, frames, depth)}]'
    if type(obj) is xr.Variable:
        return f'["xarray.variable",{_variable(obj, frames, depth)}]'
    if type(obj) is xr.IndexVariable:
        return f'["xarray.variable",{_variable(obj, frames, depth)},"index"]'
    if isinstance(obj, xr.DataArray | xr.Dataset):
        raise refusal(obj, "a subclass may hold more; send `xarray.DataArray(it)` or `xarray.Dataset(it)`")
    raise refusal(obj, "send arrays, datasets or variables")


def _refuse_indexes(xr: Any, coords: Any, indexes: Any) -> None:
    """Raise CodecError for indexes that the receiver does not rebuild.

    The receiver builds indexes only for coordinates that are named after their own dimension.
    """
    kinds = {name: type(of) for name, of in indexes.items()}
    usual = {name for name, of in coords.items() if of.dims == (name,)}
    odd = kinds.keys() ^ usual or {name for name, kind in kinds.items() if kind is not xr.indexes.PandasIndex}
    if odd and xr.indexes.PandasMultiIndex not in kinds.values():
        raise CodecError(
            "E-NO-FORM",
            f"the index of the coordinate {min(map(str, odd))!r} would not be recreated",
            "use `drop_indexes` and a coordinate that is named after its dimension",
        )


def _variable(variable: Any, frames: Frames, depth: int) -> str:
    dims, attrs = variable.dims, variable.attrs
    named = _dims.get(dims) or _dimension_names(dims, frames, depth)
    about = node_of(attrs, frames, depth) if attrs else NOTHING
    data = variable.data
    if hasattr(variable, "get_level_variable") and (type(data) is not ndarray or data.dtype.kind in "mM"):
        index = variable.to_index()
        if type(data) is not ndarray or getattr(index, "freq", None) is not None:
            return f"[{named},{about},{node_of(index, frames, depth)}]"
    if type(data) is ndarray and data.dtype.char == "O":
        return f"[{named},{about},{_objects(variable, data, frames, depth)}]"
    return f"[{named},{about},{node_of(data, frames, depth)}]"


def _objects(variable: Any, data: Any, frames: Frames, depth: int) -> str:
    """Return the header node of a variable with the object dtype. Text and numbers are encoded like pandas values. An
    index variable is sent as a pandas index, which keeps its dtype."""
    pd = lookup.import_package("pandas", "pandas")
    index = variable.to_index() if hasattr(variable, "get_level_variable") else None
    if isinstance(index, pd.MultiIndex):
        raise refusal(index, "remove the multi-level index first: `reset_index`")
    if index is not None:
        return node_of(index, frames, depth)
    if isinstance(variable.dtype, pd.api.extensions.ExtensionDtype):
        return node_of(pd.array(data, dtype=variable.dtype), frames, depth)
    return f'["xarray.objects",{values.node(pd, data, frames, depth)}]'


def _dimension_names(dims: Any, frames: Frames, depth: int) -> str:
    """Return the header node of a tuple of dimension names. The header node is cached, except if a very long name needs
    a separate frame."""
    before, node = len(frames), node_of(dims, frames, depth)
    if len(frames) != before:
        return node
    if len(_dims) >= KEPT:
        _dims.clear()
    return _dims.setdefault(dims, node)


def _variables(found: Any, frames: Frames, depth: int) -> str:
    pairs = (f"[{node_of(name, frames, depth)},{_variable(of, frames, depth)}]" for name, of in found.items())
    return f"[{','.join(pairs)}]"


def _variable_maker(node: Any, reading: Reading) -> Maker:
    xr = lookup.import_package("xarray", EXTRA)
    dims, attrs, data = listing(node, 3)
    before, named = reading.taken, reading.maker(dims)
    fixed = None if reading.taken != before else _names(named(()))
    about = None if attrs == ["dict", []] else reading.maker(attrs)
    held = reading.maker(data)

    def make(frames: Any) -> Any:
        data = held(frames)
        # Such arrays contain no times, objects or subclasses, so xarray need not search them for special values.
        plain = type(data) is ndarray and data.dtype.kind in "biufcO" and data.ndim > 0
        if not plain and not hasattr(data, "shape"):
            raise CodecError("E-PARTS", "an xarray variable lacks its array")
        along = named(frames) if fixed is None else fixed
        if type(along) is not tuple:  # xarray would expand a range of any length to a tuple
            raise CodecError("E-PARTS", "the dimensions of an xarray variable are not a tuple")
        return xr.Variable(along, data, None if about is None else about(frames) or None, fastpath=plain)

    return make


def _read_objects(node: list[Any], reading: Reading) -> Maker:
    return values.maker(lookup.import_package("pandas", "pandas"), listing(node, 2)[1], reading)


def _names(dims: Any) -> Any:
    """Return the dimension names if they are a tuple of strings, otherwise None."""
    return dims if type(dims) is tuple and all(type(name) is str for name in dims) else None


def _variables_maker(node: Any, reading: Reading) -> Maker:
    pairs = [listing(pair, 2) for pair in listing(node)]
    return mapping([(reading.maker(name), _variable_maker(of, reading)) for name, of in pairs])


def _read_variable(node: list[Any], reading: Reading) -> Maker:
    _, variable, *kind = listing(node, None if node[2:] == ["index"] else 2)
    xr = lookup.import_package("xarray", EXTRA)
    if not kind:
        return _converter(reading, lambda: _variable_maker(variable, reading))

    def build() -> Maker:
        make = _variable_maker(variable, reading)
        return lambda frames: _to_index_variable(xr, make(frames))

    return _converter(reading, build)


def _to_index_variable(xr: Any, variable: Any) -> Any:
    return xr.IndexVariable(variable.dims, variable._data, variable.attrs or None)


def _read_array(node: list[Any], reading: Reading) -> Maker:
    xr = lookup.import_package("xarray", EXTRA)
    _, name, variable, coords = listing(node, 4)

    def build() -> Maker:
        called, of, along = reading.maker(name), _variable_maker(variable, reading), _variables_maker(coords, reading)

        def make(frames: Any) -> Any:
            return xr.DataArray(of(frames), coords=along(frames) or None, name=called(frames))

        def make_without_coords(frames: Any) -> Any:
            return xr.DataArray(of(frames), coords={}, name=called(frames), indexes={}, fastpath=True)

        return make if coords else make_without_coords

    return _converter(reading, build)


def _read_dataset(node: list[Any], reading: Reading) -> Maker:
    xr = lookup.import_package("xarray", EXTRA)
    _, attrs, names, coords = listing(node, 4)
    parts = reading.maker(attrs), _variables_maker(names, reading), _variables_maker(coords, reading)
    if reading.as_ not in (None, "xarray"):
        raise CodecError(
            "E-RECEIVE-AS",
            f"a dataset cannot be received as {reading.as_}",
            "choose the framework of its arrays, or omit the framework",
        )
    return lambda frames: xr.Dataset(parts[1](frames), parts[2](frames), parts[0](frames))


def _converter(reading: Reading, build: Any) -> Maker:
    """Return a function that builds an xarray object.

    If the receiver requests NumPy, the returned function builds only the object's data.
    """
    asked, reading.as_ = reading.as_, None
    make: Maker = build()
    reading.as_ = asked
    if asked in (None, "xarray"):
        return make
    if asked != "numpy":
        raise CodecError("E-RECEIVE-AS", f"xarray data cannot be received as {asked}", "choose numpy or none")
    return lambda frames: make(frames).to_numpy()


def adopt(obj: Any) -> Any:
    """Return a DataArray with default dimension names."""
    return lookup.import_package("xarray", EXTRA).DataArray(obj)


READERS = {
    "xarray.array": _read_array,
    "xarray.dataset": _read_dataset,
    "xarray.variable": _read_variable,
    "xarray.objects": _read_objects,
}


FORM = Form(lambda array, _: adopt(array), lambda array: array.to_numpy(), noun="an xarray DataArray")
