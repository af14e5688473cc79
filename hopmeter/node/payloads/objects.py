"""Provides the object of a flow with a codec.

The source encodes the object for every message, and the last receiver decodes and compares it. The instrument reads the
clock before and after `encode` and `decode`.
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
    """One object, which a codec's framework creates from an array on a device.

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
        """The object that is sent."""
        return self._object

    def _warm_up(self) -> None:
        """Run all code once, so that the first message need not wait for imports and compilation.

        The method ignores a wrong decoded object, because the cells of such a codec must fail instead of being skipped.
        """
        frames = self.encode()
        buffer = np.empty(self.payload_bytes(frames), np.uint8)
        self.write(frames, buffer.data)
        self.is_right(self.decode(buffer.data), thoroughly=True)

    def payload_bytes(self, frames: Sequence[Any]) -> int:
        """Return the length in bytes of a payload with these frames."""
        return packed_bytes(frames)

    def write(self, frames: Sequence[Any], payload: memoryview) -> None:
        """Copy the frames into a payload."""
        pack_into(frames, payload)

    def decode(self, payload: memoryview) -> Any:
        """Return the decoded object, in the payload's memory if its framework can share memory."""
        return self._decode(unpack(payload))

    def for_another_flow(self) -> Objects:
        """Return this object, because flows with the same object share it."""
        return self

    def is_right(self, obj: Any, thoroughly: bool) -> bool:
        """Return whether an object has the type and shape of the sent object.

        If `thoroughly` is set, the values must be equal too.
        """
        if type(obj) is not type(self._object) or _shape(obj) != _shape(self._object):
            return False
        if not thoroughly:
            return True
        came = self._form.read(obj)
        return came.dtype == self._sent.dtype and bool(np.array_equal(came, self._sent))


class Frames:
    """One object for each frame of a video, sent in an endless loop.

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
        """Encode the next object, and return its number and its frames."""
        number = self._next()
        return number, self._objects[number].encode()

    def payload_bytes(self, encoded: tuple[int, Sequence[Any]]) -> int:
        """Return the length in bytes of a payload with these frames."""
        return packed_bytes(encoded[1]) + NUMBER_BYTES

    def write(self, encoded: tuple[int, Sequence[Any]], payload: memoryview) -> None:
        """Copy the frames into a payload, and the number to the payload's end."""
        number, frames = encoded
        pack_into(frames, payload[:-NUMBER_BYTES])
        payload[-NUMBER_BYTES:] = number.to_bytes(NUMBER_BYTES, "little")

    def decode(self, payload: memoryview) -> tuple[int, Any]:
        """Return the number and the decoded object, in the payload's memory if its framework can share memory.

        Raises CodecError if the number is unknown.
        """
        number = int.from_bytes(payload[-NUMBER_BYTES:], "little")
        if number >= len(self._objects):
            raise CodecError("E-FRAME-COUNT", f"the receiver got frame {number} of {len(self._objects)}")
        return number, self._objects[number].decode(payload[:-NUMBER_BYTES])

    def for_another_flow(self) -> Frames:
        """Return an instance with the same objects for another flow. The other flow sends the objects in its own
        order."""
        return Frames(self._objects)

    def is_right(self, came: tuple[int, Any], thoroughly: bool) -> bool:
        """Return whether an object equals the frame with its number, as in `Objects.is_right`."""
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
        why = next(iter(str(cause).splitlines()), type(cause).__name__)  # PyTorch appends five lines of advice
        what = f"{codec} cannot make an object of {array.dtype} {'x'.join(map(str, array.shape))}: {why}"
        raise CodecError("E-NO-OBJECT", what) from cause


def _shape(obj: Any) -> Any:
    """Return an object's shape, or the size and mode of an image without a shape."""
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
