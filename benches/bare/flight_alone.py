"""Make calls between two Python processes over Arrow Flight, and print the median round trip in ns.

`flight_alone.py BYTES ROUNDS CORES`: CORES is `A` or `A,B`, as in bare.py. Each call is one exchange: in each
direction, one record batch with one binary value. The program does the same work as hopmeter's nodes. A separate thread
makes the calls, because calls block. Both processes write and read headers, and store timestamps. The server copies the
request into its reply.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from itertools import count
from pipes import HEADER, RUN, read_numbers
from queue import SimpleQueue
from typing import Any

import bare


def make_batch(schema: Any, seq: int, due_ns: int, content: Any) -> Any:
    """Return a record batch with a new frame. The frame is a copy of `content`, with a header at the start."""
    import pyarrow as pa

    frame = bytearray(content)
    HEADER.pack_into(frame, 0, RUN, seq, due_ns, time.monotonic_ns())
    buffers = [None, pa.py_buffer(struct.pack("=ii", 0, len(frame))), pa.py_buffer(frame)]
    return pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.binary(), 1, buffers)], schema=schema)


def read_frame(chunk: Any) -> Any:
    return chunk.data.column(0)[0].as_buffer()


def make_schema() -> Any:
    import pyarrow as pa

    return pa.schema([pa.field("frame", pa.binary(), nullable=False)])


def serve(port_writer: int) -> None:
    """Answer calls until this process is terminated."""
    from pyarrow import flight

    schema, kept = make_schema(), list[tuple[int, int, int]]()

    class Server(flight.FlightServerBase):
        def do_exchange(self, _context: Any, _descriptor: Any, reader: Any, writer: Any) -> None:
            frame = read_frame(reader.read_chunk())
            arrived_ns = time.monotonic_ns()
            seq, due_ns, _ = read_numbers(frame)
            reply = make_batch(schema, seq, due_ns, frame)
            writer.begin(schema)
            writer.write_batch(reply)
            kept.append((seq, arrived_ns, time.monotonic_ns()))

    server = Server("grpc+tcp://127.0.0.1:0")
    os.write(port_writer, f"{server.port}\n".encode())
    server.serve()


def call_all(port: int, requests: SimpleQueue[Any], replies: SimpleQueue[Any]) -> None:
    """Make a call for each request, until the request is None."""
    from pyarrow import flight

    schema, name = make_schema(), flight.FlightDescriptor.for_path("calls")
    with flight.FlightClient(f"grpc+tcp://127.0.0.1:{port}") as client:
        while (request := requests.get()) is not None:
            writer, reader = client.do_exchange(name)
            with writer:
                writer.begin(schema)
                writer.write_batch(request)
                writer.done_writing()
                replies.put(read_frame(reader.read_chunk()))


def main(content: bytes, rounds: int, cores: str) -> None:
    bare.pin(cores)
    port_reader, port_writer = os.pipe()
    child = bare.other_process(cores)
    if child == 0:
        serve(port_writer)
    requests, replies, numbers, kept = SimpleQueue[Any](), SimpleQueue[Any](), count(), list[tuple[int, int, int]]()
    try:
        port = int(os.read(port_reader, 10))
        schema = make_schema()
        thread = threading.Thread(target=call_all, args=[port, requests, replies])
        thread.start()

        def call() -> int:
            seq, due_ns = next(numbers), time.monotonic_ns()
            request = make_batch(schema, seq, due_ns, content)
            sent_ns = time.monotonic_ns()
            requests.put(request)
            frame = replies.get()
            arrived_ns = time.monotonic_ns()
            assert (read_numbers(frame)[0], len(frame)) == (seq, len(content)), "the reply belongs to another request"
            kept.append((seq, sent_ns, arrived_ns))
            return arrived_ns - sent_ns

        print(bare.median_ns(call, rounds))
        requests.put(None)
        thread.join()
    finally:
        bare.end(child)


if __name__ == "__main__":
    main(os.urandom(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3])
