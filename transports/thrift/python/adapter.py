"""The adapter for Apache Thrift in Python; ../README.md describes messages, sockets and settings."""

from __future__ import annotations

import math
import select
import time
from pathlib import Path

from thrift.transport.TTransport import TTransportException

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import Fill, Handle, Link, Setup, Take, network_device

from .channel import Channel, Stack, is_departure
from .idl import Caller, Image, Timing, answer
from .messages import Messages, read


class Client:
    """A client whose calls consist of a sending and a receiving half."""

    def __init__(self, link: Link, channel: Channel) -> None:
        self._channel, self._messages = channel, Messages(link)
        self._calls = Caller(channel.protocol, self._messages.method)
        self._readable = select.poll()
        self._readable.register(channel.handle, select.POLLIN)
        self._gone = False

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        request = self._messages.write(payload_bytes, fill)
        try:
            if not self._gone:
                self._calls.send(request)
        except TTransportException as error:
            self._mark_gone(error)  # the request is lost, like every message without a receiver
        return True

    def poll(self, timeout_s: float, take: Take) -> int:
        if self._gone:
            time.sleep(timeout_s)  # without this pause, the role would poll in a busy loop
            return 0
        if not self._channel.has_buffered() and not self._readable.poll(math.ceil(timeout_s * 1000)):
            return 0
        try:
            reply = self._calls.receive()
        except TTransportException as error:
            self._mark_gone(error)
            return 0
        if reply is None:
            return 0
        take(*read(reply))
        return 1

    def _mark_gone(self, error: TTransportException) -> None:
        if not is_departure(error):
            raise error
        self._gone = True

    def close(self) -> None:
        self._channel.close()


class Server:
    """A server that runs Thrift's server loop for all connections on the caller's thread, because Thrift's own servers
    cannot be stopped."""

    def __init__(self, stack: Stack, link: Link) -> None:
        self._stack, self._messages = stack, Messages(link)
        self._listener = stack.listener(link)
        bound = self._listener.handle.getsockname()
        self.address = bound if stack.unix else f"{stack.advertised}:{bound[1]}"
        self._clients: dict[int, Channel] = {}
        self._readable = select.poll()
        self._readable.register(self._listener.handle, select.POLLIN)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        answering = Answering(self._messages, handle)
        for place, _ in self._readable.poll(math.ceil(timeout_s * 1000)):
            if place in self._clients:
                self._answer(place, answering)
            else:
                self._accept()
        return answering.handed_over

    def _accept(self) -> None:
        channel = Channel(self._stack, self._listener.accept())
        self._clients[channel.handle.fileno()] = channel
        self._readable.register(channel.handle, select.POLLIN)

    def _answer(self, place: int, answering: Answering) -> None:
        """Answer a client's requests, and remove a disconnected client."""
        channel = self._clients[place]
        try:
            answer(channel.protocol, answering)
            while channel.has_buffered():
                answer(channel.protocol, answering)
        except TTransportException as error:
            if not is_departure(error):
                raise
            self._readable.unregister(place)
            self._clients.pop(place).close()

    def close(self) -> None:
        self._listener.close()
        for channel in self._clients.values():
            channel.close()
        if self._stack.unix:
            Path(self.address).unlink(missing_ok=True)  # Thrift does not remove the file itself


class Answering:
    """The service's handler, which Thrift calls with each request."""

    def __init__(self, messages: Messages, handle: Handle) -> None:
        self._messages, self._handle = messages, handle
        self.handed_over = 0

    def __call__(self, request: Timing | Image) -> Timing | Image | None:
        answers: list[Timing | Image] = []

        def reply(payload_bytes: int, fill: Fill) -> bool:
            answers.append(self._messages.write(payload_bytes, fill))
            return True

        self.handed_over += 1
        self._handle(*read(request), reply)
        return answers[0] if answers else None


class Transport(BaseTransport):
    version = package_version("thrift", "thrift")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._stack = Stack(setup)
        self.path = "Unix sockets" if self._stack.unix else f"TCP on {network_device(setup)}"

    def server(self, link: Link) -> Server:
        return Server(self._stack, link)

    def client(self, link: Link) -> Client:
        return Client(link, self._stack.connect(link))

    def facts(self) -> dict[str, str]:
        facts = super().facts()
        try:
            import thrift.protocol.fastbinary  # noqa: F401  (its presence is the fact)
        except ImportError:
            facts["fallback"] = "messages were packed in Python, because Thrift's C extension `fastbinary` is missing"
        return facts
