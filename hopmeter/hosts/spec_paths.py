"""The paths in a node's spec while it travels to another host.

`/trial/…` stands for the folder of the trial there, and `/files/HASH` for a file with this content. The agent accepts
no other path, and fills in the folder of the adapter itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

TRIAL, FILES = Path("/trial"), Path("/files")
SITE = re.compile(r"/trial/(s[0-9]{0,3})")
SAMPLE = re.compile(r"/trial/([0-9]{1,6}\.(raw|readings|causes))")
FILE = re.compile(r"/files/([0-9a-f]{64})")
OBJECT = re.compile(r"(.*):(/[^:]*)")
"""An object of a codec that is made of the frames of a file: `image:640x480:30:/PATH`."""
OF_ENDPOINT = ("samples", "readings", "causes")
OF_FLOW = ("payload_file", "recording")
FORBIDDEN = ("library",)
"""Keys of a flow that name code."""


def site(number: int) -> Path:
    """Return the folder of the files of a transport."""
    return TRIAL / (f"s{number}" if number else "s")


def send_files(spec: dict[str, Any], send: Callable[[Path], str]) -> dict[str, Any]:
    """Return a spec in which `/files/HASH` replaces each file of this machine; `send` returns the hash of a file."""
    return {**spec, "flows": [{**flow, **_replace_files(flow, send)} for flow in spec["flows"]]}


def _replace_files(flow: dict[str, Any], send: Callable[[Path], str]) -> dict[str, str]:
    found = {key: str(FILES / send(Path(flow[key]))) for key in OF_FLOW if flow.get(key)}
    if made_of := OBJECT.fullmatch(str(flow.get("object") or "")):
        found["object"] = f"{made_of[1]}:{FILES / send(Path(made_of[2]))}"
    return found


def resolve(spec: dict[str, Any], folder: Path, file: Callable[[str], Path]) -> dict[str, Any]:
    """Return a spec with the paths of this host; `file` returns the path of a file by its hash.

    Raises ValueError, KeyError or TypeError for any other path.
    """
    inside = _resolver(SITE, folder)
    sample, content = _resolver(SAMPLE, folder), lambda path: str(file(_match(FILE, path)))
    return {
        **spec,
        "directory": inside(spec["directory"]),
        "endpoints": [_replace(each, OF_ENDPOINT, sample) for each in spec["endpoints"]],
        "flows": [_resolve_object(_replace(_check_flow(each), OF_FLOW, content), content) for each in spec["flows"]],
    }


def _resolver(pattern: re.Pattern[str], folder: Path) -> Callable[[Any], str]:
    return lambda path: str(folder / _match(pattern, path))


def _match(pattern: re.Pattern[str], path: Any) -> str:
    found = pattern.fullmatch(path) if isinstance(path, str) else None
    if found is None:
        raise ValueError(f"the path {path!r} has another form than {pattern.pattern}")
    return found[1]


def _replace(part: dict[str, Any], keys: tuple[str, ...], change: Callable[[Any], str]) -> dict[str, Any]:
    return {**part, **{key: change(part[key]) for key in keys if part.get(key) is not None}}


def _check_flow(flow: dict[str, Any]) -> dict[str, Any]:
    if named := [key for key in FORBIDDEN if flow.get(key)]:
        raise ValueError(f"a flow names {named[0]}, which an agent does not load")
    return flow


def _resolve_object(flow: dict[str, Any], content: Callable[[Any], str]) -> dict[str, Any]:
    made_of = OBJECT.fullmatch(str(flow.get("object") or ""))
    if made_of is None and "/" in str(flow.get("object") or ""):
        raise ValueError("an object of a flow names a path")
    return {**flow, "object": f"{made_of[1]}:{content(made_of[2])}"} if made_of else flow
