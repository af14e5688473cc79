"""The adapter contract for Python, as types: what `transports/NAME/python/adapter.py` has to offer.

An adapter is a class `Transport` with the methods of `Transport` below that its manifest promises; it leaves out the
others. It moves frames: it knows no role, no clock and no statistic. A frame is a header of 64 bytes and a payload.
Raw carriage keeps both in one buffer, header first; typed carriage hands over two.

Buffers are anything with the buffer protocol (bytearray, memoryview, a NumPy array of bytes, a message of the
library) whose bytes lie side by side. The instrument reads and writes them in place and copies nothing.

Threads: the endpoints of a node are threads of one interpreter. Each end is used by one thread at a time. A call
that waits must give the interpreter lock (GIL) away while it waits, as the socket module and every library made for
threads do; otherwise the other endpoints of the node stand still.

Errors: whatever an adapter raises fails the trial, with the traceback as its cause; `AdapterError` fails it with words
and a remedy instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

HEADER_BYTES = 64
"""Of every frame, before its payload."""
LOOPBACK = "127.0.0.1"


class AdapterError(Exception):
    """A failure that the adapter foresaw: what failed, and what to do about it. Raise it `from` its cause."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Setup(Protocol):
    """Everything an adapter is told when it is opened. `hopmeter._instrument.Setup` is the real one."""

    run: str
    """Names this trial on this machine (16 hexadecimal digits); what an adapter creates outside `directory` carries
    it in its name."""
    directory: str
    """A private folder of this trial with a short path, for socket files; the launcher removes it."""
    wait: str
    """How the receiving ends of this process wait: `spin`, `block` or `callback`; how those that are polled do, where
    others are called."""
    daemon: str
    """Where the transport's daemon (a broker, a master) listens, as the manifest words it; empty without one."""
    payload: str
    """What the frames' payloads stand for, by which typed carriage picks its message: `timing`, `bytes`, `image`."""
    width: int
    height: int
    """The size of an image in pixels; 0 where it is none."""
    settings: dict[str, Any]
    """Every setting of the manifest, defaults filled in."""
    frame_bytes: int
    """The largest frame, header included, that will be sent over any link."""


@runtime_checkable
class NetworkSetup(Protocol):
    """A setup whose links may lead to another machine. Only `hopmeter.connect` has such; nodes have none."""

    host: str
    """The address of this machine that ends bind at."""


def host(setup: Setup) -> str:
    """The address that ends bind at: this is the one place where it is chosen."""
    return setup.host if isinstance(setup, NetworkSetup) else LOOPBACK


class Link(Protocol):
    """One hop: exactly one end binds it (a publisher or a server), the others connect to the address it gave."""

    name: str
    """Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name."""
    address: str
    """Where the binding end is to be found, in the transport's own words; empty while it binds."""
    receivers: int
    """How many receivers connect before the first message."""


class Fill(Protocol):
    """Has the instrument write one frame. Call it once, as late as possible: it stamps the sent time last."""

    def __call__(self, frame: Any, payload: Any = None, /) -> None:
        """`fill(frame)` with one writable buffer of HEADER_BYTES + payload_bytes, or `fill(header, payload)` with two.

        Belongs to the call it was given to: same thread, not afterwards. Raises TypeError or BufferError for an
        object without writable bytes, ValueError for a wrong length, RuntimeError out of place.
        """


