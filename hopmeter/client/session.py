"""Implements `connect`, and the session that opens a program's link ends."""

from __future__ import annotations

import atexit
import os
import re
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

from hopmeter.client.adapters import adapter, away, check_environment, checked_settings, manifest_of
from hopmeter.client.calls import Client
from hopmeter.client.errors import ConnectError
from hopmeter.client.frames import HEADER
from hopmeter.client.links import Asked
from hopmeter.client.pubsub import Publisher, Subscriber, decoder
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.client.servers import Answering, DuplexServer, NativeServer
from hopmeter.codecs import CodecError, Lender
from hopmeter.codecs.cuda import lending
from hopmeter.codecs.cuda.lending import KEPT
from hopmeter.errors import UsageError
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.broker import without_secret
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.node.contract import LOOPBACK
from hopmeter.system.toml_files import one_of

WAITS = ("block", "callback", "spin")
"""The wait modes in order of preference, used if the user selects none."""
LARGEST_BYTES = 8 << 20
WITHIN_S = 10.0

Openable = TypeVar("Openable", bound=Any)


def connect(
    transport: str,
    /,
    *,
    folder: str | os.PathLike[str] | None = None,
    largest_bytes: int | None = None,
    wait: str | None = None,
    broker: str | None = None,
    host: str | None = None,
    share: str | None = None,
    kept: int = KEPT,
    **settings: Any,
) -> Session:
    """Open a session over one transport. `settings` are values for the settings in the transport's manifest.

    `folder` is the rendezvous directory; the default is a private directory of the user. `largest_bytes` is the maximum
    size of an encoded object. The default is 8 MiB, or the transport's maximum if that is less. `wait` is how receivers
    wait (`block`, `callback` or `spin`), which the transport must support. `broker` is the address of the transport's
    broker.

    `host` is this machine's address. Link ends bind to `host` instead of the loopback device, so that other machines
    can reach them. You must copy the records of the link ends to the other machines. `share="cuda-ipc"` sends handles
    of GPU tensors instead of copies. Each sending link end retains the newest `kept` tensors.

    Raises UsageError for an unknown name, and ConnectError if a transport or package is not installed.
    """
    if "daemon" in settings:
        warnings.warn(
            '"daemon" is now "broker"; the next release will not accept the old name', FutureWarning, stacklevel=2
        )
        broker = broker or settings.pop("daemon")
    manifest, offer = manifest_of(transport)
    checked = checked_settings(manifest, settings)
    given = away(manifest, checked) if host else checked
    waits = _wait(offer, wait)
    _shareable(share, kept, host)
    largest = _largest(manifest, largest_bytes)
    check_environment(manifest, checked)
    if manifest.broker is not None and not manifest.broker.where and broker is None:
        address = _to_fill_in(without_secret(manifest.broker.address).replace("{host}", LOOPBACK))
        remedy = f'start the broker, and give its address: connect("{transport}", broker="{address}")'
        raise ConnectError("E-NO-BROKER", f"{manifest.title} needs {manifest.broker.title}", remedy)
    adapter(manifest, offer)
    meeting = Rendezvous(folder, transport)
    meeting.sweep()
    return Session(Asked(manifest, offer, meeting, waits, broker or "", largest, given, host or LOOPBACK, share, kept))


def _shareable(share: str | None, kept: int, host: str | None) -> None:
    if share is None:
        return
    try:
        lending.check_share(share)
        Lender(kept).close()
    except CodecError as unknown:
        raise UsageError(unknown.code, unknown.what, unknown.remedy) from unknown
    if host is not None:
        raise UsageError(
            "E-OPTION-CONFLICT",
            f"share={share!r} works on one machine, not with host={host!r}",
            "leave one out",
        )


def _to_fill_in(template: str) -> str:
    """Return an address template with its placeholders in capitals, such as `127.0.0.1:PORT DIRECTORY/redis.sock`."""
    return re.sub(r"\{(\w+)\}", lambda place: place[1].upper(), template)


def _wait(offer: Offer, asked: str | None) -> str:
    if asked is not None and asked not in offer.asked_waits:
        raise UsageError("E-VALUE-CHOICE", f"{offer.transport}: wait {one_of(asked, offer.asked_waits)}")
    return offer.wait_for(asked) if asked else next(way for way in WAITS if way in offer.waits)


def _largest(manifest: Manifest, asked: int | None) -> int:
    most = manifest.max_payload_bytes
    if asked is None:
        return min(LARGEST_BYTES, most)
    if not HEADER.size <= asked <= most:
        raise UsageError(
            "E-VALUE-RANGE", f"largest_bytes = {asked} is not between {HEADER.size} and {most} ({manifest.name})"
        )
    return asked


class Session:
    """A session, which opens link ends and closes all of them at the end of the `with` block."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._closing = ExitStack()
        self._closed = False
        atexit.register(self.close)

    @property
    def folder(self) -> str:
        """Return the rendezvous directory."""
        return str(self._asked.meeting.folder)

    def publisher(self, name: str) -> Publisher:
        """Open a publisher. No other running program may use the publisher's name."""
        return self._close_later(Publisher(self._ready(name, "pubsub"), name))

    def subscriber(
        self,
        name: str,
        on_object: Callable[[Any], object] | None = None,
        *,
        as_: str | None = None,
        device: str | None = None,
        within_s: float = WITHIN_S,
    ) -> Subscriber:
        """Open a subscriber to the publisher with the given name, which may start up to `within_s` later.

        `on_object` is called with each object on one thread. Without `on_object`, call the subscriber's `receive`
        method. `as_` and `device` have the same meaning as in `decode`.
        """
        asked = self._ready(name, "pubsub")
        return self._close_later(Subscriber(asked, name, decoder(as_, device, asked.share), within_s, on_object))

    def server(
        self, name: str, handler: Callable[[Any], Any], *, as_: str | None = None, device: str | None = None
    ) -> NativeServer | DuplexServer:
        """Open a server that replies to each call with the return value of `handler`. The server handles calls one by
        one on its own thread."""
        asked = self._ready(name, "rpc")
        answering = Answering(handler, decoder(as_, device, asked.share), asked, name)
        if asked.manifest.rpc == "native":
            return self._close_later(NativeServer(asked, name, answering))
        return self._close_later(DuplexServer(asked, name, answering))

    def client(
        self, name: str, *, as_: str | None = None, device: str | None = None, within_s: float = WITHIN_S
    ) -> Client:
        """Open a client of the server with the given name, which may start up to `within_s` later."""
        asked = self._ready(name, "rpc")
        return self._close_later(Client(asked, name, decoder(as_, device, asked.share), within_s))

    def close(self) -> None:
        """Close all link ends, the newest first, and leave no files behind."""
        self._closed = True
        atexit.unregister(self.close)
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, name: str, pattern: str) -> Asked:
        if self._closed:
            raise ConnectError("E-CLOSED", "this session is closed", "connect again")
        if not re.fullmatch("[a-z0-9_]{1,32}", name):
            raise UsageError(
                "E-NAME", f'"{name}" is not a valid link name', "use up to 32 characters of a-z, 0-9 and _"
            )
        if pattern not in self._asked.offer.patterns:
            raise UsageError(
                "E-NO-PATTERN", f"{self._asked.manifest.title} has no {pattern} in Python", "choose another transport"
            )
        return self._asked

    def _close_later(self, end: Openable) -> Openable:
        self._closing.callback(end.close)
        return end
