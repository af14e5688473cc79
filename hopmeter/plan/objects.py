"""Cells with a codec: what their objects weigh, asked of the very Python that will carry them, or why there is none."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from hopmeter.manifest.readiness import Readiness, environment
from hopmeter.plan.cell import Cell
from hopmeter.plan.expand import World

PATIENCE_S = 120
"""Some frameworks take a minute to import on a machine that is busy."""
OBJECTS = ("array", "image")

Asked = tuple[tuple[str, ...], str, str]
"""How the node is started that is asked, the codec and the device."""
Weights = dict[str, tuple[int, str]]
"""By payload: its bytes, or why there is no such object."""


def why_no_object(cell: Cell, ends: tuple[str, str]) -> str:
    """Why a cell's codec, device and payload do not go together; `ends` are their languages."""
    kind = cell.payload.partition(":")[0]
    if cell.codec == "none":
        if kind == "array":
            return f"{cell.payload} is an object: name the codec that carries it, such as --codec numpy"
        return "bytes are on the CPU: device gpu is for the objects of a codec" if cell.device != "cpu" else ""
    other = next((language for language in ends if language != "python"), "")
    if other:
        return f"codec {cell.codec} carries objects of Python's, and an end is {other}"
    if kind not in OBJECTS:
        return f"codec {cell.codec} carries objects, array:200x200 or image:1440x1080, and not {cell.payload}"
    return _no_place(cell)


def _no_place(cell: Cell) -> str:
    from hopmeter.node.forms import devices  # only here: few plans need NumPy

    known = devices(cell.codec)
    return "" if cell.device in known else f"codec {cell.codec} keeps its objects on the {known[0].upper()}"


def weighed(cells: Sequence[Cell], world: World) -> list[Cell]:
    """The cells, those with a codec with the payload that their object takes, or dropped with why there is none."""
    wanted = {(cell.transport, cell.codec) for cell in cells if _carries(cell)}
    carriers = {pair: world.carrier(world.manifests[pair[0]], pair[1]) for pair in sorted(wanted)}
    asked: dict[Asked, list[str]] = {}
    for cell in filter(_carries, cells):
        carrier = carriers[cell.transport, cell.codec]
        if carrier.ready:
            payloads = asked.setdefault((carrier.command, cell.codec, cell.device), [])
            payloads += [] if cell.payload in payloads else [cell.payload]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        weights = dict(zip(asked, pool.map(_weigh, asked, asked.values()), strict=True))
    return [_settled(cell, carriers[cell.transport, cell.codec], weights) if _carries(cell) else cell for cell in cells]


def _carries(cell: Cell) -> bool:
    return cell.codec != "none" and not cell.dropped


def _settled(cell: Cell, carrier: Readiness, weights: dict[Asked, Weights]) -> Cell:
    if not carrier.ready:
        get = f"run `{carrier.get}`" if carrier.get.startswith("hopmeter ") else carrier.get
        return replace(cell, dropped=f"codec {cell.codec}: {carrier.missing}; {get}")
    payload_bytes, missing = weights[carrier.command, cell.codec, cell.device][cell.payload]
    return (
        replace(cell, dropped=f"codec {cell.codec}: {missing}")
        if missing
        else replace(cell, payload_bytes=payload_bytes)
    )


def _weigh(asked: Asked, payloads: Sequence[str]) -> Weights:
    """In a process of its own: a framework that crashes, or starts threads, does so there."""
    command, codec, device = asked
    words = [*command, "--weigh", codec, device, *payloads]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), timeout=PATIENCE_S, check=False
        )
        said = json.loads(done.stdout.splitlines()[-1])
        return {payload: (said[payload].get("bytes", 0), said[payload].get("missing", "")) for payload in payloads}
    except subprocess.TimeoutExpired:
        why = f"its framework was not imported within {PATIENCE_S} s"
    except (OSError, ValueError, LookupError):
        why = "its framework ends the process that imports it"
    return dict.fromkeys(payloads, (0, why))
