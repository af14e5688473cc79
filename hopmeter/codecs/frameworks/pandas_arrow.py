"""pandas with Arrow's memory behind each column, for a row beside NumPy's: the same codec, other columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Array, Form, rows
from hopmeter.codecs.frameworks import pandas
from hopmeter.codecs.lookup import required

ROOTS = ()
PACKAGE = "pandas"
EXTRA = pandas.EXTRA
ALSO = ("pyarrow",)
MEGABYTES = pandas.MEGABYTES
READERS: dict[str, Any] = {}


def adopt(obj: Any) -> Any:
    """Arrays of NumPy's of one or two dimensions, tables of Arrow's."""
    if hasattr(obj, "to_pandas"):
        return obj.to_pandas(types_mapper=required("pandas", EXTRA).ArrowDtype)
    return _backed(pandas.adopt(obj), obj.dtype)


def _backed(frame: Any, dtype: Any) -> Any:
    pd, pa = required("pandas", EXTRA), required("pyarrow", "pyarrow")
    return frame.astype(pd.ArrowDtype(pa.from_numpy_dtype(dtype)))


def _read(frame: Any) -> Array:
    """Column by column; CodecError for a frame that lost Arrow's memory on its way."""
    kind = required("pandas", EXTRA).ArrowDtype
    if not all(isinstance(dtype, kind) for dtype in frame.dtypes):
        raise CodecError("a frame of pandas's whose columns are not Arrow's")
    return np.column_stack([frame[name].array.__arrow_array__().to_numpy() for name in frame])


FORM = Form(lambda array, _: _backed(required("pandas", EXTRA).DataFrame(rows(array)), array.dtype), _read)