class Take(Protocol):
    """Hands one received frame to the instrument, which only borrows it until this returns."""

    def __call__(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """`take(frame)` with one buffer of any length, or `take(header, payload)` with two.

        `native` is the library's own message, for a publisher whose `forward` passes it on without a copy.
        """


class Reply(Protocol):
    """Answers one request; made by the adapter, called by the instrument."""

    def __call__(self, payload_bytes: int, fill: Fill, /) -> bool:
        """Sends the reply; the same rules as `Publisher.send`."""


class Handle(Protocol):
    """Hands one request to the instrument, which answers through `reply` before this returns, or not at all."""

    def __call__(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """`handle(frame, reply)`, or `handle(header, payload, reply)`. May take long: servers call other servers."""


class Closable(Protocol):
    """Whatever an adapter opened."""

    def close(self) -> None:
        """Gives everything back: sockets, files, threads, memory. Called once, on any thread. May wait a little."""


class Publisher(Closable, Protocol):
    """The sending end of a pubsub link; see also `ForwardingPublisher`."""

    address: str
    """Where receivers find this end; empty if the link's name is enough."""

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        """Sends one frame of HEADER_BYTES + payload_bytes that `fill` writes into memory the adapter gives it.

        True: accepted. False: busy, the transport could not take it without waiting; the frame is gone and will be
        offered again. Does not wait unless the manifest says `send = "blocking"`.
        """


@runtime_checkable
class ForwardingPublisher(Protocol):
    """A publisher that passes on the library's own messages. Optional: without it a relay copies the frame."""

    def forward(self, native: Any, /) -> bool:
        """Sends the message that a subscriber of this adapter gave as `native`, unaltered and without a copy."""


class Subscriber(Closable, Protocol):
    """A receiving end that is polled (`spin`, `block`)."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Hands over what has arrived, at least one frame if any is there; answers how many.

        With `spin` it looks once and returns. With `block` it sleeps in the transport until something arrives or
        about `timeout_s` has passed (early is fine, up to 0.1 s late too).
        """


class Client(Closable, Protocol):
    """The asking end of an rpc link."""

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Starts a call; the same rules as `Publisher.send`."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Hands over the replies that have come; the same rules as `Subscriber.poll`."""


class Server(Closable, Protocol):
    """The answering end of an rpc link; see also `CallableServer`."""

    address: str
    """Where clients find this end; empty if the link's name is enough."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        """Hands over the requests that have come, each with a `Reply`; the same rules as `Subscriber.poll`."""


@runtime_checkable
class CallableServer(Protocol):
    """A server that can be called in place of being polled: for the wait `callback`."""

    def serve(self, on_request: Handle, /) -> Closable:
        """Has `on_request` called from the transport's thread for each request, until what this returns is closed."""


class Objects(Protocol):
    """The object of a cell, for a transport that encodes objects by itself.

    `send` has `fill` write a header and a payload as always, and publishes the header and `leaving`. A receiver hands
    what came to `arrive`, and calls `take` with the header and any buffer as long as the payload on the same thread.
    """

    leaving: Any
    """What to publish."""

    def arrive(self, obj: Any, /) -> None:
        """What was received, for the instrument to compare."""


class Transport(Closable, Protocol):
    """One transport in one process, shared by all endpoints of the node; each calls it from its own thread, on its
    own core, so that threads which the library starts inherit it. Opening an end may wait."""

    def __init__(self, setup: Setup) -> None: ...

    @staticmethod
    def version() -> str:
        """The library's version as the library itself reports it, not as the manifest pins it."""

    def publisher(self, link: Link) -> Publisher:
        """Binds the sending end of a pubsub link."""

    def subscriber(self, link: Link) -> Subscriber:
        """Connects a receiving end that is polled."""

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connects a receiving end that is called: `on_frame` from the transport's thread, with `take`'s arguments."""

    def server(self, link: Link) -> Server:
        """Binds the answering end of an rpc link."""

    def client(self, link: Link) -> Client:
        """Connects the asking end of an rpc link."""


@runtime_checkable
class ObjectTransport(Protocol):
    """A transport that encodes objects by itself: the ones that its manifest lists as `objects`."""

    def carry(self, objects: Objects, /) -> None:
        """Called once in a cell with a codec, before any end is opened. Each message then is the object, and not the
        payload."""


@runtime_checkable
class ReportingTransport(Protocol):
    """A transport that knows something only after the last message. Optional, but conformance asks for the fact
    `path`."""

    def facts(self) -> Mapping[str, str]:
        """Facts for the result, such as the path that the bytes really took."""
