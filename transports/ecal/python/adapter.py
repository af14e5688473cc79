"""The adapter for Eclipse eCAL in Python: topics, and services over TCP. ../README.md describes layers, discovery and
limits."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import ecal.nanobind_core as ecal

from hopmeter.node.base import package_version
from hopmeter.node.buffers import BytesBuffer
from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import AdapterError, Fill, Handle, Link, Setup, Take
from hopmeter.node.handover import CallbackTransport, opens
from hopmeter.node.mapped_files import mapped_files

LAYERS = {"shm": "shared memory", "udp": "UDP on the loopback device", "tcp": "TCP on the loopback device"}
SERVICE_PATH = "TCP of eCAL's services"
MEMORY_FILE = "ecal_[0-9a-f]+"
"""The pattern of the memory files' names. The names do not identify the trial, so a process records its mapped
files."""
QUIET_S = 0.01
PARTS = ecal.init.PUBLISHER | ecal.init.SUBSCRIBER | ecal.init.SERVICE
METHOD = ecal.ServiceMethodInformation("frame")
DONE, UNANSWERED = 0, 1
"""The values that a service method returns to eCAL."""


class Publisher:
    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        self._publisher = ecal.Publisher(link.name, config=transport.config.publisher)
        self._outgoing = BytesBuffer()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._outgoing.fill(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        self._publisher.send(native)  # also False if no subscriber exists yet, which is not an error
        return True

    def close(self) -> None:
        del self._publisher


class Subscription:
    """A receiver with a callback on eCAL's threads. eCAL holds one lock during all callbacks of one subscriber."""

    def __init__(self, subscriber: ecal.Subscriber, on_frame: Take, seen: set[Path]) -> None:
        self._subscriber, self._seen = subscriber, seen
        self._latest = 0.0

        def receive(_topic: Any, _type: Any, data: ecal.ReceiveCallbackData) -> None:
            frame = data.buffer
            on_frame(frame, native=frame)

        subscriber.set_receive_callback(receive)

    def _refuse(self, *_received: Any) -> None:
        self._latest = time.monotonic()

    def close(self) -> None:
        self._seen |= mapped_files(MEMORY_FILE)
        # Wait until no more callbacks start before destroying the subscriber. The subscriber's destructor waits for a
        # running callback without releasing the interpreter lock, which the callback may need.
        self._subscriber.set_receive_callback(self._refuse)
        deadline = time.monotonic() + 1
        time.sleep(QUIET_S)
        while time.monotonic() - self._latest < QUIET_S and time.monotonic() < deadline:
            time.sleep(QUIET_S)
        del self._subscriber


class Server(CalledServer):
    """A server that handles one request at a time, although eCAL's thread pool can handle several clients
    concurrently."""

    def __init__(self, transport: Transport, link: Link) -> None:
        # Each request needs a new reply object, because eCAL may copy the reply after the next request arrives.
        super().__init__(lambda payload_bytes, fill: BytesBuffer().fill(payload_bytes, fill))
        transport.path = SERVICE_PATH
        self._server = ecal.ServiceServer(link.name)

    def serve(self, on_request: Handle) -> Server:
        self._server.set_method_callback(METHOD, self._answer)
        return super().serve(on_request)

    def _answer(self, _method: Any, request: bytes) -> tuple[int, bytes]:
        reply = self.answer(request)
        return (UNANSWERED, b"") if reply is None else (DONE, reply)

    def close(self) -> None:
        super().close()
        if self._server is not None:
            self._server.set_method_callback(METHOD, lambda _method, _request: (UNANSWERED, b""))
        self._server = None


class Client:
    """A client with asynchronous calls. eCAL's threads put the replies into a queue, and a poll empties the queue."""

    def __init__(self, transport: Transport, link: Link) -> None:
        transport.path = SERVICE_PATH
        self._client = ecal.ServiceClient(link.name, {METHOD})
        self._outgoing, self._replies = BytesBuffer(), ReplyQueue()
        self.poll = self._replies.poll

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        # The call returns False if no server is connected.
        request = self._outgoing.fill(payload_bytes, fill)
        return bool(self._client.call_with_callback_async("frame", request, self._receive))

    def _receive(self, response: ecal.ServiceResponse) -> None:
        if response.call_state == ecal.CallState.EXECUTED and response.ret_state == DONE:
            self._replies.put((response.response,))

    def close(self) -> None:
        del self._client


class Transport(CallbackTransport):
    publisher = opens(Publisher)
    called_server = opens(Server)
    client = opens(Client)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = LAYERS[setup.settings["layer"]]
        self._seen: set[Path] = set()
        # The folders in which eCAL reads the user's configuration and writes its own files.
        os.environ["ECAL_DATA"] = os.environ["ECAL_LOG_DIR"] = setup.directory
        self.config = configuration(setup)
        if not ecal.initialize(self.config, f"hopmeter_{setup.run}", PARTS):
            raise AdapterError("eCAL does not start", "see the node's log")

    @staticmethod
    def version() -> str:
        return f"eCAL {ecal.get_version_string()}, {package_version('eclipse-ecal', 'eclipse-ecal')()}"

    def subscribe(self, link: Link, on_frame: Take) -> Subscription:
        return Subscription(ecal.Subscriber(link.name, config=self.config.subscriber), on_frame, self._seen)

    def close(self) -> None:
        ecal.finalize()
        for file in self._seen:  # removes locks and events that a killed publisher could not remove
            for left in (file, *file.parent.glob(f"{file.name}_*")):
                left.unlink(missing_ok=True)


def configuration(setup: Setup) -> ecal.Configuration:
    """Return eCAL's default configuration with this trial's ports, one layer and the manifest's settings."""
    settings, config = setup.settings, ecal.Configuration()
    port = 20000 + int(setup.run, 16) % 6000 * 2
    config.registration.local.udp.port = config.registration.network.udp.port = port
    config.transport_layer.udp.port = port + 1
    config.registration.registration_refresh = settings["registration_refresh_ms"]
    for end in (config.publisher, config.subscriber):
        for layer in LAYERS:
            getattr(end.layer, layer).enable = layer == settings["layer"]
    memory = config.publisher.layer.shm
    memory.acknowledge_timeout_ms = settings["acknowledge_timeout_ms"]
    memory.memfile_buffer_count = settings["memfile_buffer_count"]
    memory.zero_copy_mode = settings["zero_copy"]
    return config
