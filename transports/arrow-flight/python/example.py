"""Sends record batches with Arrow Flight: start `example.py receive`, then `example.py send` in a second terminal.

The sender is the server, and the receiver reads a DoGet stream. For calls, start `example.py serve`, then `example.py
call`. Each call is one DoExchange.
"""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import flight, ipc

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:50052"
COMPRESSION = "none"  # or lz4, zstd
PATIENCE_S = 10.0
LOCATION = f"grpc+tcp://{ADDRESS}"
SCHEMA = pa.schema([pa.field("data", pa.binary(), nullable=False)])
OPTIONS = ipc.IpcWriteOptions(compression=None if COMPRESSION == "none" else COMPRESSION)


class Server(flight.FlightServerBase):
    def __init__(self) -> None:
        self.calls = 0
        self.done = threading.Event()
        super().__init__(LOCATION)

    def do_get(self, _context: Any, ticket: flight.Ticket) -> flight.GeneratorStream:
        if ticket.ticket != TOPIC.encode():
            raise flight.FlightServerError("no such topic")
        return flight.GeneratorStream(SCHEMA, self.batches(), OPTIONS)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from paced_batches()
        self.done.set()

    def do_exchange(self, _context: Any, _descriptor: Any, reader: Any, writer: Any) -> None:
        writer.begin(SCHEMA, options=OPTIONS)
        writer.write_batch(reader.read_chunk().data)  # echoes the request as the reply
        self.calls += 1
        if self.calls == COUNT:
            self.done.set()


def paced_batches() -> Iterator[pa.RecordBatch]:
    batch = pa.record_batch([pa.array([bytes(PAYLOAD_BYTES)], pa.binary())], schema=SCHEMA)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        yield batch


def run_server() -> Server:
    """Run a server until its work is done."""
    server = Server()
    print("ready", flush=True)
    server.done.wait(PATIENCE_S + COUNT / RATE_HZ)
    server.shutdown()
    return server


def connect() -> flight.FlightClient:
    """Connect as soon as the server is listening."""
    client = flight.FlightClient(LOCATION)
    client.wait_for_available(PATIENCE_S)
    return client


def is_whole(batch: pa.RecordBatch) -> bool:
    return batch.column(0)[0].as_buffer().size == PAYLOAD_BYTES


def exchange(client: flight.FlightClient, request: pa.RecordBatch) -> pa.RecordBatch:
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_path(TOPIC))
    with writer:
        writer.begin(SCHEMA, options=OPTIONS)
        writer.write_batch(request)
        writer.done_writing()
        return reader.read_chunk().data


def send() -> None:
    run_server()
    print(f"sent {COUNT} messages")


def receive() -> None:
    print("ready", flush=True)
    with connect() as client:
        count = sum(is_whole(chunk.data) for chunk in client.do_get(flight.Ticket(TOPIC)))
    print(f"received {count} messages")


def call() -> None:
    with connect() as client:
        count = sum(is_whole(exchange(client, each)) for each in paced_batches())
    print(f"received {count} replies")


def serve() -> None:
    print(f"answered {run_server().calls} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
