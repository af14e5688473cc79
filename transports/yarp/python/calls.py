"""Clients and servers. YARP's own calls always block, so separate threads make and receive them."""

from __future__ import annotations

import queue
import threading
from typing import Any

from hopmeter.node.contract import Closable, Fill, Handle, Link, Take

from .images import bytes_of, write
from .network import Network, yarp


class Server(yarp.PortReader):  # type: ignore[misc]
    """A server that answers requests on the thread that reads the connection.

    If the server is polled, the thread that reads the connection waits for the next poll. YARP's own `read` and `reply`
    also answer requests, but `read` cannot check for a request without waiting.
    """

    def __init__(self, network: Network, link: Link) -> None:
        super().__init__()
        self._images: dict[int, tuple[Any, Any]] = {}
        self._turn, self._changed = threading.Lock(), threading.Condition()
        self._waits = self._given = self._closed = False
        self._on_request: Handle | None = None
        self._network, self._port = network, yarp.RpcServer()
        self._port.setReader(self)
        self.address = network.open(self._port, link)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        if not self._waits:
            return 0
        with self._changed:
            self._answer(handle)
            self._waits = False
            self._changed.notify_all()
        return 1

    def serve(self, on_request: Handle) -> Closable:
        self._set_handler(on_request)
        return Serving(self)

    def _set_handler(self, on_request: Handle | None) -> None:
        with self._changed:
            self._on_request = on_request
            self._changed.notify_all()

    def read(self, connection: Any) -> bool:
        """Answer a request that YARP passes to this method. If the handler does not answer the request, the client's
        call fails."""
        request, reply = self._own_images()
        if not connection.isValid() or not request.read(connection) or not self._answer_exclusively(request, reply):
            return False
        writer = connection.getWriter()
        return writer is None or bool(reply.write(writer))

    def _own_images(self) -> tuple[Any, Any]:
        """Return the request image and the reply image of this connection, which has its own thread. YARP sends the
        reply from the image's memory only after `read` has returned."""
        connection = threading.get_ident()
        if connection not in self._images:
            self._images[connection] = yarp.ImageMono(), yarp.ImageMono()
        return self._images[connection]

    def _answer_exclusively(self, request: Any, reply: Any) -> bool:
        """Let the handler answer a request, one connection at a time. Return whether the handler answered."""
        with self._turn, self._changed:
            self._request, self._reply, self._given = request, reply, False
            self._waits = self._on_request is None
            self._changed.wait_for(lambda: not self._waits or self._closed or self._on_request)
            if self._on_request is not None and not self._closed:
                self._answer(self._on_request)
            self._waits = False
            return self._given

    def _answer(self, handle: Handle) -> None:
        handle(bytes_of(self._request), self._write_reply)

    def _write_reply(self, payload_bytes: int, fill: Fill) -> bool:
        write(self._reply, payload_bytes, fill)
        self._given = True
        return True

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._network.close_port(self._port)


class Serving:
    """Handles requests on the threads that read them, until the `Serving` object is closed."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def close(self) -> None:
        self._server._set_handler(None)


class Client:
    """A client that makes one call at a time, on its own thread."""

    def __init__(self, network: Network, link: Link) -> None:
        network.demand_replies()
        self._network, self._server = network, link.address
        self._request, self._rpc = yarp.ImageMono(), yarp.RpcClient()
        self._port = self._rpc.asPort()
        # This timeout limits how long an unanswered call delays the closing of its port.
        self._port.setTimeout(network.settings["patience"])
        self._name = network.open(self._rpc, link)
        network.connect(self._name, self._server)
        self._calls: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._idle = True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        if not self._idle:
            return False
        write(self._request, payload_bytes, fill)
        self._idle = False
        self._calls.put(True)
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            reply = self._replies.get(timeout=timeout_s) if timeout_s else self._replies.get_nowait()
        except queue.Empty:
            return 0
        take(bytes_of(reply))
        return 1

    def _run(self) -> None:
        while self._calls.get():
            reply = yarp.ImageMono()
            came = self._call(reply)
            self._idle = True
            if came:
                self._replies.put(reply)

    def _call(self, reply: Any) -> bool:
        """Make a call. If YARP has dropped the connection because a call failed, reconnect first."""
        connected = self._rpc.getOutputCount() or self._network.connects(self._name, self._server)
        # The call has three arguments. With two, YARP would treat the image as an object to notify, because an image is
        # also a writer.
        return bool(connected and self._port.write(self._request, reply, None))

    def close(self) -> None:
        self._calls.put(False)
        self._thread.join()
        self._network.close_port(self._rpc)
