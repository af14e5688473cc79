"""eCAL's services: calls over TCP, answered and handed back on threads of eCAL's pool."""

from __future__ import annotations

import queue
import threading
from typing import Any

import ecal.nanobind_core as ecal

from hopmeter.node.contract import AdapterError, Fill, Handle, Take

from .outgoing import Outgoing

METHOD = ecal.ServiceMethodInformation("frame")
DONE, UNANSWERED = 0, 1
"""What a method returns to eCAL."""


class Served:
    """Handles requests one at a time, as the contract asks; the pool would handle those of several clients at once."""

    def __init__(self, server: ecal.ServiceServer, on_request: Handle) -> None:
        self._server, self._on_request = server, on_request
        self._turn = threading.Lock()
        server.set_method_callback(METHOD, self._answer)

    def _answer(self, _method: Any, request: bytes) -> tuple[int, bytes]:
        outgoing, answers = Outgoing(), []

        def reply(payload_bytes: int, fill: Fill) -> bool:
            answers.append(outgoing.filled(payload_bytes, fill))
            return True

        with self._turn:
            self._on_request(request, reply)
        return (DONE, answers[0]) if answers else (UNANSWERED, b"")

    def close(self) -> None:
        self._server.set_method_callback(METHOD, lambda _method, _request: (UNANSWERED, b""))
        with self._turn:
            del self._server


class Server:
    address = ""

    def __init__(self, name: str) -> None:
        self._server = ecal.ServiceServer(name)

    def poll(self, timeout_s: float, handle: Handle) -> int:
        raise AdapterError("a server of eCAL is called", 'use wait = "callback"')

    def serve(self, on_request: Handle) -> Served:
        return Served(self._server, on_request)

    def close(self) -> None:
        del self._server


class Client:
    """Calls without waiting; what eCAL's threads hand back is kept until it is asked for."""

    def __init__(self, name: str) -> None:
        self._client = ecal.ServiceClient(name, {METHOD})
        self._outgoing = Outgoing()
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        # False while no server is connected.
        request = self._outgoing.filled(payload_bytes, fill)
        return bool(self._client.call_with_callback_async("frame", request, self._receive))

    def _receive(self, told: ecal.ServiceResponse) -> None:
        if told.call_state == ecal.CallState.EXECUTED and told.ret_state == DONE:
            self._replies.put(told.response)

    def poll(self, timeout_s: float, take: Take) -> int:
        try:
            take(self._replies.get(timeout=timeout_s))
        except queue.Empty:
            return 0
        return 1

    def close(self) -> None:
        del self._client
