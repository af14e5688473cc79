"""Defines the contract of Python adapters as types. Each `transports/NAME/python/adapter.py` must contain a class that
matches the contract.

An adapter is a class named `Transport`. Of the methods of the class `Transport` below, an adapter has exactly those
that its manifest promises. An adapter only moves frames and contains no code for roles, clocks or statistics. A frame
consists of a 64-byte header and a payload. With raw carriage, one buffer contains the header and then the payload. With
typed carriage, the header and the payload have a buffer each.

A buffer is any object that supports the buffer protocol and has contiguous bytes. Examples are a bytearray, a
memoryview, a NumPy byte array, and a message of the library. The instrument reads and writes buffers in place.

The endpoints of a node are threads of one interpreter. Only one thread at a time uses any given link end. A function
that waits must release the interpreter lock (GIL), because otherwise the node's other endpoints would stop. The socket
module and all libraries that support multithreaded programs release the GIL while they wait.

Any exception that an adapter raises fails the trial. The trial's result contains the exception's traceback or, for an
`AdapterError`, its message and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

HEADER_BYTES = 64
"""The length in bytes of a frame's header, which precedes the payload."""
LOOPBACK = "127.0.0.1"


class AdapterError(Exception):
    """An expected failure of the adapter, with a message and a remedy. Raise an `AdapterError` `from` the exception
    that caused it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Setup(Protocol):
    """The values that an adapter receives when it is opened. `hopmeter._instrument.Setup` implements this type.

    Values that differ between links are in `Link` instead.
    """

    run: str
    """The trial's name on this machine (16 hexadecimal digits).

    The name of every object that an adapter creates outside `directory` must contain this trial name.
    """
    directory: str
    """A private directory of this trial for socket files. The path of the directory is short. The launcher removes this
    directory after the trial."""
    broker: str
    """The address of the transport's broker, in the manifest's format. The address is empty if the transport has no
    broker."""
    settings: dict[str, Any]
    """The value of every setting in the manifest, or its default if the user gave none."""
    bind: str
    """The IPv4 address on which link ends listen: the loopback address, unless nodes run on several machines.

    The address may be 0.0.0.0, which stands for all network devices.
    """
    advertised: str
    """The IPv4 address at which other machines reach this machine. This address is part of each link end's address.

    A transport that discovers its peers uses the network device with this address.
    """
    largest_frame_bytes: int
    """The size in bytes of the largest frame on any link of this process, including the header."""


def network_device(setup: Setup) -> str:
    """Return a description of the network device that a transport uses, for the transport's facts."""
    return "the loopback device" if setup.advertised.startswith("127.") else f"the device of {setup.advertised}"


class Link(Protocol):
    """A link, over which messages make one hop. Exactly one end of a link, a publisher or a server, binds, and all
    other ends connect to its address."""

    name: str
    """A name that is unique on this machine and consists of `[a-z0-9_]`.

    An adapter can use this name as a topic, key, service or file name.
    """
    address: str
    """The address of the binding end, in the transport's own format. The address is empty for the binding end
    itself."""
    receivers: int
    """The number of receivers that connect before the first message is sent."""
    payload: str
    """What the messages of this link represent: `timing`, `bytes` or `image`.

    With typed carriage, the adapter selects its message type by this value.
    """
    width: int
    height: int
    """The height of the image in pixels, or 0 for other payloads."""
    frame_bytes: int
    """The size in bytes of the largest frame of this link, including the header."""
    wait: str
    """How this end waits for messages or replies: `spin`, `block` or `callback`.

    For a publisher: how the link's receivers wait or, if only some receivers are polled, how the polled receivers wait.
    """
    message_type: str
    """The name of the transport's own type for the messages, such as `nav_msgs/msg/Odometry`.

    The name is empty if the messages have no such type.
    """
    message_code: str
    """The directory of the code that `hopmeter build --message` generated for this type. The path is empty if no code
    was generated."""
    message_object: str
    """The file with the encoded message, if the adapter encodes messages itself.

    If the adapter encodes messages itself, payloads are the bytes of this file. If `message_object` is empty, payloads
    are already encoded messages of the type.
    """


class Fill(Protocol):
    """A function that the instrument provides to write one frame.

    Call the function exactly once, immediately before sending the frame, because the function reads the clock for the
    sent time.
    """

    def __call__(self, frame: Any, payload: Any = None, /) -> None:
        """Write a frame of HEADER_BYTES + payload_bytes, either to one buffer, `fill(frame)`, or to two buffers,
        `fill(header, payload)`.

        Call this function only during the adapter's call that received it, and on the same thread. Raises TypeError or
        BufferError for an object without writable bytes, and ValueError for a wrong length. Raises RuntimeError for a
        call on another thread, or after the adapter's call has returned.
        """


