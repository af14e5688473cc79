"""eCAL's services: calls over TCP, answered and completed on threads of eCAL's pool."""

from __future__ import annotations

from typing import Any

import ecal.nanobind_core as ecal

from hopmeter.node.buffers import BytesBuffer
from hopmeter.node.calls import CalledServer, ReplyQueue
from hopmeter.node.contract import Fill, Handle

METHOD = ecal.ServiceMethodInformation("frame")
DONE, UNANSWERED = 0, 1
"""The codes that a method returns to eCAL."""


class Server(CalledServer):
    """A server that handles one request at a time. eCAL's pool would handle requests of several clients at once."""

    def __init__(self, name: str) -> None:
        # A new reply for each request: eCAL may copy it after the next request has come.
        super().__init__(lambda payload_bytes, fill: BytesBuffer().fill(payload_bytes, fill))
        self._server = ecal.ServiceServer(name)

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
    """Calls without waiting; a queue stores the replies from eCAL's threads until a poll."""

    def __init__(self, name: str) -> None:
        self._client = ecal.ServiceClient(name, {METHOD})
        self._outgoing, self._replies = BytesBuffer(), ReplyQueue()
        self.poll = self._replies.poll

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        # False if no server is connected.
        request = self._outgoing.fill(payload_bytes, fill)
        return bool(self._client.call_with_callback_async("frame", request, self._receive))

    def _receive(self, response: ecal.ServiceResponse) -> None:
        if response.call_state == ecal.CallState.EXECUTED and response.ret_state == DONE:
            self._replies.put((response.response,))

    def close(self) -> None:
        del self._client
