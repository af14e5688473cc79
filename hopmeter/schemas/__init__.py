"""Handles payloads that begin with `message:` and name messages of the user's schemas, and finds their codec
libraries."""

from hopmeter.schemas.formats import CODECS
from hopmeter.schemas.library import Library, library_of, missing_tools
from hopmeter.schemas.payload import (
    SHIPPED,
    MessagePayload,
    add_folders,
    is_message,
    parse_message,
    without_folders,
)
from hopmeter.schemas.schema import Schema, find_schema

__all__ = [
    "CODECS",
    "SHIPPED",
    "Library",
    "MessagePayload",
    "Schema",
    "add_folders",
    "find_schema",
    "is_message",
    "library_of",
    "missing_tools",
    "parse_message",
    "without_folders",
]
