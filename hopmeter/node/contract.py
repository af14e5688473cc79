"""The adapter contract for Python, as types: what `transports/NAME/python/adapter.py` has to offer.

An adapter is a class `Transport` with the methods of `Transport` below that its manifest promises; it leaves out the
others. It moves frames: it knows no role, no clock and no statistic. A frame is a header of 64 bytes and a payload.
Raw carriage keeps both in one buffer, header first; typed carriage hands over two.

Buffers are anything with the buffer protocol (bytearray, memoryview, a NumPy array of bytes, a message of the
library) whose bytes are contiguous. The instrument reads and writes them in place and copies nothing.

Threads: the endpoints of a node are threads of one interpreter. Each end is used by one thread at a time. A call
that waits must release the interpreter lock (GIL) meanwhile, as the socket module and every library made for threads
do; otherwise the other endpoints of the node stop.

Errors: any exception of an adapter fails the trial, with the traceback as its cause; `AdapterError` fails it with a
message and a remedy instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

HEADER_BYTES = 64
"""The length of a frame's header, which precedes its payload."""
LOOPBACK = "127.0.0.1"


class AdapterError(Exception):
    """A failure that the adapter foresaw: what failed, and what to do about it. Raise it `from` its cause."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Setup(Protocol):
    """What an adapter is opened with; `hopmeter._instrument.Setup` is the implementation."""

    run: str
    """The trial's name on this machine (16 hexadecimal digits). Whatever an adapter creates outside `directory` has it
    in its name."""
    directory: str
    """A private folder of this trial with a short path, for socket files; the launcher removes it."""
    wait: str
    """How this process's receivers wait: `spin`, `block` or `callback`; if only some are polled, how those wait."""
    daemon: str
    """The address of the transport's broker or daemon, in the manifest's format; empty if it has none."""
    payload: str
    """What the payloads are: `timing`, `bytes` or `image`. Typed carriage chooses its message by it."""
    width: int
    height: int
    """The size of an image in pixels; 0 for other payloads."""
    settings: dict[str, Any]
    """Every setting of the manifest, with its default if none was given."""
    frame_bytes: int
    """The largest frame, header included, that will be sent over any link."""


@runtime_checkable
class NetworkSetup(Protocol):
    """A setup whose links may lead to another machine. `hopmeter.connect` makes these; a node's setup is none."""

    host: str
    """The address of this machine that ends bind at."""


def host(setup: Setup) -> str:
    """Return the address that ends bind at, which is chosen here alone."""
    return setup.host if isinstance(setup, NetworkSetup) else LOOPBACK


class Link(Protocol):
    """One hop: exactly one end binds it (a publisher or a server), the others connect to the address it gave."""

    name: str
    """Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name."""
    address: str
    """The address of the binding end, in the transport's own format; empty for that end itself."""
    receivers: int
    """How many receivers connect before the first message."""


class Fill(Protocol):
    """Lets the instrument write one frame. Call it once, as late as possible: its last act stamps the sent time."""

    def __call__(self, frame: Any, payload: Any = None, /) -> None:
        """Write to one buffer of HEADER_BYTES + payload_bytes, `fill(frame)`, or to two, `fill(header, payload)`.

        Belongs to the call it was given to: same thread, not afterwards. Raises TypeError or BufferError for an
        object without writable bytes, ValueError for a wrong length, RuntimeError out of place.
        """


