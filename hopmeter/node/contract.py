"""Defines the contract of Python adapters as types. Each file `transports/NAME/python/adapter.py` must contain a class
that fulfils the contract.

An adapter is a class named `Transport`. An adapter implements exactly those methods of the class `Transport` below that
its manifest promises. An adapter only moves frames and contains no code for roles, clocks or statistics. A frame
consists of a 64-byte header and a payload. With raw carriage, one buffer contains the header and then the payload. With
typed carriage, the header and the payload have a buffer each.

A buffer is any object that supports the buffer protocol and has contiguous bytes. Examples of buffers are a bytearray,
a memoryview, a NumPy byte array, and a message object of the library. The instrument reads and writes buffers in place.

The endpoints of a node are threads of one interpreter. Each link end is used by only one thread at a time. A function
that waits must release the interpreter lock (GIL); otherwise, it would stop the other endpoints of the node. The socket
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
    """An expected failure of the adapter, with a message and a remedy. Raise an `AdapterError` with `from`, followed by
    the exception that caused the error."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class Setup(Protocol):
    """The values that an adapter receives when it is opened. `hopmeter._instrument.Setup` implements this type.

    `Link` contains the values that differ between links.
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
    """Return text about the network device that a transport uses; the text becomes one of the transport's facts."""
    return "the loopback device" if setup.advertised.startswith("127.") else f"the device of {setup.advertised}"


class Link(Protocol):
    """A connection between link ends; each message that passes over it makes one hop. Exactly one end of each link, a
    publisher or a server, binds; all other ends connect to its address."""

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

        Call `fill` only during the adapter's call that received it as an argument, and on the same thread. Raises
        TypeError or BufferError if an object has no writable bytes, and ValueError if its length is wrong. Raises
        RuntimeError if it is called on another thread, or after the adapter's call has returned.
        """


class Take(Protocol):
    """A function that passes one received frame to the instrument.

    The memory of the frame must stay valid until `take` returns.
    """

    def __call__(self, frame: Any, payload: Any = None, /, *, native: Any = None) -> None:
        """Pass a frame in one buffer of any length, `take(frame)`, or in two buffers, `take(header, payload)`.

        Instead of a buffer, `payload` may be a function without arguments that returns the buffer. If `payload` is a
        function, the instrument calls it after it has read the arrival time. `native` is the message object of the
        library, which a publisher can `forward` without a copy.
        """


class Reply(Protocol):
    """A function that answers one request. The adapter provides this function, and the instrument calls it."""

    def __call__(self, payload_bytes: int, fill: Fill, /) -> bool:
        """Send the reply. A reply must follow the rules for `Publisher.send`."""


class Handle(Protocol):
    """A function that passes one request to the instrument.

    The instrument calls `reply` before this function returns, or never.
    """

    def __call__(self, frame: Any, reply: Any, third: Any = None, /) -> None:
        """Pass a request as `(frame, reply)` or `(header, payload, reply)`.

        The function may run for a long time, because servers may call other servers.
        """


class Closable(Protocol):
    """An object that an adapter creates and that the instrument closes."""

    def close(self) -> None:
        """Release all sockets, files, threads and memory that the object uses. The instrument calls `close` once, on
        any thread.

        The method `close` may block for a short time.
        """


class Publisher(Closable, Protocol):
    """The sending end of a pubsub link. See also `ForwardingPublisher`."""

    address: str
    """The address at which receivers find this end. The address is empty if receivers need only the link's name."""

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        """Send one frame of HEADER_BYTES + payload_bytes, which `fill` writes into the adapter's memory.

        Return True if the transport accepted the frame. Return False if the transport is busy, so that sending would
        block. If the transport is busy, the adapter drops the frame, and the instrument sends it again later. The
        method must not block unless the manifest says `send = "blocking"`.
        """


@runtime_checkable
class ForwardingPublisher(Protocol):
    """A publisher that can forward a received message in the form in which the library delivered it. The method
    `forward` is optional; a publisher without it makes a relay copy each frame."""

    def forward(self, native: Any, /) -> bool:
        """Send a message that a subscriber of this adapter passed as `native`, unchanged and without a copy."""


class Subscriber(Closable, Protocol):
    """A receiving end with the wait `spin` or `block`, which the instrument polls."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass frames that have arrived to the instrument: all of them if possible, and at least one if any has
        arrived. Return the number of frames that were passed to the instrument.

        If the wait is `spin`, look once for frames that have arrived, and return. If the wait is `block`, sleep in the
        transport until a frame arrives or `timeout_s` has passed. The method may return before `timeout_s` has passed,
        or up to 0.1 s after that.
        """


class Client(Closable, Protocol):
    """The client end of an rpc link."""

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        """Start a call. A request must follow the rules for `Publisher.send`."""

    def poll(self, timeout_s: float, take: Take) -> int:
        """Pass the replies that have arrived to the instrument. The method follows the rules for `Subscriber.poll`."""


class Server(Closable, Protocol):
    """The server end of an rpc link. See also `CallableServer`."""

    address: str
    """The address at which clients find this end. The address is empty if clients need only the link's name."""

    def poll(self, timeout_s: float, handle: Handle) -> int:
        """Pass the requests that have arrived to the instrument, each with a `Reply`.

        The method follows the rules for `Subscriber.poll`.
        """


@runtime_checkable
class CallableServer(Protocol):
    """A server end with the wait `callback`, to which the transport delivers requests by calling a function."""

    def serve(self, on_request: Handle, /) -> Closable:
        """Call `on_request` for each request on a thread of the transport, until the returned object is closed."""


class Objects(Protocol):
    """The object that a flow sends, for a transport that encodes objects itself.

    The adapter's `send` still lets `fill` write a header and a payload, but publishes the header and the object
    `leaving` instead of the payload. On the receiving side, the adapter passes each received object to `arrive`. The
    adapter then calls `take` on the same thread, with the header and with any buffer that is as long as the payload.
    """

    leaving: Any
    """The object to publish."""

    def arrive(self, obj: Any, /) -> None:
        """Accept a received object. The instrument compares the received object with the object that was sent."""


class Transport(Closable, Protocol):
    """A transport in one process, which all endpoints of the node share.

    Each endpoint calls the transport on the thread of the endpoint, which is pinned to a core. Threads that the library
    starts are pinned to the core of the thread that started them. Methods that open a link end may block.
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
    """A transport that encodes objects itself. The manifest lists the kinds of objects that the transport encodes under
    the key `objects`."""

    def carry(self, objects: Mapping[str, Objects], /) -> None:
        """Assign an object to each link; the keys are the names of the links. The link sends this object with every
        message instead of the payload.

        A link to which no object is assigned sends bytes. If any flow of the node has a codec, the instrument calls
        `carry` once, before it opens any link end.
        """


@runtime_checkable
class ReportingTransport(Protocol):
    """A transport that reports facts about itself after the last message.

    The method `facts` is optional, but the conformance suite requires the fact `path`.
    """

    def facts(self) -> Mapping[str, str]:
        """Return facts for the result. The fact `path` states how the bytes of the messages actually travelled."""
