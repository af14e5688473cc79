"""gRPC in Python: unary calls, and streams as topics. ../README.md says which message takes what of a frame.

grpcio calls its handlers on threads of a pool, and a stream is read by a thread that waits for it; `block` is a
hand-over from those.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from hopmeter.node import handover
from hopmeter.node.contract import AdapterError, Fill, Handle, Link, Setup, Take, host

from .messages import Kind, service

RECEIVERS = 64
"""Streams and calls that a server attends to at once, each with a thread."""
UNDER_WAY = 16
"""Messages that wait for a receiver's stream; one more is `busy`."""


def options(setup: Setup) -> list[tuple[str, int]]:
    """No limit to a message's size but the manifest's, a connection for each end, and nobody's proxy on the way."""
    return [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.minimal_stack", int(setup.settings["minimal_stack"])),
    ]


class Bound:
    """A server on an address of its own, with one method."""

    def __init__(self, setup: Setup, link: Link, method: str, handler: Any) -> None:
        self._pool = ThreadPoolExecutor(RECEIVERS)
        self._server = grpc.server(self._pool, options=options(setup))
        handlers = grpc.method_handlers_generic_handler(service("Link"), {method: handler})
        self._server.add_generic_rpc_handlers([handlers])
        unix = f"unix:{setup.directory}/{link.name}.grpc"
        is_tcp = setup.settings["endpoint"] == "tcp"
        port = self._server.add_insecure_port(f"{host(setup)}:0" if is_tcp else unix)
        self.address = f"{host(setup)}:{port}" if is_tcp else unix
        self._server.start()

    def close(self) -> None:
        """Ends all calls that are under way, and the threads that served them: the library leaves those to the garbage
        collector."""
        self._server.stop(None).wait()
        self._pool.shutdown()


class Publisher:
    """A server; every receiver has a stream, and a queue in front of it."""

    def __init__(self, setup: Setup, link: Link, kind: Kind) -> None:
        self._kind, self._queues = kind, list[queue.SimpleQueue[Any]]()
        handler = grpc.unary_stream_rpc_method_handler(
            self._stream, kind.receiver.FromString, kind.message.SerializeToString
        )
        self._bound = Bound(setup, link, f"Stream{kind.name}", handler)
        self.address = self._bound.address

    def _stream(self, _request: Any, context: grpc.ServicerContext) -> Any:
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        context.add_callback(lambda: waiting.put(None))
        self._queues.append(waiting)
        try:
            while (message := waiting.get()) is not None:
                yield message
        finally:
            self._queues.remove(waiting)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if any(waiting.qsize() >= UNDER_WAY for waiting in self._queues):
            return False
        message = self._kind.written(payload_bytes, fill)
        for waiting in list(self._queues):
            waiting.put(message)
        return True

    def close(self) -> None:
        for waiting in list(self._queues):
            waiting.put(None)
        self._bound.close()


class Called:
    """A stream that is read by a thread of its own, which calls."""

    def __init__(self, setup: Setup, link: Link, kind: Kind, on_frame: Take) -> None:
        self._channel = grpc.insecure_channel(link.address, options(setup))
        method = f"/{service('Link')}/Stream{kind.name}"
        opened = self._channel.unary_stream(method, kind.receiver.SerializeToString, kind.message.FromString)
        self._stream = opened(kind.receiver(), wait_for_ready=True)
        self._thread = threading.Thread(target=self._read, args=[kind, on_frame])
        self._thread.start()

    def _read(self, kind: Kind, on_frame: Take) -> None:
        try:
            for message in self._stream:
                on_frame(kind.header(message), kind.payload(message))
        except grpc.RpcError:
            return  # the publisher is gone, or this end was closed: nothing comes any more

    def close(self) -> None:
        self._stream.cancel()
        self._thread.join()
        self._channel.close()


class Client:
    """grpcio's own threads put the replies into a queue."""

    def __init__(self, setup: Setup, link: Link, kind: Kind) -> None:
        self._kind, self._replies = kind, queue.SimpleQueue[Any]()
        self._channel = grpc.insecure_channel(link.address, options(setup))
        method = f"/{service('Link')}/Call{kind.name}"
        self._call = self._channel.unary_unary(method, kind.message.SerializeToString, kind.message.FromString)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        self._call.future(self._kind.written(payload_bytes, fill)).add_done_callback(self._replies.put)
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        """A call that ended without a reply, for its server is gone, is one that nobody answered."""
        try:
            call = self._replies.get(timeout=timeout_s)
        except queue.Empty:
            return 0
        if call.code() is not grpc.StatusCode.OK:
            return 0
        message = call.result()
        take(self._kind.header(message), self._kind.payload(message))
        return 1

    def close(self) -> None:
        self._channel.close()


class Server:
    """Called on grpcio's threads, one request at a time; before it serves, nobody is answered."""

    def __init__(self, setup: Setup, link: Link, kind: Kind) -> None:
        self._kind, self._lock = kind, threading.Lock()
        self._on_request: Handle | None = None
        handler = grpc.unary_unary_rpc_method_handler(
            self._answer, kind.message.FromString, kind.message.SerializeToString
        )
        self._bound = Bound(setup, link, f"Call{kind.name}", handler)
        self.address = self._bound.address

    def poll(self, timeout_s: float, handle: Handle) -> int:
        raise AdapterError("a gRPC server in Python is called", 'use wait = "callback"')

    def serve(self, on_request: Handle) -> Server:
        self._on_request = on_request
        return self

    def _answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        replies: list[Any] = []

        def reply(payload_bytes: int, fill: Fill) -> bool:
            replies.append(self._kind.written(payload_bytes, fill))
            return True

        with self._lock:
            if self._on_request is not None:
                self._on_request(self._kind.header(request), self._kind.payload(request), reply)
        if not replies:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not answered")
        return replies[0]

    def close(self) -> None:
        with self._lock:
            self._on_request = None
        self._bound.close()


class Transport:
    def __init__(self, setup: Setup) -> None:
        self._setup, self._kind = setup, Kind(setup)

    @staticmethod
    def version() -> str:
        return str(grpc.__version__)

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._setup, link, self._kind)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return Called(self._setup, link, self._kind, on_frame)

    def subscriber(self, link: Link) -> handover.Subscriber:
        return handover.Subscriber(lambda on_frame: self.subscribe(link, on_frame))

    def server(self, link: Link) -> Server | handover.Server:
        server = Server(self._setup, link, self._kind)
        return handover.Server(server) if self._setup.wait == "block" else server

    def client(self, link: Link) -> Client:
        return Client(self._setup, link, self._kind)

    def facts(self) -> dict[str, str]:
        way = "TCP" if self._setup.settings["endpoint"] == "tcp" else "a Unix socket"
        return {"path": handover.way(f"HTTP/2 over {way}", self._setup)}

    def close(self) -> None:
        """Every end has closed what it opened."""
