"""Provides the object that a flow with a codec sends.

The source encodes the object anew for every message; the last receiver decodes the object and compares it with the
original. The instrument reads the clock before and after `encode` and `decode`.
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
        """Encode, decode and compare the object once, so that the first message of a trial does not wait for imports
        and compilation.

        If the decoded object differs from the original, this function ignores it, so that the codec's cells fail
        visibly instead of being skipped.
        """
        frames = self.encode()
        buffer = np.empty(self.payload_bytes(frames), np.uint8)
        self.write(frames, buffer.data)
        self.is_right(self.decode(buffer.data), thoroughly=True)

    def payload_bytes(self, frames: Sequence[Any]) -> int:
        """Return the length, in bytes, of a payload that contains the given frames."""
        return packed_bytes(frames)

    def write(self, frames: Sequence[Any], payload: memoryview) -> None:
        """Copy the encoded frames of the object into a payload."""
        pack_into(frames, payload)

    def decode(self, payload: memoryview) -> Any:
        """Decode the object that a payload contains. If the framework can share memory, the object uses the memory of
        the payload."""
        return self._decode(unpack(payload))

    def for_another_flow(self) -> Objects:
        """Return this object itself, because all flows with an equal object share it."""
        return self

    def is_right(self, obj: Any, thoroughly: bool) -> bool:
        """Return whether a received object has the type and the shape of the object that was sent.

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

    Each payload ends with the number of its frame, so that the receiver compares the object with the right frame.
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
        """Encode the next object of the video, and return its number and its encoded frames."""
        number = self._next()
        return number, self._objects[number].encode()

    def payload_bytes(self, encoded: tuple[int, Sequence[Any]]) -> int:
        """Return the length, in bytes, of a payload that contains the given frames and the number of the object."""
        return packed_bytes(encoded[1]) + NUMBER_BYTES

    def write(self, encoded: tuple[int, Sequence[Any]], payload: memoryview) -> None:
        """Copy the encoded frames of an object into a payload, followed by the number of the object."""
        number, frames = encoded
        pack_into(frames, payload[:-NUMBER_BYTES])
        payload[-NUMBER_BYTES:] = number.to_bytes(NUMBER_BYTES, "little")

    def decode(self, payload: memoryview) -> tuple[int, Any]:
        """Decode a payload, and return the number of its object and the object itself. If the framework can share
        memory, the object uses the memory of the payload.

        Raises CodecError if the video has no object with this number.
        """
        number = int.from_bytes(payload[-NUMBER_BYTES:], "little")
        if number >= len(self._objects):
            raise CodecError("E-FRAME-COUNT", f"the receiver got frame {number} of {len(self._objects)}")
        return number, self._objects[number].decode(payload[:-NUMBER_BYTES])

    def for_another_flow(self) -> Frames:
        """Return an instance that another flow can use, with the same objects.

        Each flow steps through the frames of the video independently of other flows.
        """
        return Frames(self._objects)

    def is_right(self, came: tuple[int, Any], thoroughly: bool) -> bool:
        """Return whether the received object equals the frame with the received number (see `Objects.is_right`)."""
        number, obj = came
        return self._objects[number].is_right(obj, thoroughly)

    def is_any(self, obj: Any, thoroughly: bool) -> bool:
        """Return whether an object that arrived without a number equals any frame of the video."""
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
    """Return the shape of an object or, for an image without a shape, its size and mode."""
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
