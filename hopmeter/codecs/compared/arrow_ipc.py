"""Arrow's own messages: a tensor for an array, a stream for a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import required

PACKAGE = "pyarrow"
EXTRA = "pyarrow"


def encode(obj: Any) -> list[Any]:
    """One frame with a copy of an array of NumPy's, a tensor or a table of Arrow's."""
    pa = required("pyarrow", "pyarrow")
    sink = pa.BufferOutputStream()
    if isinstance(obj, np.ndarray | pa.Tensor):
        pa.ipc.write_tensor(pa.Tensor.from_numpy(obj) if isinstance(obj, np.ndarray) else obj, sink)
    elif isinstance(obj, pa.Table):
        with pa.ipc.new_stream(sink, obj.schema) as stream:
            stream.write_table(obj)
    else:
        raise CodecError(f"arrow-ipc has no form for {type(obj).__qualname__}", "send an array or a table")
    kind = b"table" if isinstance(obj, pa.Table) else b"array"
    return [kind, memoryview(sink.getvalue())]


def decode(frames: Sequence[Any]) -> Any:
    """An array or a table in the frame's memory. CodecError for what is none."""
    pa = required("pyarrow", "pyarrow")
    try:
        kind, frame = frames
        if bytes(kind) == b"array":
            return pa.ipc.read_tensor(pa.BufferReader(pa.py_buffer(frame))).to_numpy()
        table = pa.ipc.open_stream(pa.py_buffer(frame)).read_all()
        table.validate(full=True)
    except Exception as cause:
        raise CodecError(f"no message of Arrow's: {cause}") from cause
    return table
