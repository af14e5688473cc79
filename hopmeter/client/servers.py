"""Implements the server side of calls, with the transport's own calls or, if the transport has none, with two links for
each client."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from hopmeter.client.errors import TimedOutError
from hopmeter.client.frames import HEADER, Kind, Message, incoming, outgoing
from hopmeter.client.links import Asked, End, bind_end
from hopmeter.client.pubsub import LOOK_S, Decode, Publisher, Subscription, close_lender, offer, refuse_large
from hopmeter.codecs import encode
from hopmeter.codecs.errors import ENDING

REPLY_S = 5.0
"""The timeout in seconds for sending a reply over a busy transport."""
CLIENTS_S = 0.025
"""The interval in seconds at which a server that uses two links checks for new clients."""
GREET_S = 5.0
"""How long, in seconds, a server that uses two links waits for a new client's link."""
log = logging.getLogger("hopmeter.connect")


class Answering:
    """Runs the user's handler for one call at a time, even if the transport delivers calls on several threads."""

    def __init__(self, handler: Callable[[Any], Any], made: Decode, asked: Asked, name: str) -> None:
        self._handler, self._made, self._name = handler, made, name
        self._most, self._lender = HEADER.size + asked.largest_bytes, asked.lender()
        self._lock = threading.Lock()

    def answer(self, message: Message) -> tuple[Kind, list[Any]] | None:
        """Return the kind and the encoded frames of the reply, or None if the message needs no reply."""
        if message.kind == Kind.PROBE:
            return Kind.ANSWER, encode(None)
        if message.kind != Kind.CALL:
            return None
        try:
            with self._lock:
                frames = encode(self._handler(self._made(message.payload)), self._lender)
            refuse_large(self._name, frames, self._most)
        except ENDING:
            raise
        except BaseException as failed:
            log.exception('"%s": the handler failed', self._name)
            return Kind.FAILED, encode(f"{type(failed).__name__}: {failed}"[:4000])
        return Kind.REPLY, frames

    def close(self) -> None:
        """Release the objects loaned by replies."""
        close_lender(self._lender)


class NativeServer:
    """A server that uses the transport's own calls. A hopmeter thread polls for requests, or a transport thread
    delivers them."""

    def __init__(self, asked: Asked, name: str, answering: Answering) -> None:
        self._answering, self._over = answering, threading.Event()
        self._run_id = ""
        self._end: End = bind_end(asked, name, "rpc", self._open if asked.wait == "callback" else self._plain)
        self._run_id = self._end.record.run
        self._thread = threading.Thread(target=self._run, name=f"hopmeter {name}", daemon=True)
        if asked.wait != "callback":
            self._thread.start()

    def _plain(self, transport: Any, link: Any) -> Any:
        return transport.server(link)

    def _open(self, transport: Any, link: Any) -> Any:
        self._run_id = link.name.rpartition("_")[2]
        return Served(transport.server(link), self._on_request)

    def _on_request(self, frame: Any, second: Any, third: Any = None) -> None:
        payload, reply = (None, second) if third is None else (second, third)
        message = incoming(self._run_id, frame, payload)
        said = None if message is None else self._answering.answer(message)
        if message is None or said is None:
            return
        length, fill = outgoing(said[0], message.number, self._run_id, said[1])
        if not offer(lambda: reply(length, fill), REPLY_S):
            log.error("a reply was dropped: the transport stayed busy for %g s", REPLY_S)

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._end.opened.poll(LOOK_S, self._on_request)
        except ENDING:
            raise
        except BaseException:
            log.exception("a server has failed and answers no more calls")

    def close(self) -> None:
        """Close the link end. No call is answered after `close` has returned."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._end.close()
        self._answering.close()


class Served:
    """The server side of a link in callback mode, with the handle that the transport's `serve` method returned."""

    def __init__(self, server: Any, on_request: Callable[..., None]) -> None:
        self.address = server.address
        self._server, self._serving = server, server.serve(on_request)

    def close(self) -> None:
        """Stop the callbacks of the link end, and then close the link end."""
        self._serving.close()
        self._server.close()


class Caller:
    """The server's view of a client that uses two links."""

    def __init__(self, asked: Asked, name: str, caller: str, answering: Answering) -> None:
        self._answering = answering
        self._back = Publisher(asked, name, f"back-{caller}")
        try:
            self._there = Subscription(asked, (name, f"call-{caller}", GREET_S), self._answer)
        except BaseException:
            self._back.close()
            raise
        self.record = self._there.end.record

    def _answer(self, message: Message) -> None:
        said = self._answering.answer(message)
        try:
            if said is not None:
                self._back.put(said[0], message.number, said[1], REPLY_S)
        except TimedOutError:
            log.exception("a reply was dropped")

    def close(self) -> None:
        """Close both links."""
        self._there.close()
        self._back.close()


class DuplexServer:
    """A server with two links for each client. The server finds new clients in the rendezvous directory, and closes the
    links of clients that have exited."""

    def __init__(self, asked: Asked, name: str, answering: Answering) -> None:
        self._asked, self._name, self._answering = asked, name, answering
        self._over = threading.Event()
        self._callers: dict[str, Caller] = {}
        self._refused: set[str] = set()
        """Clients that could not be reached. Each client that cannot be reached is reported once."""
        self._end = bind_end(asked, name, "rpc", None)
        self._thread = threading.Thread(target=self._run, name=f"hopmeter {name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(CLIENTS_S):
            there = {kind.removeprefix("call-") for kind in self._asked.meeting.kinds(self._name, "call-")}
            self._part(there)
            for caller in there - self._callers.keys() - self._refused:
                self._meet(caller)

    def _part(self, there: set[str]) -> None:
        """Close the links of clients that have closed their links or exited."""
        for caller, known in list(self._callers.items()):
            if caller not in there or not known.record.lives:
                self._callers.pop(caller).close()
                self._asked.meeting.sweep()

    def _meet(self, caller: str) -> None:
        record = self._asked.meeting.look(self._name, f"call-{caller}")
        if record is None or record.address is None or not record.lives:
            return
        try:
            self._callers[caller] = Caller(self._asked, self._name, caller, self._answering)
        except ENDING:
            raise
        except BaseException:
            self._refused.add(caller)
            log.exception('"%s": a client cannot be reached', self._name)

    def close(self) -> None:
        """Close all links. No call is answered after `close` has returned."""
        self._over.set()
        self._thread.join()
        for caller in self._callers.values():
            caller.close()
        self._end.close()
        self._answering.close()
