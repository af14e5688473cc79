"""The Python adapter of Arrow Flight rejects invalid batches, and does not wait for receivers that have left."""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from hopmeter import manifest
from hopmeter.node.loading import transport_class
from tests.waiting import wait_for

FLIGHT = manifest.every()["arrow-flight"]
TRANSPORT = transport_class(FLIGHT.folder / "python")
ADAPTER = sys.modules[TRANSPORT.__module__]
SCHEMA = ADAPTER.SCHEMA
LINK = SimpleNamespace(name="flight", wait="callback", address="")
PATIENCE = flight.FlightCallOptions(timeout=20)
FRAME = bytes(range(100))


def batch(*offsets: int, valid: bool = True) -> pa.RecordBatch:
    """Return a batch with the given offsets into `FRAME`. The offsets are written after the batch has been created,
    because pyarrow checks the offsets of a new batch."""
    rows = len(offsets) - 1
    memory = bytearray(4 * len(offsets))
    buffers = [pa.py_buffer(bytes([valid])), pa.py_buffer(memory), pa.py_buffer(FRAME)]
    column = pa.Array.from_buffers(pa.binary(), rows, buffers)
    made = pa.RecordBatch.from_arrays([column], schema=SCHEMA)
    memory[:] = struct.pack(f"={len(offsets)}i", *offsets)
    return made


def batch_of(value: pa.Array, name: str) -> pa.RecordBatch:
    """Return a batch with one column that has another name or type than the column of a frame."""
    return pa.record_batch([value], schema=pa.schema([pa.field(name, value.type, nullable=False)]))


BAD = {
    "only metadata": None,
    "no row": batch(0),
    "two rows": batch(0, 50, 100),
    "too long": batch(0, 1 << 30),
    "outside": batch(1 << 29, 1 << 30),
    "negative": batch(-100, 0),
    "descending": batch(100, 0),
    "null": batch(0, 100, valid=False),
    "other name": batch_of(pa.array([FRAME]), "data"),
    "other type": batch_of(pa.array([7]), "frame"),
    "no column": pa.record_batch([], schema=pa.schema([])),
}


@pytest.fixture
def transport() -> Any:
    return TRANSPORT(
        SimpleNamespace(
            settings=FLIGHT.resolve_settings({}),
            bind="127.0.0.1",
            advertised="127.0.0.1",
            directory="",
            largest_frame_bytes=10_000,
        )
    )


@pytest.fixture
def publisher(transport: Any) -> Iterator[Any]:
    with closing(transport.publisher(LINK)) as publisher:
        yield publisher


def test_a_valid_batch_is_read() -> None:
    assert bytes(ADAPTER.read_batch(batch(0, 100))) == FRAME


@pytest.mark.parametrize("kind", BAD)
def test_an_invalid_batch_has_no_frame(kind: str) -> None:
    assert bytes(ADAPTER.read_batch(BAD[kind])) == b""


def test_a_subscriber_still_receives_after_a_batch_without_a_row(transport: Any, publisher: Any) -> None:
    frames: list[bytes] = []

    def take(frame: Any, _payload: Any = None, *, native: Any = None) -> None:
        frames.append(bytes(frame))

    link = SimpleNamespace(name="flight", wait="block", address=publisher.address)
    with closing(transport.subscriber(link)) as subscriber:
        waiting = wait_for(lambda: publisher._server.queues)[0]
        for sent in (BAD["no row"], batch(0, 100)):
            waiting.put(sent)
        wait_for(lambda: subscriber.poll(0.1, take) and len(frames) == 2)
    assert frames == [b"", FRAME]


def test_a_receiver_that_leaves_before_the_first_batch_leaves_no_queue(publisher: Any) -> None:
    stream = publisher._server.do_get(None, None)
    assert len(publisher._server.queues) == 1
    del stream
    gc.collect()
    assert publisher._server.queues == []


def test_a_stream_that_begins_after_the_end_has_no_batches(publisher: Any) -> None:
    publisher._server.end_streams()
    with flight.FlightClient(publisher.address) as client:
        assert client.do_get(flight.Ticket(b""), PATIENCE).read_all().num_rows == 0
