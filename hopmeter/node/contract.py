"""The adapter contract for Python, as types: it defines the class that `transports/NAME/python/adapter.py` must
contain.

An adapter is a class `Transport` with those methods of `Transport` below that its manifest promises, and without the
others. An adapter moves frames: it contains no code for roles, clocks or statistics. A frame is a header of 64 bytes
and a payload. Raw carriage keeps both in one buffer, header first; typed carriage passes two buffers.

Buffers are anything with the buffer protocol (bytearray, memoryview, a NumPy array of bytes, a message of the
library) whose bytes are contiguous. The instrument reads and writes buffers in place and makes no copy.

Threads: the endpoints of a node are threads of one interpreter. Only one thread at a time uses a link end. A function
that waits must release the interpreter lock (GIL) while it waits, as the socket module and every library made for
threads do; otherwise the other endpoints of the node stop.

Errors: any exception of an adapter fails the trial, and its traceback is the reason; `AdapterError` has a message and a
remedy instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

HEADER_BYTES = 64
"""The length of a frame's header, which precedes its payload."""
LOOPBACK = "127.0.0.1"


class AdapterError(Exception):
    """A failure that the adapter foresaw, with a message and a remedy. Raise this error `from` its cause."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Setup(Protocol):
    """The object with which an adapter is opened; `hopmeter._instrument.Setup` is the implementation. What differs from
    one link to another is in `Link`."""

    run: str
    """The trial's name on this machine (16 hexadecimal digits). Everything that an adapter creates outside `directory`
    has this name in its own name."""
    directory: str
    """A private folder of this trial with a short path, for socket files; the launcher removes it."""
    broker: str
    """The address of the transport's broker, in the manifest's format; empty if it has no broker."""
    settings: dict[str, Any]
    """Every setting of the manifest, with its default if the user gave no value."""
    bind: str
    """The IPv4 address on which link ends listen: that of the loopback device unless nodes run on several machines. May
    be 0.0.0.0, for all devices."""
    advertised: str
    """The IPv4 address at which other machines reach this one. It goes into the address of a link end, and a transport
    that finds its peers by itself uses the network device with this address."""
    largest_frame_bytes: int
    """The size of the largest frame, including the header, that will be sent over any link of this process."""


def network_device(setup: Setup) -> str:
    """Return the network device that a transport uses, in words, for its facts."""
    return "the loopback device" if setup.advertised.startswith("127.") else f"the device of {setup.advertised}"


class Link(Protocol):
    """One hop: exactly one end binds the link (a publisher or a server); the other ends connect to the address of that
    end."""

    name: str
    """Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name."""
    address: str
    """The address of the binding end, in the transport's own format; empty in the link that the binding end gets."""
    receivers: int
    """How many receivers connect before the first message."""
    payload: str
    """What the messages of this link represent: `timing`, `bytes` or `image`. With typed carriage, the adapter chooses
    its message type by this kind."""
    width: int
    height: int
    """The size of an image in pixels; 0 for other payloads."""
    frame_bytes: int
    """The size of the largest frame of this link, including the header."""
    wait: str
    """How this end waits for messages, and a client for replies: `spin`, `block` or `callback`. At a publisher, how the
    receivers of the link wait; if some are called and others are polled, how the polled ones wait."""
    message_type: str
    """The name of the transport's own type as which it carries the messages, such as `nav_msgs/msg/Odometry`; empty if
    there is none."""
    message_code: str
    """The folder of the code that `hopmeter build --message` generated for this type; empty if there is none."""
    message_object: str
    """The file with the encoded message, if the adapter encodes it itself; payloads are then the bytes of this file. If
    it is empty, payloads are messages of the type that are already encoded."""


class Fill(Protocol):
    """A function with which the instrument writes one frame. Call it once, as late as possible: at its end it reads the
    clock for the sent time."""

    def __call__(self, frame: Any, payload: Any = None, /) -> None:
        """Write to one buffer of HEADER_BYTES + payload_bytes, `fill(frame)`, or to two buffers, `fill(header,
        payload)`.

        Valid only within the call that received this function, and on the same thread. Raises TypeError or BufferError
        for an object without writable bytes, ValueError for a wrong length, RuntimeError for a call at another time or
        on another thread.
        """


