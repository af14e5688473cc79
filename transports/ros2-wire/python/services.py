"""Services as rmw_cyclonedds puts them on the wire: a topic for the requests and one for the replies, which all clients
of a service get."""

from __future__ import annotations

from typing import Any

from hopmeter.node.contract import Fill, Handle, Link, Take

from ..._cyclonedds.python.cyclone import Participant, delete
from ..._cyclonedds.python.ends import Arrivals, Called, Inbox, Outgoing, write_sample
from .messages import Service


class Client:
    def __init__(self, participant: Participant, service: Service, link: Link) -> None:
        self._reply, self._number = service.reply, 0
        self._outgoing = Outgoing(service.request)
        self._topics = [participant.topic(message, link) for message in (service.request, service.reply)]
        self._writer = participant.writer(self._topics[0], participant.request_qos())
        self._reader = participant.reader(self._topics[1], participant.service_qos())
        # The binding gives it with a sign.
        self._own = self._writer.get_instance_handle() % (1 << 64)
        self._inbox = Inbox(participant, service.reply, self._reader)
        self._arrivals = Arrivals(participant, self._reader)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        request = self._outgoing.write(payload_bytes, fill)
        self._number += 1
        request.client, request.number = self._own, self._number
        return write_sample(self._writer, request)

    def poll(self, timeout_s: float, take: Take) -> int:
        return self._arrivals.next(timeout_s, lambda: self._take_reply(take))

    def _take_reply(self, take: Take) -> bool:
        """Passes over replies to other clients."""
        while (reply := self._inbox.next()) is not None:
            if reply.client == self._own:
                take(*self._reply.read(reply), native=reply)
                return True
        return False

    def close(self) -> None:
        self._arrivals.close()
        delete(self._reader, self._writer, *self._topics)


class Server:
    address = ""

    def __init__(self, participant: Participant, service: Service, link: Link) -> None:
        self._request = service.request
        self._outgoing = Outgoing(service.reply)
        self._topics = [participant.topic(message, link) for message in (service.request, service.reply)]
        self._reader = participant.reader(self._topics[0], participant.service_qos())
        self._writer = participant.writer(self._topics[1], participant.service_qos())
        self._inbox = Inbox(participant, service.request, self._reader)
        self._arrivals = Arrivals(participant, self._reader) if participant.setup.wait != "callback" else None
        self._called: Called | None = None

    def poll(self, timeout_s: float, handle: Handle) -> int:
        assert self._arrivals is not None, "a server of the wait `callback` is not polled"
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
            sample = self._outgoing.write(payload_bytes, fill)
            sample.client, sample.number = request.client, request.number
            return write_sample(self._writer, sample)

        handle(*self._request.read(request), reply)

    def close(self) -> None:
        """What serves closes itself, and its reader with it."""
        if self._arrivals is not None:
            self._arrivals.close()
        if self._called is None:
            delete(self._reader)
        delete(self._writer, *self._topics)
