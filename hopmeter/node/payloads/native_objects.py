"""Provides objects for transports that encode objects themselves."""

from __future__ import annotations

import threading
from typing import Any

from hopmeter.node.payloads.objects import Frames, Objects


class NativeObjects:
    """The object of a flow whose adapter implements `carry(objects)`. The class has the methods that the instrument
    also calls on `Objects`.

    The payload has the same length as with other transports, so that the rows of the transports are comparable. The
    payload's content is neither written nor read. To send a message, the adapter publishes the object `leaving`. When a
    message is received, the adapter passes its object to `arrive` and then calls `take`.
    """

    def __init__(self, objects: Objects | Frames) -> None:
        self._objects: Any = objects
        self._payload_bytes = self._objects.payload_bytes(self._objects.encode())
        self._came = threading.local()
        self.leaving = objects.obj
        self.is_right = objects.is_any if isinstance(objects, Frames) else objects.is_right

    def encode(self) -> tuple[()]:
        """Return no frames, because the transport encodes the object.

        If the object is a video, this call also selects the next frame of the video.
        """
        self.leaving = self._objects.obj
        return ()

    def arrive(self, obj: Any) -> None:
        """Store a received object for `decode`, which the same thread calls within `take`."""
        self._came.obj = obj

    def payload_bytes(self, _frames: tuple[()]) -> int:
        """Return the length of the payload that stands for the object."""
        return self._payload_bytes

    def write(self, _frames: tuple[()], _payload: memoryview) -> None:
        """Do nothing, because the transport carries the object instead of the payload."""

    def decode(self, _payload: memoryview) -> Any:
        """Return the object that this thread received last, or None if this thread has received no object."""
        return self._came.__dict__.pop("obj", None)
