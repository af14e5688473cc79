"""Provides the object that a flow with a codec sends.

The source encodes the object for every message; the last receiver decodes the object and compares it with the original.
The instrument reads the clock before and after `encode` and `decode`.
"""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Array, Form
from hopmeter.codecs.packing import pack_into, packed_bytes, unpack
from hopmeter.node.payloads import forms
from hopmeter.node.payloads.message_objects import KIND, MessageObject, open_message

NUMBER_BYTES = 8
"""The size in bytes of a video frame's number. The number is at the end of the payload, so that the rest of the payload
stays aligned."""


class Objects:
    """An object that a codec's framework creates on a device from an array.

    Raises CodecError if the framework cannot create the object.
    """

    def __init__(self, codec: str, array: Array, place: str, share: str = "none") -> None:
        self._form = forms.form_of(codec)
        self._object = _make_object(codec, self._form, array, place)
        self._sent = self._form.read(self._object)
        encode, self._decode = forms.encoder_of(codec, place, self._form.settle, share)
        self.encode = functools.partial(encode, self._object)
        """A function that encodes the object again and returns its frames."""
        self._warm_up()

    @property
    def obj(self) -> Any:
        """The object that the source sends."""
        return self._object

    def _warm_up(self) -> None:
        """Encode, decode and compare the object once, so that the first message need not wait for imports and
        compilation.

        A decoded object that differs from the original is ignored here, so that the codec's cells fail instead of being
        skipped.
        """
        frames = self.encode()
        buffer = np.empty(self.payload_bytes(frames), np.uint8)
        self.write(frames, buffer.data)
        self.is_right(self.decode(buffer.data), thoroughly=True)

    def payload_bytes(self, frames: Sequence[Any]) -> int:
        """Return the length in bytes of a payload that contains these frames."""
        return packed_bytes(frames)

    def write(self, frames: Sequence[Any], payload: memoryview) -> None:
        """Copy the frames into a payload."""
        pack_into(frames, payload)

    def decode(self, payload: memoryview) -> Any:
        """Decode the object in a payload. The object uses the payload's memory if the framework can share memory."""
        return self._decode(unpack(payload))

    def for_another_flow(self) -> Objects:
        """Return this object, because flows with the same object share it."""
        return self

    def is_right(self, obj: Any, thoroughly: bool) -> bool:
        """Return whether an object has the type and shape of the sent object.

        If `thoroughly` is set, the values of both objects must also be equal.
        """
        if type(obj) is not type(self._object) or _shape(obj) != _shape(self._object):
            return False
        if not thoroughly:
            return True
        came = self._form.read(obj)
        return came.dtype == self._sent.dtype and bool(np.array_equal(came, self._sent))


class Frames:
    """The objects of a video, one object per frame, which are sent in an endless loop.

    A payload ends with the frame's number, so that the receiver compares the object with the right frame.
    """

    def __init__(self, objects: Sequence[Objects]) -> None:
        self._objects = objects
        self._turns = threading.local()

    @property
    def obj(self) -> Any:
        """The next object that this thread encodes."""
        return self._objects[self._next()].obj

    def _next(self) -> int:
        turns = self._turns.__dict__.setdefault("of", itertools.cycle(range(len(self._objects))))
        return int(next(turns))

    def encode(self) -> tuple[int, Sequence[Any]]:
        """Encode the video's next object, and return its number and its encoded frames."""
        number = self._next()
        return number, self._objects[number].encode()

    def payload_bytes(self, encoded: tuple[int, Sequence[Any]]) -> int:
        """Return the length in bytes of a payload that contains these frames and the object's number."""
        return packed_bytes(encoded[1]) + NUMBER_BYTES

    def write(self, encoded: tuple[int, Sequence[Any]], payload: memoryview) -> None:
        """Copy the frames into a payload, followed by the object's number."""
        number, frames = encoded
        pack_into(frames, payload[:-NUMBER_BYTES])
        payload[-NUMBER_BYTES:] = number.to_bytes(NUMBER_BYTES, "little")

    def decode(self, payload: memoryview) -> tuple[int, Any]:
        """Decode a payload, and return the object's number and the object. The object uses the payload's memory if the
        framework can share memory.

        Raises CodecError if no object has this number.
        """
        number = int.from_bytes(payload[-NUMBER_BYTES:], "little")
        if number >= len(self._objects):
            raise CodecError("E-FRAME-COUNT", f"the receiver got frame {number} of {len(self._objects)}")
        return number, self._objects[number].decode(payload[:-NUMBER_BYTES])

    def for_another_flow(self) -> Frames:
        """Return an instance with the same objects for another flow.

        Each flow steps through the video's frames independently.
        """
        return Frames(self._objects)

    def is_right(self, came: tuple[int, Any], thoroughly: bool) -> bool:
        """Return whether the received object equals the frame with the received number (see `Objects.is_right`)."""
        number, obj = came
        return self._objects[number].is_right(obj, thoroughly)

    def is_any(self, obj: Any, thoroughly: bool) -> bool:
        """Return whether an object without a number equals any of the frames."""
        return any(one.is_right(obj, thoroughly) for one in self._objects)


def open_objects(codec: str, made_of: str, device: str, share: str = "none") -> Objects | Frames | MessageObject:
    """Create the object that a flow with a codec sends, from its description in the spec (`forms.arrays_of`).

    Raises CodecError if the framework or the device is missing, or if the framework cannot create the object.
    """
    if made_of.startswith(KIND):
        return open_message(made_of)
    place = forms.place_of(codec, device, share)
    arrays = forms.arrays_of(made_of, forms.form_of(codec))
    objects = [Objects(codec, array, place, share) for array in arrays]
    return Frames(objects) if forms.is_moving(made_of) else objects[0]


def _make_object(codec: str, form: Form, array: Array, place: str) -> Any:
    try:
        return form.make(array, place)
    except CodecError:
        raise
    except Exception as cause:
        # PyTorch appends five lines of advice to its error message.
        why = next(iter(str(cause).splitlines()), type(cause).__name__)
        what = f"{codec} cannot make an object of {array.dtype} {'x'.join(map(str, array.shape))}: {why}"
        raise CodecError("E-NO-OBJECT", what) from cause


def _shape(obj: Any) -> Any:
    """Return an object's shape, or the size and mode of an image that has no shape."""
    return obj.shape if hasattr(obj, "shape") else (obj.size, obj.mode)


def payload_sizes(codec: str, device: str, share: str, objects: Sequence[str]) -> str:
    """Return one JSON line with each object's payload size in bytes, or the reason why the object cannot be created."""
    return json.dumps({made_of: _payload_size(codec, made_of, device, share) for made_of in objects})


def _payload_size(codec: str, made_of: str, device: str, share: str) -> dict[str, int | str]:
    try:
        objects: Any = open_objects(codec, made_of, device, share)
        return {"bytes": objects.payload_bytes(objects.encode())}
    except CodecError as error:
        return {"missing": str(error), "code": error.code}
