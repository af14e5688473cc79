"""The code that publishers and servers share, and the functions with which all link ends connect, fill frames and
close."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from websockets.sync.connection import Connection
from websockets.sync.server import ServerConnection, serve

from hopmeter.node.buffers import FrameBuffer
from hopmeter.node.contract import Link, Setup
from hopmeter.node.credentials import uses_tls

from .patient import Listener, PatientSocket
from .patient_tls import PatientTls, patient_server

LONGEST_FAREWELL_S = 0.1  # a polled peer answers a close only in its next poll


def options(setup: Setup) -> dict[str, Any]:
    """Return the connection options, which are equal on both sides of a connection."""
    deflate = setup.settings["compression"] == "deflate"
    return {
        "compression": "deflate" if deflate else None,
        "max_size": setup.largest_frame_bytes,
        "max_queue": setup.settings["max_queue"],
        "ping_interval": None,  # disabled, because tungstenite has no keepalive either
        "close_timeout": LONGEST_FAREWELL_S,
    }


def url_of(setup: Setup, link: Link) -> str:
    """Return the URL of the link's listening end."""
    host = "localhost" if setup.settings["endpoint"] == "unix" else link.address
    return f"{'wss' if uses_tls(setup) else 'ws'}://{host}/{link.name}"


def is_behind(connection: Connection) -> bool:
    """Whether the peer has not yet accepted the previous message."""
    made = connection.socket
    return isinstance(made, PatientSocket | PatientTls) and bool(made.behind)


class ListeningEnd:
    """The library's server and its thread. Each connection has two more threads, one of which only waits for the peer
    to disconnect."""

    def __init__(self, setup: Setup, link: Link, listener: Listener, **more: Any) -> None:
        self.address = listener.address
        self._file = listener.file
        self._outgoing = FrameBuffer(link.frame_bytes)  # reused, because the library copies each message
        self._joining: deque[ServerConnection] = deque()
        self._server = serve(self._keep, sock=listener, ssl=patient_server(setup), **options(setup), **more)
        self._thread = threading.Thread(target=self._server.serve_forever, name="accept", daemon=True)
        self._thread.start()

    def _keep(self, connection: ServerConnection) -> None:
        self._joining.append(connection)
        connection.wait_closed()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
