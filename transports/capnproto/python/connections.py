"""Connections of pycapnp, each with a two-party RPC system, on an event loop that runs both asyncio and KJ."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import capnp

from hopmeter.node.contract import AdapterError, Link, Setup
from hopmeter.node.event_loop import EventLoop

LIBRARY = Path(capnp.__file__).parents[1]
"""The folder from which the schema imports `/capnp/stream.capnp`, which pycapnp contains."""
IDL: Any = capnp.load(str(Path(__file__).parents[1] / "idl/hopmeter.capnp"), imports=[str(LIBRARY)])
MARGIN_BYTES, WORD_BYTES = 4096, 8
"""More bytes than a call adds to its frame; the size of a word."""


def reader_options(setup: Setup) -> dict[str, int]:
    """Return the options of connections. Reading a message larger than the traversal limit is an error, which ends the
    connection before the message's memory is allocated."""
    return {"traversal_limit_in_words": (setup.largest_frame_bytes + MARGIN_BYTES) // WORD_BYTES}


class KjLoop(EventLoop):
    """An event loop that runs KJ until all of its users have closed it."""

    def __init__(self) -> None:
        super().__init__()
        self._kj = capnp.kj_loop()
        self.run(self._kj.__aenter__())

    async def _cancel_tasks(self) -> None:
        await self._kj.__aexit__(None, None, None)
        await super()._cancel_tasks()


class ListeningEnd:
    """The socket of a publisher or a server, which offers a capability to every peer that connects."""

    def __init__(self, setup: Setup, link: Link, loop: EventLoop, offer: Any) -> None:
        self._setup, self._loop, self._offer = setup, loop, offer
        self._streams: set[Any] = set()
        self._file: Path | None = None
        if setup.settings["endpoint"] == "unix":
            self._file = Path(setup.directory) / f"{link.name}.capnp"
        try:
            self._server = loop.run(self._listen())
        except OSError:
            loop.close()
            raise
        port = 0 if self._file else self._server.sockets[0].getsockname()[1]
        self.address = str(self._file or f"{setup.advertised}:{port}")

    async def _listen(self) -> Any:
        if self._file:
            return await capnp.AsyncIoStream.create_unix_server(self._serve, str(self._file))
        return await capnp.AsyncIoStream.create_server(self._serve, self._setup.bind, 0)

    async def _serve(self, stream: Any) -> None:
        self._streams.add(stream)
        system = capnp.TwoPartyServer(stream, bootstrap=self._offer, **reader_options(self._setup))
        with contextlib.suppress(asyncio.CancelledError):  # pycapnp would print a traceback
            await system.on_disconnect()
        self._streams.discard(stream)

    async def _stop(self) -> None:
        self._server.close()
        for stream in tuple(self._streams):
            stream.close()

    def close(self) -> None:
        self._loop.run(self._stop())
        self._loop.close()
        if self._file:
            self._file.unlink(missing_ok=True)


class ConnectingEnd:
    """A connection to a publisher or a server."""

    def __init__(self, setup: Setup, link: Link, loop: EventLoop) -> None:
        self._setup, self._loop = setup, loop
        try:
            self._stream = loop.run(self._connect(link.address))
        except OSError as failed:
            loop.close()
            what = f"connecting to {link.address} failed ({failed})"
            raise AdapterError(what, "check that the publisher or server runs") from failed

    async def _connect(self, address: str) -> Any:
        if self._setup.settings["endpoint"] == "unix":
            stream = await capnp.AsyncIoStream.create_unix_connection(address)
        else:
            host, _, port = address.rpartition(":")
            stream = await capnp.AsyncIoStream.create_connection(host, int(port))
        self._system = capnp.TwoPartyClient(stream, **reader_options(self._setup))
        self.use(self._system.bootstrap())
        return stream

    def use(self, offer: Any) -> None:
        """Use the capability that the peer offers. The event loop calls this method once."""

    async def _disconnect(self) -> None:
        self._stream.close()
        await asyncio.sleep(0)  # lets the calls on this connection end

    def close(self) -> None:
        self._loop.run(self._disconnect())
        self._loop.close()
