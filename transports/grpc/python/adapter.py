"""The adapter for gRPC in Python: unary calls, and streams as topics. ../README.md describes the fields. grpcio calls
handlers on pool threads. A thread that reads a stream blocks. If the wait is `block`, grpcio's threads pass messages to
the polling thread.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import Fill, Link, Setup, Take
from hopmeter.node.credentials import credential
from hopmeter.node.handover import CallbackTransport, opens

from .messages import SERVICE, Kind

RECEIVERS = 64
"""The maximum number of streams and calls that a server handles at once, each on its own thread."""
MESSAGE_BYTES = 4096
"""The maximum size of the field tags and lengths that a message adds to its frame, with a margin."""
UNDER_WAY = 16
"""The maximum number of queued messages per receiver. If a receiver's queue is full, a send is `busy`."""


def options(setup: Setup) -> list[tuple[str, int]]:
    """Return the channel options: the maximum message size, a separate connection for each link end, and no proxy."""
    return [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", setup.largest_frame_bytes + MESSAGE_BYTES),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.minimal_stack", int(setup.settings["minimal_stack"])),
    ]


def open_channel(setup: Setup, link: Link) -> grpc.Channel:
    """Connect to a server. If the connection uses TLS, the client verifies the server's certificate."""
    if setup.settings["security"] == "off":
        return grpc.insecure_channel(link.address, options(setup))
    trusted = grpc.ssl_channel_credentials(credential(setup, "ca.pem").read_bytes())
    return grpc.secure_channel(link.address, trusted, options(setup))


class BindingEnd:
    """A gRPC server with one method, at its own address."""

    def bind(self, transport: Transport, link: Link, method: str, handler: Any) -> None:
        self._pool = ThreadPoolExecutor(RECEIVERS)
        self._server = grpc.server(self._pool, options=options(transport.setup))
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {method: handler})])
        unix = f"unix:{transport.setup.directory}/{link.name}.grpc"
        port = self._listen(transport.setup, f"{transport.setup.bind}:0" if transport.is_tcp else unix)
        self.address = f"{transport.setup.advertised}:{port}" if transport.is_tcp else unix
        self._server.start()

    def _listen(self, setup: Setup, address: str) -> int:
        if setup.settings["security"] == "off":
            return int(self._server.add_insecure_port(address))
        key, certificate = (credential(setup, name).read_bytes() for name in ("server.key", "server.pem"))
        return int(self._server.add_secure_port(address, grpc.ssl_server_credentials([(key, certificate)])))

    def close(self) -> None:
        """Stop all running calls and their threads explicitly, because grpcio leaves them to the garbage collector."""
        self._server.stop(None).wait()
        self._pool.shutdown()


class Publisher(BindingEnd):
    """A publisher: a gRPC server with a stream and a queue for each receiver."""

    def __init__(self, transport: Transport, link: Link) -> None:
        kind = self._kind = Kind(link)
        self._queues = list[queue.SimpleQueue[Any]]()
        encode, _ = kind.coders
        handler = grpc.unary_stream_rpc_method_handler(self._stream, kind.receiver.FromString, encode)
        self.bind(transport, link, f"Stream{kind.name}", handler)

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
        message = self._kind.write(payload_bytes, fill)
        for waiting in list(self._queues):
            waiting.put(message)
        return True

    def close(self) -> None:
        for waiting in list(self._queues):
            waiting.put(None)
        super().close()


class Subscription:
    """A stream that a separate thread reads, which calls `on_frame`."""

    def __init__(self, setup: Setup, link: Link, on_frame: Take) -> None:
        kind = Kind(link)
        self._channel = open_channel(setup, link)
        method, (_, decode) = f"/{SERVICE}/Stream{kind.name}", kind.coders
        open_stream = self._channel.unary_stream(method, kind.receiver.SerializeToString, decode)
        self._stream = open_stream(kind.receiver(), wait_for_ready=True)
        self._thread = threading.Thread(target=self._read, args=[kind, on_frame])
        self._thread.start()

    def _read(self, kind: Kind, on_frame: Take) -> None:
        try:
            for message in self._stream:
                on_frame(*kind.read(message))
        except grpc.RpcError:
            return  # no more messages will come after a disconnection or a close

    def close(self) -> None:
        self._stream.cancel()
        self._thread.join()
        self._channel.close()


class Client:
    """A client. grpcio's own threads put the replies into a queue."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._kind, self._replies = Kind(link), ReplyQueue()
        self.poll = self._replies.poll
        self._channel = open_channel(transport.setup, link)
        self._call = self._channel.unary_unary(f"/{SERVICE}/Call{self._kind.name}", *self._kind.coders)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        self._call.future(self._kind.write(payload_bytes, fill)).add_done_callback(self._end)
        return True

    def _end(self, call: Any) -> None:
        """Count a call that ended without a reply as unanswered, because its server has disconnected."""
        if call.code() is grpc.StatusCode.OK:
            self._replies.put(self._kind.read(call.result()))

    def close(self) -> None:
        self._channel.close()


class Server(CalledServer, BindingEnd):
    """A server with callbacks on grpcio's threads."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._kind = Kind(link)
        super().__init__(self._kind.write)
        encode, decode = self._kind.coders
        handler = grpc.unary_unary_rpc_method_handler(self._answer, decode, encode)
        self.bind(transport, link, f"Call{self._kind.name}", handler)

    def _answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        reply = self.answer(*self._kind.read(request))
        if reply is None:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not answered")
        return reply

    def close(self) -> None:
        CalledServer.close(self)
        BindingEnd.close(self)


class Transport(CallbackTransport):
    publisher = opens(Publisher)
    called_server = opens(Server)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.is_tcp = self.settings["endpoint"] == "tcp"
        is_secure = self.settings["security"] == "tls"
        self.path = f"HTTP/2 over {('TLS' if is_secure else 'TCP') if self.is_tcp else 'a Unix socket'}"

    @staticmethod
    def version() -> str:
        return str(grpc.__version__)

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(self.setup, link, on_frame)
