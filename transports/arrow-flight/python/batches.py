"""Frames as record batches with one row and one binary column."""

from __future__ import annotations

import struct

import pyarrow as pa
from pyarrow import ipc

from hopmeter.node.buffers import write_frame
from hopmeter.node.contract import Fill, Setup

SCHEMA = pa.schema([pa.field("frame", pa.binary(), nullable=False)])
OFFSETS = struct.Struct("=ii")
NO_FRAME = pa.py_buffer(b"")


def write_batch(payload_bytes: int, fill: Fill) -> pa.RecordBatch:
    """Return a new record batch, which refers to the memory of the frame that `fill` writes."""
    frame = write_frame(payload_bytes, fill)
    offsets = OFFSETS.pack(0, len(frame))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(frame)]
    column = pa.Array.from_buffers(pa.binary(), 1, buffers)
    return pa.RecordBatch.from_arrays([column], schema=SCHEMA)


def read_batch(batch: pa.RecordBatch | None) -> pa.Buffer:
    """Return the frame of a received record batch, without a copy.

    The frame is empty, and therefore malformed, if the batch does not contain exactly one frame. `batch` is None if a
    Flight message contains only metadata.
    """
    if batch is None or batch.num_rows != 1 or batch.schema != SCHEMA:
        return NO_FRAME
    try:
        batch.validate(full=True)  # Arrow's readers do not check a column's offsets
    except pa.ArrowInvalid:
        return NO_FRAME
    return batch.column(0)[0].as_buffer() or NO_FRAME  # a null value has no buffer


def write_options(setup: Setup) -> ipc.IpcWriteOptions:
    """Return the options for writing record batches, with the compression of the settings."""
    compression = setup.settings["compression"]
    return ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
