"""`python -m hopmeter.build.messages.check FOLDER` encodes and decodes a codec library's object, and compares the
decoded object with the original.

The check runs in a separate process, because generated code may crash. The encoded object is written to FOLDER.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import CFUNCTYPE, POINTER, c_int, c_size_t, c_uint8, c_uint32, c_void_p
from pathlib import Path

from hopmeter.codecs.errors import CodecError
from hopmeter.node.payloads.message_objects import MessageObject
from hopmeter.schemas.library import LIBRARY, OBJECT

ENCODED = "encoded.bin"
"""The name of the file with the object in the encoding of the generated code."""
ABI = 1
"""The version of the function table, which is `HOPMETER_CODEC_ABI` in C."""


class Functions(ctypes.Structure):
    """A codec library's function table, which is `struct hopmeter_codec_functions` in C."""

    _fields_ = (
        ("abi", c_uint32),
        ("open", CFUNCTYPE(c_void_p, c_void_p, c_size_t)),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("open_encoder", CFUNCTYPE(c_void_p)),
        ("close_encoder", CFUNCTYPE(None, c_void_p)),
        ("encode", CFUNCTYPE(c_void_p, c_void_p, c_void_p, POINTER(c_size_t))),
        ("decode", CFUNCTYPE(c_void_p, c_void_p, c_size_t)),
        ("close_decoded", CFUNCTYPE(None, c_void_p)),
        ("equal", CFUNCTYPE(c_int, c_void_p, c_void_p)),
    )


class LoadedCodec:
    """A codec library that is loaded into this process."""

    def __init__(self, library: Path, encoded: bytes) -> None:
        loaded = ctypes.CDLL(str(library))
        loaded.hopmeter_codec.restype = POINTER(Functions)
        self._functions = loaded.hopmeter_codec().contents
        if self._functions.abi != ABI:
            raise ValueError(f"{library} has version {self._functions.abi} of the codec table instead of {ABI}")
        self._object = self._functions.open(_address(encoded), len(encoded))
        if not self._object:
            raise ValueError("the library does not read the object")

    def encode(self) -> bytes:
        """Encode the object with the codec library, and return the bytes. Raises ValueError if encoding fails."""
        size, encoder = c_size_t(), self._functions.open_encoder()
        try:
            found = self._functions.encode(self._object, encoder, ctypes.byref(size))
            if not found:
                raise ValueError("the object cannot be encoded")
            return ctypes.string_at(found, size.value)
        finally:
            self._functions.close_encoder(encoder)

    def verdict(self, payload: bytes, shift: int = 0) -> str:
        """Decode a payload at an offset of `shift` bytes in its buffer, and compare it with the object.

        Returns `equal`, `different`, or `invalid` if the payload is not a message of the schema.
        """
        buffer = (c_uint8 * (shift + len(payload) + 1)).from_buffer_copy(bytes(shift) + payload + b"\0")
        decoded = self._functions.decode(ctypes.addressof(buffer) + shift, len(payload))
        if not decoded:
            return "invalid"
        try:
            return "equal" if self._functions.equal(self._object, decoded) == 1 else "different"
        finally:
            self._functions.close_decoded(decoded)


def _address(data: bytes) -> int:
    found = ctypes.cast(ctypes.c_char_p(data), c_void_p).value
    assert found is not None, "bytes have an address"
    return found


class PythonCodec:
    """Generated Python code, with the same methods as `LoadedCodec`."""

    def __init__(self, folder: Path) -> None:
        self._message = MessageObject(folder)

    def encode(self) -> bytes:
        """Encode the object with the generated code, and return the bytes."""
        return bytes(self._message.encode())

    def verdict(self, payload: bytes) -> str:
        """Decode a payload, and compare it with the object.

        Returns `equal`, `different`, or `invalid` if the payload is not a message of the schema.
        """
        try:
            came = self._message.decode(memoryview(payload))
            return "equal" if self._message.is_right(came, thoroughly=True) else "different"
        except CodecError:
            return "invalid"


def load_codec(folder: Path) -> LoadedCodec | PythonCodec:
    """Return a directory's codec: the shared library if there is one, otherwise the Python code."""
    if (folder / LIBRARY).exists():
        return LoadedCodec(folder / LIBRARY, (folder / OBJECT).read_bytes())
    return PythonCodec(folder)


def main(folder: str) -> int:
    """Encode, decode and compare the object in `folder`, and return the exit code."""
    codec = load_codec(Path(folder))
    encoded = codec.encode()
    if (verdict := codec.verdict(encoded)) != "equal":
        print(f"an encoded and decoded object is {verdict}", file=sys.stderr)
        return 1
    (Path(folder) / ENCODED).write_bytes(encoded)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
