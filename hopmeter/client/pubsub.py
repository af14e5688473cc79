"""Publishers and subscribers of objects."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hopmeter.client.errors import ConnectError, TimedOutError
from hopmeter.client.frames import HEADER, Kind, Message, incoming, outgoing
from hopmeter.client.links import Asked, End, bind_end, connect_end, waited_in_vain
from hopmeter.codecs import CodecError, Lender, decode, devices, encode
from hopmeter.codecs.errors import ENDING
from hopmeter.codecs.lookup import codec_named
from hopmeter.codecs.packing import packed_bytes, unpack
from hopmeter.errors import UsageError

LOOK_S = 0.1
"""The maximum time in seconds for which a link end blocks in its transport before checking whether `close` was
called."""
LONGEST_PAUSE_S = 0.001
WAITING = 64
"""The maximum number of queued messages in callback mode. If the queue is full, the transport's thread waits."""
log = logging.getLogger("hopmeter.connect")

Decode = Callable[[Any], Any]


def decoder(as_: str | None, device: str | None, share: str | None = None) -> Decode:
    """Return the function that decodes a payload. Raises UsageError for an unknown framework or device."""
    try:
        codec_named("numpy" if as_ is None else as_)
        devices.check_device("cpu" if device is None else device)
    except CodecError as unknown:
        raise UsageError(unknown.code, unknown.what, unknown.remedy) from unknown
    return lambda payload: decode(unpack(payload), as_, device, share)


def offer(attempt: Callable[[], bool], timeout_s: float) -> bool:
    """Retry sending a frame while the transport is busy. Return False if the transport is still busy after the
    timeout."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.0
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(pause_s + LONGEST_PAUSE_S / 20, LONGEST_PAUSE_S)
    return True


def close_lender(lender: Lender | None) -> None:
    """Release the objects that a link end has loaned."""
    if lender is not None:
        lender.close()


def refuse_large(name: str, frames: list[Any], frame_bytes: int) -> None:
    """Raise ConnectError if an object is larger than the link allows."""
    needs, most = packed_bytes(frames), frame_bytes - HEADER.size
    if needs > most:
        what = f'"{name}": the object takes {needs} bytes, but this link carries at most {most}'
        raise ConnectError("E-TOO-LARGE", what, f"give largest_bytes={needs} or more when you bind the link")


class Publisher:
    """Sends objects to all connected subscribers. A subscriber misses objects that were sent before it connected."""

    def __init__(self, asked: Asked, name: str, kind: str = "pubsub") -> None:
        self.name = name
        self._end = bind_end(asked, name, kind, lambda transport, link: transport.publisher(link))
        self._lender = asked.lender() if kind == "pubsub" else None
        self._number = 0
        self._lock = threading.Lock()
        self._closed = False

    def send(self, obj: Any, timeout_s: float = 1.0) -> None:
        """Send one object. The caller may change the object after this call, unless the object's tensors are shared
        (`share`).

        Raises TimedOutError if the transport stays busy, and CodecError if no codec can encode the object. Raises
        ConnectError if the object is too large or the publisher is closed.
        """
        self._number += 1
        self.put(Kind.OBJECT, self._number, encode(obj, self._lender), timeout_s)

    @property
    def copy_reasons(self) -> dict[str, int]:
        """The number of GPU tensors that were copied through the host despite `share`, keyed by reason."""
        return dict(self._lender.copied) if self._lender else {}

    def put(
        self, kind: Kind, number: int, frames: list[Any], timeout_s: float, times: tuple[int, int] | None = None
    ) -> None:
        """Send encoded frames. `times` are the time at which the frames are due and the time at which sending starts,
        in nanoseconds."""
        record = self._end.record
        refuse_large(self.name, frames, record.frame_bytes)
        length, fill = outgoing(kind, number, record.run, frames, times)
        with self._lock:
            if self._closed:
                raise ConnectError("E-CLOSED", f'"{self.name}" is closed', "open it again")
            if not offer(lambda: self._end.opened.send(length, fill), timeout_s):
                what = f'"{self.name}": the transport stayed busy for {timeout_s:g} s'
                raise TimedOutError("E-BUSY", what, "check whether the receivers keep up, or send less")

    def close(self) -> None:
        """Close the link end. Unsent objects may be lost."""
        with self._lock:
            self._closed = True
            self._end.close()
            close_lender(self._lender)


class Polled:
    """Receives the messages of a link end by polling."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._messages: deque[Message] = deque()

    def _take(self, frame: Any, payload: Any = None, *, native: Any = None) -> None:
        del native
        if (message := incoming(self._end.record.run, frame, payload)) is not None:
            self._messages.append(message)

    def next(self, timeout_s: float) -> Message | None:
        """Return the next message, or None on a timeout. `next` may return slightly before the timeout."""
        if not self._messages:
            self._end.opened.poll(max(timeout_s, 0.001), self._take)
        return self._messages.popleft() if self._messages else None


