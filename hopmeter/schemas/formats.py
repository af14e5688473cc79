"""Describes the codecs that have schemas: the file suffixes, programs and packages of each codec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """The properties of a codec that has schemas."""

    suffix: str
    """The suffix of a schema file."""
    values: str
    """The suffix of a file with a message's values."""
    programs: Mapping[str, Mapping[str, str]]
    """The programs that build a codec library, each with its system package, by language."""
    packages: Mapping[str, tuple[str, ...]]
    """The system packages that a codec library needs, by language."""
    compiler: str = ""
    """The schema compiler, or an empty string if hopmeter reads the schemas itself."""


FORMATS = {
    "protobuf": Format(
        suffix=".proto",
        values=".txtpb",
        compiler="protoc",
        programs={
            "rust": {"protoc": "protobuf-compiler", "cargo": "cargo"},
            "c++": {"protoc": "protobuf-compiler", "c++": "g++"},
            "python": {"protoc": "protobuf-compiler"},
        },
        packages={
            "rust": ("protobuf-compiler",),
            "c++": ("protobuf-compiler", "libprotobuf-dev"),
            "python": ("protobuf-compiler",),
        },
    ),
    "flatbuffers": Format(
        suffix=".fbs",
        values=".json",
        compiler="flatc",
        programs={
            "rust": {"flatc": "flatbuffers-compiler", "cargo": "cargo"},
            "c++": {"flatc": "flatbuffers-compiler", "c++": "g++"},
            "python": {"flatc": "flatbuffers-compiler"},
        },
        packages={
            "rust": ("flatbuffers-compiler",),
            "c++": ("flatbuffers-compiler", "libflatbuffers-dev"),
            "python": ("flatbuffers-compiler",),
        },
    ),
    "cdr": Format(
        suffix=".msg",
        values=".yaml",
        programs={"rust": {"cargo": "cargo"}, "c++": {"c++": "g++"}, "python": {}},
        packages={"rust": (), "c++": ("libfastcdr-dev",), "python": ()},
    ),
}
"""Every codec that has schemas."""
CODECS = tuple(FORMATS)
