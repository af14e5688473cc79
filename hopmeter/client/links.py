"""A link end: the transport's endpoint and its record in the rendezvous directory, which are always closed together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from hopmeter.client.adapters import Link, Setup, adapter
from hopmeter.client.errors import ConnectError, TimedOutError, in_words
from hopmeter.client.frames import HEADER
from hopmeter.client.rendezvous import Record, Rendezvous, note_open_files
from hopmeter.codecs.cuda.lending import KEPT, Lender
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.node.contract import LOOPBACK
from hopmeter.system.open_files import OpenFiles

Method = Callable[[Any, Link], Any]
"""A function that opens the transport's side of a link, for example `lambda transport, link:
transport.publisher(link)`."""


@dataclass(frozen=True)
class Asked:
    """The user's options, which all link ends of a session share."""

    manifest: Manifest
    offer: Offer
    meeting: Rendezvous
    wait: str
    broker: str
    largest_bytes: int
    settings: dict[str, Any]
    """The settings that the user gave. Default settings are not included."""
    host: str = LOOPBACK
    """The address to which link ends bind."""
    share: str | None = None
    """How GPU tensors are sent: by handle (`cuda-ipc`), or as copies (None)."""
    kept: int = KEPT
    """The number of loaned GPU tensors that each sending link end retains."""

    def lender(self) -> Lender | None:
        """Return the object that lends a link end's GPU tensors to receivers, or None if tensors are copied."""
        return None if self.share is None else Lender(self.kept)

    def setup(self, record: Record) -> Setup:
        """Return the setup that an adapter receives. A setting that this program leaves unset gets the value that the
        binding program uses."""
        settings = {**record.settings, **self.settings}
        ends = (record.run, record.directory, self.broker, settings, record.frame_bytes)
        return Setup(*ends, bind=self.host, advertised=self.host)

    def link(self, name: str, record: Record) -> Link:
        """Return the description of a link. The link's address is empty until the program that binds the link has
        announced the address."""
        return Link(f"{name}_{record.run}", record.frame_bytes, self.wait, record.address or "")


@dataclass
class End:
    """An open link end."""

    opened: Any
    record: Record
    _closing: ExitStack = field(repr=False)

    def close(self) -> None:
        """Release all resources of the link end. Closing a closed link end does nothing."""
        self._closing.close()


def bind_end(asked: Asked, name: str, kind: str, method: Method | None) -> End:
    """Bind a link end and publish its address under the name. If `method` is None, publish a record without opening a
    link end."""
    settings = asked.manifest.resolve_settings(asked.settings)
    frame_bytes = HEADER.size + asked.largest_bytes
    record = asked.meeting.claim(name, kind, frame_bytes, settings, asked.manifest.leftovers)
    with ExitStack() as closing, in_words(f'"{name}" cannot be bound over {asked.manifest.title}'):
        closing.callback(asked.meeting.retract, name, kind, record)
        opened = _open_end(asked, record, asked.link(name, record), method, closing) if method else None
        asked.meeting.announce(name, kind, record, getattr(opened, "address", ""))
        return End(opened, record, closing.pop_all())


def connect_end(asked: Asked, name: str, kind: str, method: Method | None, within_s: float) -> End:
    """Connect to the link end that another program binds under this name, as soon as its address is published. Raises
    ConnectError if the link end is not published in time."""
    record = asked.meeting.await_end(name, kind, within_s)
    if record is None:
        whom = "serves" if kind == "rpc" else "publishes"
        what = f'no program {whom} "{name}" over {asked.manifest.title}'
        raise ConnectError(
            "E-PEER-MISSING",
            f"{what}: waited {within_s:g} s in {asked.meeting.folder}",
            "start the other program first",
        )
    with ExitStack() as closing, in_words(f'"{name}" cannot be reached over {asked.manifest.title}'):
        opened = _open_end(asked, record, asked.link(name, record), method, closing) if method else None
        return End(opened, record, closing.pop_all())


def _open_end(asked: Asked, record: Record, link: Link, method: Method, closing: ExitStack) -> Any:
    transport = TRANSPORTS.lend(asked, record, closing)
    end = method(transport, link)
    closing.callback(end.close)
    TRANSPORTS.note_open_files(record)
    return end


@dataclass
class _OpenTransport:
    transport: Any
    open_files: OpenFiles
    ends: int = 0
    """The number of link ends that use this transport."""


class TransportCache:
    """The open transports of this process. If both ends of a link are in this process, they share one transport."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _OpenTransport] = {}
        """The open transports, by the run id of their link."""

    @property
    def open_count(self) -> int:
        """Return the number of open transports."""
        with self._lock:
            return len(self._open)

    def lend(self, asked: Asked, record: Record, closing: ExitStack) -> Any:
        """Return the transport of a link, and open the transport if it is not open yet. The transport is closed with
        the last link end that uses it."""
        with self._lock:
            if record.run not in self._open:
                # `OpenFiles` is created before the transport opens files, so that it omits files that are already open.
                open_files = OpenFiles(asked.manifest.open_leftovers, not_of=os.getpid())
                transport = adapter(asked.manifest, asked.offer)(asked.setup(record))
                self._open[record.run] = _OpenTransport(transport, open_files)
            self._open[record.run].ends += 1
            closing.callback(self._return, record.run)
            return self._open[record.run].transport

    def note_open_files(self, record: Record) -> None:
        """Record which files the transport of a link has opened. The process that removes the link's record later uses
        this list to remove the files."""
        with self._lock:
            note_open_files(record, self._open[record.run].open_files)

    def _return(self, run: str) -> None:
        with self._lock:
            self._open[run].ends -= 1
            if not self._open[run].ends:
                self._open.pop(run).transport.close()


TRANSPORTS = TransportCache()


def waited_in_vain(name: str, record: Record, seconds: float | None) -> TimedOutError:
    """Return the error for a peer that did not respond in time. The error states what is known about the peer."""
    if not record.lives:
        return TimedOutError(
            "E-PEER-GONE",
            f'"{name}": process {record.pid} ended before a message arrived',
            "start that program again, then connect again",
        )
    return TimedOutError(
        "E-PEER-SILENT", f'"{name}": nothing arrived within {seconds:g} s', f"check process {record.pid}"
    )