class Called:
    """Receives the messages of a link end in callback mode."""

    def __init__(self) -> None:
        self._messages: queue.Queue[Message] = queue.Queue(WAITING)
        self._over = threading.Event()

    def put(self, message: Message) -> None:
        """Queue a message. `put` runs on the transport's thread, and blocks if the queue is full."""
        while not self._over.is_set():
            with suppress(queue.Full):
                self._messages.put(message, timeout=LOOK_S)
                return

    def next(self, timeout_s: float) -> Message | None:
        """Return the next message, or None on a timeout."""
        with suppress(queue.Empty):
            return self._messages.get(timeout=max(timeout_s, 0.001))
        return None

    def close(self) -> None:
        """Stop accepting messages."""
        self._over.set()


class Subscription:
    """The receiving side of a link. Messages are returned by `next` or, in callback mode, passed to `on_message` on one
    thread."""

    def __init__(
        self, asked: Asked, where: tuple[str, str, float], on_message: Callable[[Message], None] | None = None
    ) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._inbox: Called | None = Called() if asked.wait == "callback" and on_message is None else None
        self._on_message = on_message or (self._inbox.put if self._inbox else None)
        name, kind, within_s = where
        method = self._subscribe if asked.wait == "callback" else lambda transport, link: transport.subscriber(link)
        self.end = connect_end(asked, name, kind, method, within_s)
        self._source = self._inbox or Polled(self.end)
        if on_message is not None and asked.wait != "callback":
            self._thread = threading.Thread(target=self._run, name=f"hopmeter {name}", daemon=True)
            self._thread.start()

    def _subscribe(self, transport: Any, link: Any) -> Any:
        run = link.name.rpartition("_")[2]

        def on_frame(frame: Any, payload: Any = None, *, native: Any = None) -> None:
            del native
            message = incoming(run, frame, payload)
            if message is not None and self._on_message is not None and not self._over.is_set():
                self._on_message(message)

        return transport.subscribe(link, on_frame)

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                if (message := self._source.next(LOOK_S)) is not None and self._on_message is not None:
                    self._on_message(message)
        except ENDING:
            raise
        except BaseException:
            log.exception("a receiver has failed and receives no more messages")

    def next(self, timeout_s: float | None) -> Message | None:
        """Return the next message, or None on a timeout or if the subscription is closed."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._over.is_set():
            left = LOOK_S if deadline is None else min(LOOK_S, deadline - time.monotonic())
            with self._lock:
                message = None if self._over.is_set() else self._source.next(left)
            if message is not None or left <= 0:
                return message
        return None

    @property
    def is_closed(self) -> bool:
        """Return whether the subscription is closed."""
        return self._over.is_set()

    def close(self) -> None:
        """Close the link end. No message is delivered after `close` has returned."""
        self._over.set()
        if self._inbox is not None:
            self._inbox.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            self.end.close()


class Subscriber:
    """Receives objects. Each received object is copied once, into memory of its own."""

    def __init__(
        self, asked: Asked, name: str, made: Decode, within_s: float, on_object: Callable[[Any], object] | None
    ) -> None:
        self.name, self._made, self._on_object = name, made, on_object
        called = self._call if on_object is not None else None
        self._subscription = Subscription(asked, (name, "pubsub", within_s), called)

    def _call(self, message: Message) -> None:
        # An exception in the user's function must neither reach the transport nor end the subscription.
        try:
            if message.kind == Kind.OBJECT and self._on_object is not None:
                self._on_object(self._made(message.payload))
        except ENDING:
            raise
        except BaseException:
            log.exception('"%s": the function that receives objects failed on one', self.name)

    def receive(self, timeout_s: float | None = None) -> Any:
        """Return the next object. If `timeout_s` is None, wait forever.

        Raises TimedOutError if no object arrives in time, and CodecError if the object cannot be decoded. Raises
        ConnectError if the subscriber has a callback or is closed.
        """
        if self._on_object is not None:
            raise ConnectError(
                "E-HAS-HANDLER",
                f'"{self.name}": received objects go to the function that you gave when opening it',
                "open another",
            )
        while (message := self._subscription.next(timeout_s)) is not None:
            if message.kind == Kind.OBJECT:
                return self._made(message.payload)
        if self._subscription.is_closed:
            raise ConnectError("E-CLOSED", f'"{self.name}" is closed', "open it again")
        raise waited_in_vain(self.name, self._subscription.end.record, timeout_s)

    def message(self, timeout_s: float) -> Message | None:
        """Return the next undecoded frame of any kind, with its number and times, or None on a timeout."""
        return self._subscription.next(timeout_s)

    def close(self) -> None:
        """Close the link end."""
        self._subscription.close()