class Take(Protocol):
    """A function that passes one received frame to the instrument.

    The frame's memory must stay valid until the function returns.
    """

    def __call__(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Pass a frame in one buffer of any length, `take(frame)`, or in two buffers, `take(header, payload)`.

        Instead of a buffer, `payload` may be a function without arguments that returns the buffer. The instrument calls
        such a function after it has read the arrival time. `native` is the library's own message object, which a
        publisher can `forward` without a copy.
        """


class Reply(Protocol):
    """A function that answers one request. The adapter provides the function, and the instrument calls the function."""

    def __call__(self, payload_bytes: int, fill: Fill, /) -> bool:
        """Send the reply. The rules for `Publisher.send` also apply to replies."""


class Handle(Protocol):
    """A function that passes one request to the instrument.

    The instrument calls `reply` either before this function returns or not at all.
    """

    def __call__(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Pass a request as `(frame, reply)` or `(header, payload, reply)`.

        The function may run for a long time, because servers may call other servers.
        """


class Closable(Protocol):
    """An object that an adapter creates and that the instrument closes."""

    def close(self) -> None:
        """Release all sockets, files, threads and memory of the object. The instrument calls `close` once, on any
        thread.

        The method `close` may block briefly.
        """


class Publisher(Closable, Protocol):
    """The sending end of a pubsub link. See also `ForwardingPublisher`."""

    address: str
    """The address at which receivers find this end. The address is empty if receivers need only the link's name."""

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        """Send one frame of HEADER_BYTES + payload_bytes, which `fill` writes into the adapter's memory.

        Return True if the transport accepted the frame. Return False if the transport is busy, so that sending would
        block. The adapter then drops the frame, and the instrument retries. The method must not block unless the
        manifest says `send = "blocking"`.
        """


@runtime_checkable
class ForwardingPublisher(Protocol):
    """A publisher that can forward messages as the library itself received them. The method `forward` is optional;
    without it, a relay copies each frame."""

    def forward(self, native: Any, /) -> bool:
        """Send a message, unchanged and without a copy, that a subscriber of this adapter passed as `native`."""


class Subscriber(Closable, Protocol):
    """A receiving end that the instrument polls, because the receiver waits by `spin` or `block`."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass the frames that have arrived to the instrument: all of them if possible, and at least one if any frame
        is available. Return the number of frames that were passed to the instrument.

        If the wait is `spin`, check once for frames and return. If the wait is `block`, sleep in the transport until a
        frame arrives or `timeout_s` has passed. The method may return earlier, or up to 0.1 s later.
        """


class Client(Closable, Protocol):
    """The client end of an rpc link."""

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Start a call. The rules for `Publisher.send` also apply to requests."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass the replies that have arrived to the instrument. The rules for `Subscriber.poll` also apply to
        replies."""


class Server(Closable, Protocol):
    """The server end of an rpc link. See also `CallableServer`."""

    address: str
    """The address at which clients find this end. The address is empty if clients need only the link's name."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        """Pass the requests that have arrived to the instrument, each with a `Reply`.

        The rules for `Subscriber.poll` also apply to requests.
        """


@runtime_checkable
class CallableServer(Protocol):
    """A server whose requests the transport delivers by calling a function, for the wait `callback`."""

    def serve(self, on_request: Handle, /) -> Closable:
        """Call `on_request` for each request on a thread of the transport, until the returned object is closed."""


class Objects(Protocol):
    """The object that a flow sends, for a transport that encodes objects itself.

    In `send`, the adapter still lets `fill` write a header and a payload, but then publishes the header and the object
    `leaving`. A receiver passes each received object to `arrive`. The receiver then calls `take` on the same thread,
    with the header and any buffer of the payload's length.
    """

    leaving: Any
    """The object to publish."""

    def arrive(self, obj: Any, /) -> None:
        """Accept a received object. The instrument compares this object with the sent object."""


class Transport(Closable, Protocol):
    """A transport in one process, which all endpoints of the node share.

    Each endpoint calls the transport on the endpoint's own thread, which is pinned to a core. Threads that the library
    starts inherit this core. Methods that open a link end may block.
    """

    def __init__(self, setup: Setup) -> None: ...

    @staticmethod
    def version() -> str:
        """Return the version that the library itself reports, not the version in the manifest."""

    def publisher(self, link: Link) -> Publisher:
        """Bind the sending end of a pubsub link."""

    def subscriber(self, link: Link) -> Subscriber:
        """Connect a receiving end that the instrument polls."""

    def subscribe(self, link: Link, on_frame: Take) -> Closable:
        """Connect a receiving end that calls a function for each frame.

        A thread of the transport calls `on_frame` with the arguments that `take` accepts.
        """

    def server(self, link: Link) -> Server:
        """Bind the server end of an rpc link."""

    def client(self, link: Link) -> Client:
        """Connect the client end of an rpc link."""


@runtime_checkable
class ObjectTransport(Protocol):
    """A transport that encodes objects itself. The manifest lists the kinds of these objects under `objects`."""

    def carry(self, objects: Mapping[str, Objects], /) -> None:
        """Set the object of each link, by the link's name. The link sends this object with every message instead of the
        payload.

        Links that have no object send bytes. If a flow of the node has a codec, `carry` is called once, before any link
        end is opened.
        """


@runtime_checkable
class ReportingTransport(Protocol):
    """A transport that reports facts after the last message.

    `facts` is optional, but the conformance suite requires the fact `path`.
    """

    def facts(self) -> Mapping[str, str]:
        """Return facts for the result. The fact `path` states how the bytes actually travelled."""
