"""Set the payload size of cells with a codec, or drop them with the reason why there is no object."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from hopmeter import images
from hopmeter.manifest.readiness import Readiness
from hopmeter.messages import split_code, tag
from hopmeter.model.cell import Cell
from hopmeter.model.units import object_of
from hopmeter.plan.expand import World
from hopmeter.plan.object_sizes import Asked, Weights, weights

OBJECTS = ("array", "image")
Key = tuple[str, str, str, str]
"""Transport, codec, device and share."""


def why_no_object(cell: Cell, ends: tuple[str, str]) -> str:
    """Return the reason why the codec, device and payload of a cell cannot be combined; `ends` are the languages that
    encode or decode."""
    kind = cell.axes.payload.partition(":")[0]
    if cell.axes.codec == "none":
        if kind == "array":
            said = f"{cell.axes.payload} is an object; choose a codec that carries it, such as --codec numpy"
            return tag("D-PAYLOAD", said)
        on_gpu = tag("D-DEVICE", "device gpu needs a codec, because bytes without a codec are on the CPU")
        return on_gpu if cell.axes.place != ("cpu",) else ""
    other = next((language for language in ends if language != "python"), "")
    if other:
        return tag("D-CODEC-LANGUAGE", f"codec {cell.axes.codec} carries Python objects, but an endpoint is {other}")
    if kind not in OBJECTS and not images.parse_source(cell.axes.payload):
        forms = "array:200x200, image:1440x1080, image:PATH or video:PATH"
        return tag("D-PAYLOAD", f"codec {cell.axes.codec} carries objects ({forms}), not {cell.axes.payload}")
    return _no_place(cell)


def _no_place(cell: Cell) -> str:
    from hopmeter.node.forms import devices  # this imports NumPy, which few plans need

    known = devices(cell.axes.codec)
    if cell.axes.device not in known:
        return tag("D-DEVICE", f"codec {cell.axes.codec} supports objects only on the {known[0].upper()}")
    return _no_handle(cell) if cell.axes.share != "none" else ""


def _no_handle(cell: Cell) -> str:
    """Return the reason why the memory of an object cannot be shared by a handle."""
    from hopmeter.node.forms import lenders

    if cell.axes.device != "gpu":
        said = f"share {cell.axes.share} shares GPU memory, but this object is on the CPU; use --device gpu"
        return tag("D-SHARE", said)
    if cell.carriage.own_encoders:
        return tag("D-SHARE", f"share {cell.axes.share}: {cell.axes.transport} encodes objects itself")
    known = lenders()
    said = f"codec {cell.axes.codec} cannot share GPU memory; {', '.join(known)} can"
    return "" if cell.axes.codec in known else tag("D-SHARE", said)


def set_payload_sizes(cells: Sequence[Cell], world: World) -> list[Cell]:
    """Return the cells; those with a codec have the size of their object, or are dropped with the reason."""
    pairs = sorted({(cell.axes.transport, cell.axes.codec) for cell in cells if _carries(cell)})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: world.carrier(world.manifests[pair[0]], pair[1]), pairs)
        carriers = dict(zip(pairs, found, strict=True))
    asked: dict[Key, Asked] = {}
    for cell in filter(_carries, cells):
        carrier = carriers[cell.axes.transport, cell.axes.codec]
        if carrier.ready:
            one = asked.get(_key(cell)) or asked.setdefault(_key(cell), _question(cell, carrier, world))
            one.payloads[object_of(cell.axes.payload)] = None
    answers = weights(list(asked.values()))
    told = {key: answers[one.identity] for key, one in asked.items()}
    return [_set_payload_size(cell, carriers, told) if _carries(cell) else cell for cell in cells]


def _question(cell: Cell, carrier: Readiness, world: World) -> Asked:
    from hopmeter.manifest import codec_interpreter  # imports NumPy, which only codecs need

    python = codec_interpreter.interpreter(cell.axes.codec, world.manifests[cell.axes.transport].offers["python"])
    is_it = python is not None and tuple(python.command) == carrier.command
    return Asked(carrier.command, python if is_it else None, cell.axes.codec, cell.axes.device, cell.axes.share)


def _carries(cell: Cell) -> bool:
    return cell.axes.codec != "none" and not cell.dropped


def _key(cell: Cell) -> Key:
    return cell.axes.transport, cell.axes.codec, cell.axes.device, cell.axes.share


def _set_payload_size(cell: Cell, carriers: Mapping[tuple[str, str], Readiness], told: Mapping[Key, Weights]) -> Cell:
    carrier = carriers[cell.axes.transport, cell.axes.codec]
    if not carrier.ready:
        get = f"run `{carrier.get}`" if carrier.get.startswith("hopmeter ") else carrier.get
        return replace(cell, dropped=tag("D-CODEC-MISSING", f"codec {cell.axes.codec}: {carrier.missing}; {get}"))
    payload_bytes, missing = told[_key(cell)][object_of(cell.axes.payload)]
    return (
        replace(cell, dropped=tag("D-NO-OBJECT", f"codec {cell.axes.codec}: {split_code(missing)[0]}"))
        if missing
        else cell.with_values(payload_bytes=payload_bytes)
    )
