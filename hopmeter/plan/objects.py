"""Cells with a codec: what their objects weigh, asked of the very Python that will carry them, or why not."""

from __future__ import annotations

import functools
import json
import subprocess
from dataclasses import replace

from hopmeter.manifest.readiness import environment
from hopmeter.plan.cell import Cell

PATIENCE_S = 120
"""Some frameworks take a minute to import on a machine that is busy."""
OBJECTS = ("array", "image")


def why_no_object(cell: Cell, parts: tuple[str, str]) -> str:
    """Why a cell's codec, device and payload do not go together; `parts` are the languages of its ends."""
    kind = cell.payload.partition(":")[0]
    if cell.codec == "none":
        if kind == "array":
            return f"{cell.payload} is an object: name the codec that carries it, such as --codec numpy"
        return "bytes are on the CPU: device gpu is for the objects of a codec" if cell.device != "cpu" else ""
    other = next((language for language in parts if language != "python"), "")
    if other:
        return f"codec {cell.codec} carries objects of Python's, and an end is {other}"
    if kind not in OBJECTS:
        return f"codec {cell.codec} carries objects, array:200x200 or image:1440x1080, and not {cell.payload}"
    return ""


def weighed(cell: Cell, command: tuple[str, ...]) -> Cell:
    """The cell with the payload that its object takes when it is encoded, or dropped with the reason why there is none.

    `command` starts the transport's Python node.
    """
    payload_bytes, missing = _weigh(command, cell.codec, cell.payload, cell.device)
    return replace(cell, dropped=missing) if missing else replace(cell, payload_bytes=payload_bytes)


@functools.cache
def _weigh(command: tuple[str, ...], codec: str, made_of: str, device: str) -> tuple[int, str]:
    """The payload's bytes, or why there is no such object. In a process of its own: a framework that crashes, or starts
    threads, does so there."""
    asked = [*command, "--weigh", codec, made_of, device]
    try:
        done = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), timeout=PATIENCE_S, check=False
        )
        said = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return 0, f"codec {codec}: it was not imported within {PATIENCE_S} s"
    except (OSError, ValueError, IndexError):
        return 0, f"codec {codec}: its framework ends the process that imports it"
    missing = said.get("missing", "")
    return said.get("payload_bytes", 0), f"codec {codec}: {missing}" if missing else ""