class Take(Protocol):
    """A function that passes one received frame to the instrument, which uses the frame until the call returns."""

    def __call__(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Pass one buffer of any length, `take(frame)`, or two buffers, `take(header, payload)`. A payload may be a
        function without arguments that returns the buffer; it is called after the arrival time was read.

        `native` is the library's own message, for a publisher whose `forward` passes it on without a copy.
        """


class Reply(Protocol):
    """A function that answers one request; the adapter creates it, and the instrument calls it."""

    def __call__(self, payload_bytes: int, fill: Fill, /) -> bool:
        """Send the reply; the rules of `Publisher.send` apply."""


class Handle(Protocol):
    """A function that passes one request to the instrument, which answers with `reply` before this function returns, or
    never."""

    def __call__(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Hand over `(frame, reply)` or `(header, payload, reply)`. The call may take long, because servers call other
        servers."""


class Closable(Protocol):
    """An object of the adapter that has to be closed."""

    def close(self) -> None:
        """Release sockets, files, threads and memory. `close` is called once, on any thread, and may wait briefly."""


class Publisher(Closable, Protocol):
    """The sending end of a pubsub link; see also `ForwardingPublisher`."""

    address: str
    """The address at which receivers find this end; empty if the name of the link is enough."""

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        """Send one frame of HEADER_BYTES + payload_bytes that `fill` writes into memory of the adapter.

        True: accepted. False means busy: the transport could not take the frame without waiting; the frame is dropped,
        and the instrument will offer it again. Does not wait unless the manifest says `send = "blocking"`.
        """


@runtime_checkable
class ForwardingPublisher(Protocol):
    """A publisher that passes on the library's own messages. This method is optional: without it, a relay copies the
    frame."""

    def forward(self, native: Any, /) -> bool:
        """Send the message that a subscriber of this adapter passed as `native`, unaltered and without a copy."""


class Subscriber(Closable, Protocol):
    """A receiving end that is polled (`spin`, `block`)."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass the frames that have arrived to the instrument, at least one frame if there is any, and return their
        number.

        With `spin`, it checks once and returns. With `block` it sleeps in the transport until a frame arrives or about
        `timeout_s` has passed (it may return early, or up to 0.1 s late).
        """


class Client(Closable, Protocol):
    """The client's end of an rpc link."""

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Start a call; the rules of `Publisher.send` apply."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass on the replies that have arrived; the rules of `Subscriber.poll` apply."""


class Server(Closable, Protocol):
    """The server's end of an rpc link; see also `CallableServer`."""

    address: str
    """The address at which clients find this end; empty if the name of the link is enough."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        """Pass on the requests that have arrived, each with a `Reply`; the rules of `Subscriber.poll` apply."""


@runtime_checkable
class CallableServer(Protocol):
    """A server that the transport can call, for the wait `callback`."""

    def serve(self, on_request: Handle, /) -> Closable:
        """Call `on_request` from the transport's thread for each request, until the returned object is closed."""


class Objects(Protocol):
    """The object of a flow, for a transport that encodes objects itself.

    `send` lets `fill` write a header and a payload as always, but publishes the header and `leaving`. A receiver passes
    the received object to `arrive`; then, on the same thread, it calls `take` with the header and any buffer of the
    payload's length.
    """

    leaving: Any
    """The object to publish."""

    def arrive(self, obj: Any, /) -> None:
        """Accept a received object; the instrument will compare it with the object that was sent."""


class Transport(Closable, Protocol):
    """One transport in one process, shared by all endpoints of the node. Each endpoint calls it from its own thread,
    pinned to its own core, so that threads which the library starts inherit that core. Opening an end may wait."""

    def __init__(self, setup: Setup) -> None: ...

    @staticmethod
    def version() -> str:
        """Return the version that the library itself reports, not the one that the manifest pins."""

    def publisher(self, link: Link) -> Publisher:
        """Bind the sending end of a pubsub link."""

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a receiving end that is polled."""

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that is called: the transport's thread calls `on_frame` as it would `take`."""

    def server(self, link: Link) -> Server:
        """Bind the server's end of an rpc link."""

    def client(self, link: Link) -> Client:
        """Connect the client's end of an rpc link."""


@runtime_checkable
class ObjectTransport(Protocol):
    """A transport that itself encodes the objects that its manifest lists as `objects`."""

    def carry(self, objects: Mapping[str, Objects], /) -> None:
        """Send an object in each message of these links, by the name of the link, instead of the payload; all other
        links carry bytes. This is called once if a flow of the node has a codec, before any link end is opened."""


@runtime_checkable
class ReportingTransport(Protocol):
    """A transport that reports facts after the last message. This method is optional, but the conformance suite
    requires the fact `path`."""

    def facts(self) -> Mapping[str, str]:
        """Return facts for the result, such as the path that the bytes really took."""
