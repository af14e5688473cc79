"""Lets cells send schema messages as objects; generated Python code encodes and decodes the messages."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.lookup import import_package
from hopmeter.node.payloads.cdr_messages import CdrMessage
from hopmeter.schemas.library import DESCRIPTORS, GENERATED, OBJECT
from hopmeter.schemas.recorded import FACTS

KIND = "message:"
PROTOBUF = "google.protobuf"


class ProtobufMessage:
    """A Protocol Buffers message that is built from the files in the directory of its codec library."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self._type = _message_class(folder, facts["type"])
        self._object = self.decode_bytes((folder / OBJECT).read_bytes())
        self._sorted = self._object.SerializeToString(deterministic=True)

    def encode(self) -> bytes:
        """Encode the message on every call, and return its bytes."""
        return bytes(self._object.SerializeToString())

    def decode_bytes(self, payload: bytes) -> Any:
        """Decode a payload, and return its message.

        Raises CodecError if the payload is not a message of the expected type.
        """
        try:
            return self._type.FromString(payload)
        except Exception as cause:
            raise CodecError("E-UNDECODABLE", f"this is not a message of the schema: {cause}") from cause

    def equals(self, came: Any) -> bool:
        """Return whether a received message equals the message that was sent."""
        return bool(came.SerializeToString(deterministic=True) == self._sorted)


class FlatbuffersMessage:
    """A FlatBuffers table that is read and written through the object API.

    Decoding reads all fields to detect invalid payloads, because FlatBuffers has no verifier for Python.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self._builder = import_package("flatbuffers", "flatbuffers").Builder
        self._table, self._type = _table_classes(_import_generated(folder, facts["module"]))
        self._object = self.decode_bytes((folder / OBJECT).read_bytes())
        self._packed = self._pack(self._object)

    def encode(self) -> bytes:
        """Encode the table on every call, and return its bytes."""
        return self._pack(self._object)

    def _pack(self, obj: Any) -> bytes:
        builder = self._builder(1024)
        builder.Finish(obj.Pack(builder))
        return bytes(builder.Output())

    def decode_bytes(self, payload: bytes) -> Any:
        """Decode a payload, and return its table with all fields.

        Raises CodecError if the payload is not a table of the schema.
        """
        try:
            return self._type.InitFromObj(self._table.GetRootAs(payload, 0))
        except Exception as cause:
            raise CodecError("E-UNDECODABLE", f"this is not a table of the schema: {cause}") from cause

    def equals(self, came: Any) -> bool:
        """Return whether a received table equals the table that was sent."""
        return self._pack(came) == self._packed


TYPES: dict[str, type[ProtobufMessage | FlatbuffersMessage | CdrMessage]] = {
    "protobuf": ProtobufMessage,
    "flatbuffers": FlatbuffersMessage,
    "cdr": CdrMessage,
}


class MessageObject:
    """A schema message with the methods that the instrument also calls on `Objects`."""

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / FACTS).read_text())
        self.obj = TYPES[facts["codec"]](folder, facts)
        self.encode = self.obj.encode
        """A function that encodes the message again and returns its bytes."""
        self.is_right(self.decode(memoryview(self.encode())), thoroughly=True)

    def for_another_flow(self) -> MessageObject:
        """Return this object itself, because all flows with this message share it."""
        return self

    def payload_bytes(self, encoded: bytes | memoryview) -> int:
        """Return the length of the encoded message in bytes."""
        return len(encoded)

    def write(self, encoded: bytes | memoryview, payload: memoryview) -> None:
        """Copy the encoded message into a payload."""
        payload[:] = encoded

    def decode(self, payload: memoryview) -> Any:
        """Decode a payload, and return the message that it contains. Raises CodecError if the payload is not a message
        of the schema."""
        return self.obj.decode_bytes(bytes(payload))

    def is_right(self, came: Any, thoroughly: bool) -> bool:
        """Return whether a received message equals the message that was sent. If `thoroughly` is false, every message
        that was decoded counts as right."""
        return not thoroughly or self.obj.equals(came)


def open_message(made_of: str) -> MessageObject:
    """Return the object that encodes and decodes a cell's messages with the code in a codec library's directory."""
    return MessageObject(Path(made_of.removeprefix(KIND)))


@functools.cache
def _message_class(folder: Path, name: str) -> Any:
    """Return the Python class of a message type.

    Each class has a descriptor pool of its own, so that one program can use several versions of a schema. The modules
    that protoc generates contain equal classes, but all modules share one descriptor pool.
    """
    pool = import_package(f"{PROTOBUF}.descriptor_pool", "protobuf").DescriptorPool()
    described = import_package(f"{PROTOBUF}.descriptor_pb2", "protobuf")
    message_factory = import_package(f"{PROTOBUF}.message_factory", "protobuf")
    try:
        for file in described.FileDescriptorSet.FromString((folder / DESCRIPTORS).read_bytes()).file:
            pool.AddSerializedFile(file.SerializeToString())
        found = pool.FindMessageTypeByName(name)
    except Exception as cause:
        what = f"the package protobuf of Python does not read the schema: {cause}; install a newer one"
        raise CodecError("E-FRAMEWORK-MISSING", what) from cause
    return message_factory.GetMessageClass(found)


def _table_classes(module: Any) -> tuple[Any, Any]:
    """Return two classes of a module that flatc generated: the class that reads the table, and the class of the object
    API."""
    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    table = next(each for each in classes if hasattr(each, "GetRootAs"))
    return table, next(each for each in classes if hasattr(each, "InitFromObj"))


@functools.cache
def _import_generated(folder: Path, module: str) -> Any:
    """Import generated code. Generated files import each other relative to the directory `GENERATED`, which this
    function appends to the search path.

    If the package has already been imported, this function extends its `__path__`, so that several messages can share
    the package.
    """
    root = folder / GENERATED
    sys.path.append(str(root))  # last, so that generated modules do not shadow standard library modules
    for path in (each for each in root.rglob("*") if each.is_dir()):
        package = sys.modules.get(".".join(path.relative_to(root).parts))
        if package is not None:
            package.__path__ = [*getattr(package, "__path__", ()), str(path)]
    try:
        return importlib.import_module(module)
    except Exception as cause:
        what = f"the code that flatc generates for the schema cannot be imported: {cause}"
        raise CodecError("E-FRAMEWORK-MISSING", what) from cause
