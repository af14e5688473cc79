"""The bodies of requests and replies: the bytes of a frame, or a JSON object."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Annotated, Any

import httpx
from fastapi import Body, FastAPI, HTTPException, Response
from pydantic import BaseModel

from hopmeter.node.buffers import new_bytes
from hopmeter.node.calls import Parts
from hopmeter.node.contract import HEADER_BYTES, Fill
from hopmeter.node.typed import header_of, label, sent_of, seq_of


class Timing(BaseModel):
    """A request or a reply as JSON; `padding` is the payload in base64."""

    id: int
    nanosec: int
    source: str
    padding: str


class Octets:
    """The bytes of a frame."""

    body, model = Annotated[bytes, Body()], None
    """The parameter of the endpoint, and the model of its reply."""

    @staticmethod
    def write(payload_bytes: int, fill: Fill) -> bytes:
        frame, places = new_bytes(HEADER_BYTES + payload_bytes)
        fill(places)
        return frame

    @staticmethod
    def request(frame: bytes) -> dict[str, Any]:
        """Return the arguments of httpx for a request."""
        return {"content": frame, "headers": {"Content-Type": "application/octet-stream"}}

    @staticmethod
    def response(frame: bytes) -> Response:
        """Return the reply in the form in which FastAPI sends it."""
        return Response(frame, media_type="application/octet-stream")

    @staticmethod
    def parts(frame: bytes) -> Parts:
        return (frame,)

    @staticmethod
    def read(reply: httpx.Response) -> Parts:
        return (reply.content,)


class Json:
    """A JSON object, which FastAPI and httpx convert."""

    body, model = Timing, Timing

    @staticmethod
    def write(payload_bytes: int, fill: Fill) -> dict[str, Any]:
        header, payload = bytearray(HEADER_BYTES), bytearray(payload_bytes)
        fill(header, payload)
        source, padding = label(header), b64encode(payload).decode()
        return {"id": seq_of(header), "nanosec": sent_of(header), "source": source, "padding": padding}

    @staticmethod
    def request(fields: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of httpx for a request."""
        return {"json": fields, "headers": {}}

    @staticmethod
    def response(fields: dict[str, Any]) -> Timing:
        """Return the reply; FastAPI converts it to JSON."""
        return Timing(**fields)

    @staticmethod
    def parts(request: Timing) -> Parts:
        payload = b64decode(request.padding)
        return header_of(request.source, request.nanosec, len(payload)), payload

    @staticmethod
    def read(reply: httpx.Response) -> Parts:
        return Json.parts(Timing(**reply.json()))


Kind = type[Octets] | type[Json]
KINDS: dict[str, Kind] = {"octets": Octets, "json": Json}


def add_route(app: FastAPI, path: str, kind: Kind, answer: Callable[..., Any], *, is_async: bool) -> None:
    """Let `answer` handle POST requests. `answer` returns the reply, or None to send the status 503. FastAPI runs an
    `async def` in the event loop, and a `def` on a thread of a pool."""

    def handle(body: Any) -> Any:
        reply = answer(*kind.parts(body))
        if reply is None:
            raise HTTPException(503)
        return kind.response(reply)

    async def handle_in_loop(body: Any) -> Any:
        return handle(body)

    endpoint = handle_in_loop if is_async else handle
    endpoint.__annotations__ = {"body": kind.body}
    app.post(path, response_model=kind.model)(endpoint)
