"""Codec libraries and message types that all tests share.

The name of each folder is a content hash, by which other pytest workers and later runs find the folder.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hopmeter.build.messages import MessageTarget, TypeTarget, build_library, build_types
from hopmeter.manifest import Manifest
from hopmeter.manifest.type_code import code_of
from hopmeter.schemas import Library, find_schema
from hopmeter.schemas.library import folder_of
from hopmeter.schemas.ros2.types import RosType


def built_library(payload: str, codec: str, language: str, log: Path) -> Library:
    """Return the codec library of a payload; build the library if it is missing."""
    folder = folder_of(find_schema(payload, codec), language)
    with _turn(folder):
        found = Library(folder)
        return found if found.facts else build_library(MessageTarget(payload, codec, language), log)


def built_types(manifest: Manifest, language: str, wanted: RosType, log: Path) -> Library:
    """Return the code of a message type for a transport; generate the code if it is missing."""
    offer = manifest.offers[language]
    with _turn(code_of(manifest, offer, wanted).folder):
        found = code_of(manifest, offer, wanted)
        return found if found.facts else build_types(TypeTarget(wanted, manifest, offer), log)


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
