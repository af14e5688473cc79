"""The pandas codec with each column in Arrow memory, for comparison with columns in NumPy memory."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Array, Form, rows
from hopmeter.codecs.frameworks import pandas
from hopmeter.codecs.lookup import import_package

ROOTS = ()
PACKAGE = "pandas"
EXTRA = pandas.EXTRA
ALSO = ("pyarrow",)
MEGABYTES = pandas.MEGABYTES
READERS: dict[str, Any] = {}


def adopt(obj: Any) -> Any:
    """Convert a NumPy array of one or two dimensions, or an Arrow table, to pandas with Arrow columns."""
    if hasattr(obj, "to_pandas"):
        return obj.to_pandas(types_mapper=import_package("pandas", EXTRA).ArrowDtype)
    return _with_arrow_dtype(pandas.adopt(obj), obj.dtype)


def _with_arrow_dtype(frame: Any, dtype: Any) -> Any:
    pd, pa = import_package("pandas", EXTRA), import_package("pyarrow", "pyarrow")
    return frame.astype(pd.ArrowDtype(pa.from_numpy_dtype(dtype)))


def _read(frame: Any) -> Array:
    """Return a data frame's values as an array. Raises CodecError if the columns have different Arrow types."""
    (kind, *others) = set(frame.dtypes)
    if others or not isinstance(kind, import_package("pandas", EXTRA).ArrowDtype):
        raise CodecError("E-PARTS", "the columns of a pandas frame do not all have the same Arrow type")
    read: Array = frame.to_numpy(dtype=kind.numpy_dtype)
    return read


FORM = Form(
    lambda array, _: _with_arrow_dtype(import_package("pandas", EXTRA).DataFrame(rows(array)), array.dtype),
    _read,
    noun="a pandas DataFrame with Arrow columns",
)
