"""The codec cdr encodes every message of the ROS 2 packages on PyPI like rclpy, apart from padding.

The test compares hopmeter's Python bytes with rclpy's; the bytes of C++ and Rust are compared with Python's when their
library is built.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.messages.cdr import ordered_definitions
from hopmeter.build.messages.ros2_values import choose_values
from hopmeter.manifest.interpreter import folder
from hopmeter.node.payloads.cdr_messages import make_message, type_store
from hopmeter.schemas import find_schema
from hopmeter.schemas.ros2.definition import parts_of
from hopmeter.schemas.ros2.parser import parse
from hopmeter.schemas.ros2.standard import standard_folder

ENVIRONMENT = folder("ros2-kilted")
PROGRAM = Path(__file__).with_name("ros2_encode.py")
MOST_PADDING = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ENVIRONMENT.is_dir(), reason="run `hopmeter build ros2`, which installs rclpy"),
]


def shipped_files() -> Iterator[tuple[str, Path]]:
    """Yield name and file of the messages of hopmeter and the installed ROS 2."""
    for file in sorted(ENVIRONMENT.glob("share/*/msg/*.msg")):
        name = f"{file.parent.parent.name}/msg/{file.stem}"
        if (standard_folder() / f"{name}.msg").is_file():
            yield name, file


def shipped_services() -> Iterator[str]:
    """Yield the names of the services of the installed ROS 2."""
    for file in sorted(ENVIRONMENT.glob("share/*/srv/*.srv")):
        yield f"{file.parent.parent.name}/srv/{file.stem}"


class Codec:
    """A message of hopmeter's Python codec: `name`, or a part of the service `payload`."""

    def __init__(self, name: str, payload: str = "") -> None:
        self.name = name
        self.definitions = ordered_definitions(find_schema(f"message:{payload or name}", "cdr"), name)
        self.store = type_store(tuple(self.definitions.values()))
        self.values = choose_values(self.definitions, name, 5)
        self.bytes = self.encode(make_message(self.definitions, name, self.values))

    def encode(self, message: Any) -> bytes:
        return bytes(self.store.serialize_cdr(message, self.name, little_endian=True))

    def encode_again(self, encoded: bytes) -> bytes:
        return self.encode(self.store.deserialize_cdr(encoded, self.name))

    def is_padding(self, at: int) -> bool:
        """Return whether a byte is padding, whose value decoding ignores."""
        altered = bytearray(self.bytes)
        altered[at] ^= 0xFF
        return self.encode_again(bytes(altered)) == self.bytes


@pytest.fixture(scope="module")
def encoded() -> list[tuple[Codec, bytes, bytes]]:
    """Return two byte strings for each message: its values encoded by rclpy, and hopmeter's bytes decoded and encoded
    again by rclpy."""
    codecs = [Codec(name) for name, _ in shipped_files()]
    codecs += [Codec(part, name) for name in shipped_services() for part in parts_of(name)]
    asked = json.dumps([[each.name, each.values, each.bytes.hex()] for each in codecs])
    without = {"PYTHONPATH": "", "LD_LIBRARY_PATH": "", "_ROS_WHEELS_BOOTSTRAP_COMPLETE": ""}
    environment = {**os.environ, **without, "AMENT_PREFIX_PATH": str(ENVIRONMENT), "ROS_DISTRO": "kilted"}
    command = [ENVIRONMENT / "bin/python", PROGRAM]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [[bytes.fromhex(each) for each in pair] for pair in json.loads(done.stdout)]
    return [(codec, *pair) for codec, pair in zip(codecs, found, strict=True)]


def test_every_message_has_the_bytes_of_rclpy(encoded: list[tuple[Codec, bytes, bytes]]) -> None:
    assert len(encoded) > 160
    for codec, of_values, read in encoded:
        for theirs in (of_values, read):
            assert 0 <= len(theirs) - len(codec.bytes) <= MOST_PADDING, codec.name
            differing = [at for at, byte in enumerate(codec.bytes) if theirs[at] != byte]
            assert all(codec.is_padding(at) for at in differing), codec.name


def test_what_rclpy_encodes_is_read(encoded: list[tuple[Codec, bytes, bytes]]) -> None:
    for codec, of_values, _ in encoded:
        assert codec.encode_again(of_values) == codec.bytes, codec.name


def test_the_shipped_definitions_are_those_of_ros2() -> None:
    for name, file in shipped_files():
        ours = parse((standard_folder() / f"{name}.msg").read_text(), name, name).fields
        theirs = parse(file.read_text(), name, name).fields
        assert [(each.name, each.type, each.default or None) for each in ours] == [
            (each.name, each.type, each.default or None) for each in theirs
        ]
