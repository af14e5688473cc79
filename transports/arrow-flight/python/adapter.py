"""The adapter for Arrow Flight with pyarrow: topics are DoGet streams, and calls are DoExchange. ../README.md describes
the record batches. pyarrow calls handlers on gRPC's threads. A separate thread reads each stream, because reading
blocks. If the wait is `block`, gRPC's threads and the reading threads pass messages to the polling thread.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import flight

from hopmeter.node.calls import BlockingCalls, CalledServer
from hopmeter.node.contract import Fill, Link, Setup, Take
from hopmeter.node.credentials import connection_kind, credential, uses_tls
from hopmeter.node.handover import CallbackTransport, opens

from .batches import SCHEMA, read_batch, write_batch, write_options

MARGIN_BYTES = 4096
"""More bytes than Flight adds to any frame."""
UNDER_WAY = 16
"""The maximum number of queued batches per receiver. If a receiver's queue is full, a send is `busy`."""
FAILURES = (pa.ArrowException, OSError)
"""The exceptions that pyarrow raises if a stream or a call fails. An incomplete message raises OSError."""


def connect(setup: Setup, link: Link) -> flight.FlightClient:
    """Connect to a server. If the connection uses TLS, the client verifies the server's certificate."""
    options = [
        ("grpc.max_receive_message_length", setup.largest_frame_bytes + MARGIN_BYTES),
        ("grpc.use_local_subchannel_pool", 1),  # a separate connection for each link end
        ("grpc.enable_http_proxy", 0),
    ]
    trusted = credential(setup, "ca.pem").read_bytes() if uses_tls(setup) else None
    return flight.FlightClient(link.address, tls_root_certs=trusted, generic_options=options)


class FlightServer(flight.FlightServerBase):
    """A Flight server. `address` is the server's location."""

    def __init__(self, setup: Setup, link: Link) -> None:
        is_secure = uses_tls(setup)
        scheme = "grpc+tls" if is_secure else "grpc+tcp"
        pair = [credential(setup, name).read_bytes() for name in ("server.pem", "server.key")] if is_secure else None
        unix = f"grpc+unix://{setup.directory}/{link.name}.flight"
        is_tcp = setup.settings["endpoint"] == "tcp"
        place = f"{scheme}://{setup.bind}:0" if is_tcp else unix
        super().__init__(place, tls_certificates=[tuple(pair)] if pair else None)
        self.address = f"{scheme}://{setup.advertised}:{self.port}" if is_tcp else unix


Queue = queue.SimpleQueue[Any]
"""A queue of record batches for one receiver. None ends the receiver's stream."""


def read_queue(waiting: Queue) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a queue until its end."""
    while (batch := waiting.get()) is not None:
        yield batch


class TopicServer(FlightServer):
    """The server of a publisher, with a stream and a queue for each receiver."""

    def __init__(self, setup: Setup, link: Link) -> None:
        self.queues = list[Queue]()
        self._options = write_options(setup)
        self._lock, self._is_over = threading.Lock(), False
        super().__init__(setup, link)

    def do_get(self, _context: flight.ServerCallContext, _ticket: flight.Ticket) -> flight.GeneratorStream:
        waiting = Queue()
        batches = read_queue(waiting)
        with self._lock:
            self.queues.append(waiting)
            if self._is_over:
                waiting.put(None)
        # pyarrow destroys the generator when its stream ends, even if the receiver left before the first batch.
        weakref.finalize(batches, self.queues.remove, waiting)
        return flight.GeneratorStream(SCHEMA, batches, self._options)

    def end_streams(self) -> None:
        """End all streams after their queued batches. A stream that a receiver opens later ends at once."""
        with self._lock:
            self._is_over = True
            for waiting in list(self.queues):
                waiting.put(None)


class Publisher:
    """A publisher. Every receiver opens a stream from the publisher's server."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._server = TopicServer(transport.setup, link)
        self.address = self._server.address

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        queues = list(self._server.queues)
        if any(waiting.qsize() >= UNDER_WAY for waiting in queues):
            return False
        batch = write_batch(payload_bytes, fill)
        for waiting in queues:
            waiting.put(batch)
        return True

    def close(self) -> None:
        self._server.end_streams()
        self._server.shutdown()


class Subscription:
    """A stream. A separate thread reads the stream and calls `on_frame`."""

    def __init__(self, setup: Setup, link: Link, on_frame: Take) -> None:
        self._client = connect(setup, link)
        self._reader = self._client.do_get(flight.Ticket(link.name))
        self._thread = threading.Thread(target=self._read, args=[on_frame])
        self._thread.start()

    def _read(self, on_frame: Take) -> None:
        with contextlib.suppress(*FAILURES):  # no more messages come after a disconnection or a close
            for chunk in self._reader:
                on_frame(read_batch(chunk.data))

    def close(self) -> None:
        self._reader.cancel()
        self._thread.join()
        self._client.close()


class Client(BlockingCalls):
    """A client. The client's thread makes each call as one exchange."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._client, self._options = connect(transport.setup, link), write_options(transport.setup)
        self._descriptor = flight.FlightDescriptor.for_path(link.name)
        self._reader: Any = None
        super().__init__(write_batch, self._exchange)

    def _exchange(self, request: pa.RecordBatch) -> tuple[Any] | None:
        """Return the reply, or None if the server has disconnected or has not answered."""
        with contextlib.suppress(*FAILURES, StopIteration):
            writer, self._reader = self._client.do_exchange(self._descriptor)
            with writer:
                writer.begin(SCHEMA, options=self._options)
                writer.write_batch(request)
                writer.done_writing()
                return (read_batch(self._reader.read_chunk().data),)
        return None

    def _interrupt(self) -> None:
        if self._reader is not None:
            self._reader.cancel()

    def close(self) -> None:
        self.stop(self._interrupt)
        self._client.close()


class CallServer(FlightServer):
    """The Flight server of an rpc link. The server answers the one request of each exchange."""

    def __init__(self, setup: Setup, link: Link, end: Server) -> None:
        self._options, self._end = write_options(setup), end
        super().__init__(setup, link)

    def do_exchange(self, _context: Any, _descriptor: Any, reader: Any, writer: Any) -> None:
        with contextlib.suppress(StopIteration):
            reply = self._end.answer(read_batch(reader.read_chunk().data))
            if reply is not None:  # an exchange without a reply ends without a record batch
                writer.begin(SCHEMA, options=self._options)
                writer.write_batch(reply)


class Server(CalledServer):
    """A server. gRPC's threads call its handler."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(write_batch)
        self._server = CallServer(transport.setup, link, self)
        self.address = self._server.address

    def close(self) -> None:
        super().close()
        self._server.shutdown()


class Transport(CallbackTransport):
    publisher = opens(Publisher)
    called_server = opens(Server)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        codec = self.settings["compression"]
        batches = "record batches" if codec == "none" else f"record batches compressed with {codec}"
        carrier = connection_kind(setup) if self.settings["endpoint"] == "tcp" else "a Unix socket"
        self.path = f"{batches} over HTTP/2 over {carrier}"

    @staticmethod
    def version() -> str:
        return f"pyarrow {pa.__version__}"

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self.setup, link, on_frame)
