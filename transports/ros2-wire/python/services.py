"""Services as in rmw_cyclonedds: one topic for requests, and one topic for replies that all clients receive."""

from __future__ import annotations

from typing import Any

from cyclonedds.qos import Qos

from hopmeter.node.buffers import PartsBuffer
from hopmeter.node.contract import Fill, Handle, Link, Take

from ..._cyclonedds.python.cyclone import Message, Participant, delete
from ..._cyclonedds.python.ends import Arrivals, Called, Inbox, write_sample
from .messages import Service


class ServiceEnd:
    """A writer and a reader. The client end writes requests and reads replies; the server end reads requests and writes
    replies."""

    address = ""

    def __init__(self, participant: Participant, link: Link, sent: Message, received: Message, qos: Qos) -> None:
        self._sent, self._received, self._parts = sent, received, PartsBuffer()
        self._topics = [participant.topic(message, link) for message in (sent, received)]
        self._writer = participant.writer(self._topics[0], qos)
        self._reader = participant.reader(self._topics[1], participant.service_qos())
        self._inbox = Inbox(participant, received, self._reader)


class Client(ServiceEnd):
    def __init__(self, participant: Participant, service: Service, link: Link) -> None:
        super().__init__(participant, link, service.request, service.reply, participant.request_qos(link))
        self._number = 0
        # The binding returns this number as a signed integer.
        self._own = self._writer.get_instance_handle() % (1 << 64)
        self._arrivals = Arrivals(participant, link, self._reader)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        request = self._sent.write(*self._parts.fill(payload_bytes, fill))
        self._number += 1
        request.client, request.number = self._own, self._number
        return write_sample(self._writer, request)

    def poll(self, timeout_s: float, take: Take) -> int:
        return self._arrivals.next(timeout_s, lambda: self._take_reply(take))

    def _take_reply(self, take: Take) -> bool:
        """Pass the next reply to `take` if the reply belongs to this client. Skip replies to other clients."""
        while (reply := self._inbox.next()) is not None:
            if reply.client == self._own:
                take(*self._received.read(reply), native=reply)
                return True
        return False

    def close(self) -> None:
        self._arrivals.close()
        delete(self._reader, self._writer, *self._topics)


class Server(ServiceEnd):
    def __init__(self, participant: Participant, service: Service, link: Link) -> None:
        super().__init__(participant, link, service.reply, service.request, participant.service_qos())
        self._arrivals = Arrivals(participant, link, self._reader) if link.wait != "callback" else None
        self._called: Called | None = None

    def poll(self, timeout_s: float, handle: Handle) -> int:
        assert self._arrivals is not None, "a server with the wait `callback` cannot be polled"
        return self._arrivals.next(timeout_s, lambda: self._take_request(handle))

    def serve(self, on_request: Handle) -> Called:
        self._called = Called(self._reader, lambda: self._take_request(on_request))
        return self._called

    def _take_request(self, handle: Handle) -> bool:
        request = self._inbox.next()
        if request is not None:
            self._answer(request, handle)
        return request is not None

    def _answer(self, request: Any, handle: Handle) -> None:
        def reply(payload_bytes: int, fill: Fill) -> bool:
            sample = self._sent.write(*self._parts.fill(payload_bytes, fill))
            sample.client, sample.number = request.client, request.number
            return write_sample(self._writer, sample)

        handle(*self._received.read(request), reply)

    def close(self) -> None:
        """Close the writer. If this link end is polled, close the reader too. If this link end has a callback, the
        subscription closes the reader."""
        if self._arrivals is not None:
            self._arrivals.close()
        if self._called is None:
            delete(self._reader)
        delete(self._writer, *self._topics)