class Take(Protocol):
    """Hands one received frame to the instrument, which borrows it until the call returns."""

    def __call__(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Hand over one buffer of any length, `take(frame)`, or two, `take(header, payload)`.

        `native` is the library's own message, for a publisher whose `forward` passes it on without a copy.
        """


class Reply(Protocol):
    """Answers one request; made by the adapter, called by the instrument."""

    def __call__(self, payload_bytes: int, fill: Fill, /) -> bool:
        """Send the reply; the same rules as `Publisher.send`."""


class Handle(Protocol):
    """Hands one request to the instrument, which answers through `reply` before this returns, or not at all."""

    def __call__(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Hand over `(frame, reply)` or `(header, payload, reply)`. It may take long: servers call other servers."""


class Closable(Protocol):
    """An object of the adapter that has to be closed."""

    def close(self) -> None:
        """Release sockets, files, threads and memory. It is called once, on any thread, and may wait briefly."""


class Publisher(Closable, Protocol):
    """The sending end of a pubsub link; see also `ForwardingPublisher`."""

    address: str
    """Where receivers find this end; empty if the link's name is enough."""

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        """Send one frame of HEADER_BYTES + payload_bytes that `fill` writes into memory the adapter gives it.

        True: accepted. False: busy, the transport could not take it without waiting; the frame is gone and will be
        offered again. Does not wait unless the manifest says `send = "blocking"`.
        """


@runtime_checkable
class ForwardingPublisher(Protocol):
    """A publisher that passes on the library's own messages. Optional: without it a relay copies the frame."""

    def forward(self, native: Any, /) -> bool:
        """Send the message that a subscriber of this adapter gave as `native`, unaltered and without a copy."""


class Subscriber(Closable, Protocol):
    """A receiving end that is polled (`spin`, `block`)."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Hand over what has arrived, at least one frame if there is any, and return how many.

        With `spin` it looks once and returns. With `block` it sleeps in the transport until something arrives or
        about `timeout_s` has passed (early is fine, up to 0.1 s late too).
        """


class Client(Closable, Protocol):
    """The client's end of an rpc link."""

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Start a call; the same rules as `Publisher.send`."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Hand over the replies that have arrived; the same rules as `Subscriber.poll`."""


class Server(Closable, Protocol):
    """The server's end of an rpc link; see also `CallableServer`."""

    address: str
    """Where clients find this end; empty if the link's name is enough."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        """Hand over the requests that have arrived, each with a `Reply`; the same rules as `Subscriber.poll`."""


@runtime_checkable
class CallableServer(Protocol):
    """A server that the transport can call instead of it being polled: for the wait `callback`."""

    def serve(self, on_request: Handle, /) -> Closable:
        """Call `on_request` from the transport's thread for each request, until the returned object is closed."""


class Objects(Protocol):
    """The object of a cell, for a transport that encodes objects by itself.

    `send` has `fill` write a header and a payload as always, and publishes the header and `leaving`. A receiver hands
    what came to `arrive`, and calls `take` with the header and any buffer as long as the payload on the same thread.
    """

    leaving: Any
    """The object to publish."""

    def arrive(self, obj: Any, /) -> None:
        """Accept a received object, which the instrument will compare."""


class Transport(Closable, Protocol):
    """One transport in one process, shared by all endpoints of the node; each calls it from its own thread, on its
    own core, so that threads which the library starts inherit it. Opening an end may wait."""

    def __init__(self, setup: Setup) -> None: ...

    @staticmethod
    def version() -> str:
        """Return the version that the library itself reports, not the one that the manifest pins."""

    def publisher(self, link: Link) -> Publisher:
        """Bind the sending end of a pubsub link."""

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a receiving end that is polled."""

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that is called: `on_frame` from the transport's thread, with `take`'s arguments."""

    def server(self, link: Link) -> Server:
        """Bind the server's end of an rpc link."""

    def client(self, link: Link) -> Client:
        """Connect the client's end of an rpc link."""


@runtime_checkable
class ObjectTransport(Protocol):
    """A transport that encodes objects by itself: the ones that its manifest lists as `objects`."""

    def carry(self, objects: Objects, /) -> None:
        """Send the object as each message, instead of the payload. It is called once in a cell with a codec, before any
        end is opened."""


@runtime_checkable
class ReportingTransport(Protocol):
    """A transport that reports facts after the last message. Optional, but conformance demands the fact `path`."""

    def facts(self) -> Mapping[str, str]:
        """Return facts for the result, such as the path that the bytes really took."""
