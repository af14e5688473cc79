"""The adapter for HTTP in Python, with FastAPI on uvicorn as the server and httpx as the client; ../README.md describes
requests and replies."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import fastapi
import httpx
import uvicorn
from fastapi import FastAPI

from hopmeter.node.calls import BlockingCalls, CalledServer, Parts, ReplyQueue
from hopmeter.node.contract import Fill, Link, Setup, network_device
from hopmeter.node.credentials import client_context, credential, uses_tls
from hopmeter.node.event_loop import EventLoop
from hopmeter.node.handover import CallbackTransport, opens

from .bodies import KINDS, add_route


def certificates(setup: Setup) -> dict[str, Any]:
    """Return uvicorn's arguments for encrypted connections, or an empty dict if connections are not encrypted."""
    if not uses_tls(setup):
        return {}
    return {"ssl_certfile": credential(setup, "server.pem"), "ssl_keyfile": credential(setup, "server.key")}


def client_options(transport: Transport) -> dict[str, Any]:
    """Return the arguments of httpx's clients. With TLS, clients trust only servers with a certificate of this
    trial."""
    trusted = client_context(transport.setup)
    return {"headers": transport.headers, "trust_env": False, **({"verify": trusted} if trusted else {})}


class Server(CalledServer):
    """The application, which uvicorn serves on a separate thread."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport.kind.write)
        app = FastAPI()
        add_route(app, f"/{link.name}", transport.kind, self.answer, is_async=transport.settings["handler"] == "async")
        listener = socket.create_server((transport.setup.bind, 0))
        self.address = f"{transport.setup.advertised}:{listener.getsockname()[1]}"
        loop, parser = transport.settings["loop"], transport.settings["parser"]
        # Closing does not wait for a client that stays connected.
        given = {"log_level": "error", "timeout_graceful_shutdown": 1, **certificates(transport.setup)}
        self._server = uvicorn.Server(uvicorn.Config(app, loop=loop, http=parser, **given))
        self._listener = listener
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]})
        self._thread.start()

    def close(self) -> None:
        super().close()
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


class Client(BlockingCalls):
    """A client with one connection. The client's thread makes the calls, because httpx waits for each reply."""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._kind = transport.kind
        self._url = f"{transport.scheme}://{link.address}/{link.name}"
        self._client = httpx.Client(**client_options(transport))
        super().__init__(self._kind.write, self._post)

    def _post(self, request: Any) -> Parts | None:
        """Return the parts of the reply, or None if the server has disconnected or has not answered."""
        try:
            reply = self._client.post(self._url, **self._kind.request(request))
        except httpx.HTTPError:
            return None
        return self._kind.read(reply) if reply.status_code == httpx.codes.OK else None

    def close(self) -> None:
        self.stop()
        self._client.close()


class AsyncClient(ReplyQueue):
    """A client with its own event loop. A task makes each call, so several calls may be in progress, each on its own
    connection."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__()
        self._kind = transport.kind
        self._url = f"{transport.scheme}://{link.address}/{link.name}"
        self._loop = EventLoop()
        self._client = httpx.AsyncClient(**client_options(transport))

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        self._loop.start(self._post(self._kind.write(payload_bytes, fill)))
        return True

    async def _post(self, request: Any) -> None:
        """Queue the parts of the reply, unless the server has disconnected or has not answered."""
        with contextlib.suppress(httpx.HTTPError):
            reply = await self._client.post(self._url, **self._kind.request(request))
            if reply.status_code == httpx.codes.OK:
                self.put(self._kind.read(reply))

    def close(self) -> None:
        self._loop.run(self._client.aclose())
        self._loop.close()


def open_client(transport: Transport, link: Link) -> Client | AsyncClient:
    return AsyncClient(transport, link) if link.wait == "callback" else Client(transport, link)


class Transport(CallbackTransport):
    called_server = opens(Server)
    client = opens(open_client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.kind = KINDS[self.settings["body"]]
        self.headers = {} if self.settings["keep_alive"] else {"Connection": "close"}
        self.scheme = "https" if uses_tls(setup) else "http"
        self.path = f"HTTP/1.1 over {'TLS over ' if uses_tls(setup) else ''}TCP on {network_device(setup)}"

    @staticmethod
    def version() -> str:
        return f"FastAPI {fastapi.__version__} on uvicorn {uvicorn.__version__}, httpx {httpx.__version__}"
