"""Translates the file paths in a node's spec when the spec is sent to another host.

In the sent spec, `/trial/…` stands for the trial's directory on the other host, and `/files/HASH` stands for the file
whose hash is HASH. `/codec/NAME` stands for a codec library that the other host has built. The agent accepts no other
paths in a spec, and it sets the directory of the adapter itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopmeter.schemas.library import LIBRARY, NAME, built_libraries
from hopmeter.schemas.library import OBJECT as BYTES
from hopmeter.schemas.payload import KIND
from hopmeter.system import paths

TRIAL, FILES = Path("/trial"), Path("/files")
SITE = re.compile(r"/trial/(s[0-9]{0,3})")
SAMPLE = re.compile(r"/trial/([0-9]{1,6}\.(raw|readings|causes))")
FILE = re.compile(r"/files/([0-9a-f]{64})")
OBJECT = re.compile(r"(.*):(/[^:]*)")
"""A codec object made from the frames in a file, such as `image:640x480:30:/PATH`."""
OF_ENDPOINT = ("samples", "readings", "causes")
OF_FLOW = ("payload_file", "recording")
CODEC = re.compile(rf"(?P<kind>{KIND})?/codec/(?P<name>{NAME.pattern})(?P<file>/{LIBRARY}|/{BYTES})?")
"""A codec library, its object bytes or, for Python, the directory of both."""
OF_CODEC = ("library", "object")


def site(number: int) -> Path:
    """Return the path that stands, in a sent spec, for the directory with the files of the transport number
    `number`."""
    return TRIAL / (f"s{number}" if number else "s")


def send_files(spec: dict[str, Any], send: Callable[[Path], str]) -> dict[str, Any]:
    """Send the local files that a spec names, and return the spec with `/files/HASH` in place of each path. `send` is a
    function that sends a file and returns the hash of the file."""
    return {**spec, "flows": [{**flow, **_replace_files(flow, send)} for flow in spec["flows"]]}


def _replace_files(flow: dict[str, Any], send: Callable[[Path], str]) -> dict[str, str]:
    found = {key: str(FILES / send(Path(flow[key]))) for key in OF_FLOW if flow.get(key)}
    if codec := {key: name for key in OF_CODEC if (name := _name_codec(str(flow.get(key) or "")))}:
        return {**found, **codec}
    if made_of := OBJECT.fullmatch(str(flow.get("object") or "")):
        found["object"] = f"{made_of[1]}:{FILES / send(Path(made_of[2]))}"
    return found


def _name_codec(path: str) -> str:
    """If the path is the path of a codec library, return `/codec/NAME`, otherwise an empty string."""
    kind, folder = KIND if path.startswith(KIND) else "", f"{paths.codec_folder()}/"
    rest = path.removeprefix(kind)
    return f"{kind}/codec/{rest.removeprefix(folder)}" if rest.startswith(folder) else ""


def resolve(spec: dict[str, Any], folder: Path, file: Callable[[str], Path]) -> dict[str, Any]:
    """Return a received spec with each path replaced with the corresponding path on this host. `file` is a function
    that takes the hash of a file and returns its path.

    Raises ValueError, KeyError or TypeError if a path in the spec has a form that is not allowed.
    """
    inside = _resolver(SITE, folder)
    sample, content = _resolver(SAMPLE, folder), lambda path: str(file(_match(FILE, path)))
    return {
        **spec,
        "directory": inside(spec["directory"]),
        "endpoints": [_replace(each, OF_ENDPOINT, sample) for each in spec["endpoints"]],
        "flows": [_resolve_object(_replace(each, OF_FLOW, content), content) for each in spec["flows"]],
    }


def _resolver(pattern: re.Pattern[str], folder: Path) -> Callable[[Any], str]:
    return lambda path: str(folder / _match(pattern, path))


def _match(pattern: re.Pattern[str], path: Any) -> str:
    found = pattern.fullmatch(path) if isinstance(path, str) else None
    if found is None:
        raise ValueError(f"the path {path!r} does not have the form {pattern.pattern}")
    return found[1]


def _replace(part: dict[str, Any], keys: tuple[str, ...], change: Callable[[Any], str]) -> dict[str, Any]:
    return {**part, **{key: change(part[key]) for key in keys if part.get(key) is not None}}


def _codec_path(path: Any) -> str:
    """Return the path on this host of the codec library that a spec names with `/codec/NAME`. Raises ValueError if this
    host has not built the codec library."""
    found = CODEC.fullmatch(path) if isinstance(path, str) else None
    if found is None or found["name"] not in built_libraries():
        raise ValueError("a flow names a codec library that this host has not built")
    return f"{found['kind'] or ''}{paths.codec_folder() / found['name']}{found['file'] or ''}"


def _resolve_object(flow: dict[str, Any], content: Callable[[Any], str]) -> dict[str, Any]:
    if flow.get("library") or str(flow.get("object") or "").startswith(KIND):
        return _replace(flow, OF_CODEC, _codec_path)
    made_of = OBJECT.fullmatch(str(flow.get("object") or ""))
    if made_of is None and "/" in str(flow.get("object") or ""):
        raise ValueError("an object of a flow names a path")
    return {**flow, "object": f"{made_of[1]}:{content(made_of[2])}"} if made_of else flow
