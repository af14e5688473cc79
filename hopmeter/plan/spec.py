"""The spec files of a trial; instrument/src/spec.rs defines them, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.images.decoded import Decoded
from hopmeter.manifest.readiness import SPEC_FORMAT
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.plan.topology import Endpoint, topology

SPARE_SAMPLES = 4096
"""Additional room for samples, so that short trials can store more than one duplicate per message."""


@dataclass(frozen=True)
class Place:
    """The environment of one trial of a cell: its folder, run id and seed."""

    run: str
    """16 hexadecimal digits that are unique on this machine."""
    trial: int
    seed: int
    """The seed of all random values in this trial."""
    directory: Path
    samples: Path
    adapters: dict[str, Path]
    """The folder of the Python adapter, by language."""
    daemon: str = ""
    """The address of the transport's daemon, if it has one."""
    picture: Decoded | None = None
    """The frames that are the payloads, if the payloads come from an image or a video file."""
    why: bool = False
    """Whether the nodes read the counters of their threads at each message."""


def node_specs(cell: Cell, place: Place) -> list[tuple[str, dict[str, Any]]]:
    """Return the language and the spec of each node."""
    shape = topology(cell)
    links = {
        each: {"name": f"{place.run}_{each.replace('.', '_')}", "receivers": many} for each, many in shape.links.items()
    }
    specs = []
    for number, hosted in enumerate(shape.nodes(cell.axes.placement)):
        language = hosted[0].language
        adapter = place.adapters.get(language)
        spec = {
            **_common(cell, place),
            "wait": _wait(cell, hosted),
            **(_object(cell, place) if language == "python" else {}),
            "node": number,
            "adapter": str(adapter) if adapter else None,
            "endpoints": [_endpoint(cell, place, each) for each in hosted],
            "links": links,
        }
        specs.append((language, spec))
    return specs


def _common(cell: Cell, place: Place) -> dict[str, Any]:
    return {
        "format": SPEC_FORMAT,
        "run": place.run,
        "cell": cell.id,
        "trial": place.trial,
        "transport": cell.axes.transport,
        "settings": cell.carriage.settings,
        "directory": str(place.directory),
        "daemon": place.daemon,
        "pattern": cell.axes.pattern,
        "payload": _payload(cell, place),
        "payload_bytes": cell.carriage.payload_bytes,
        **_where_asked(cell, place),
        "touch": cell.axes.touch,
        "pace": _pace(cell, place),
        "messages": cell.schedule.messages,
        "warmup": cell.schedule.warmup,
        "limit_ns": _ns(cell.schedule.limit_s),
        "drain_ns": _ns(cell.schedule.drain_s),
        "retry_ns": _ns(cell.schedule.retry_s),
        "call_ns": _ns(cell.axes.call_s),
        "checksum": cell.nodes.checksum,
        "rpc": cell.carriage.rpc,
        "reply": cell.nodes.reply,
        "fifo": cell.nodes.fifo,
        "mlock": cell.nodes.mlock,
        "heap": cell.axes.heap,
        "no_idle_states": cell.nodes.no_idle_states,
    }


def _payload(cell: Cell, place: Place) -> dict[str, Any]:
    if cell.axes.codec != "none":
        return {"kind": "bytes"}
    return place.picture.payload if place.picture else units.payload(cell.axes.payload)


def _object(cell: Cell, place: Place) -> dict[str, Any]:
    """Describe the object that source and last receiver encode and decode; relays carry its bytes in any language."""
    if cell.axes.codec == "none":
        return {}
    made_of = cell.axes.payload
    if picture := place.picture:
        made_of = f"{units.object_of(cell.axes.payload)}:{picture.frames}:{picture.file}"
    told = {"codec": cell.axes.codec, "device": cell.axes.device, "object": made_of}
    return told if cell.axes.share == "none" else {**told, "share": cell.axes.share}


def _where_asked(cell: Cell, place: Place) -> dict[str, Any]:
    """Return only those settings that differ from the defaults, so that nodes of an earlier version still work."""
    told: dict[str, Any] = {}
    if file := units.payload_file(cell.axes.payload):
        told["payload_file"] = str(file)
    if (picture := place.picture) and cell.axes.codec == "none":
        told |= {"payload_file": str(picture.file)} | ({"payload_frames": picture.frames} if picture.frames > 1 else {})
    if cell.axes.dispatch != "parallel":
        told["dispatch"] = cell.axes.dispatch
    return told


def _pace(cell: Cell, place: Place) -> dict[str, Any]:
    return {
        "kind": cell.axes.pace,
        "rate_hz": cell.axes.rate_hz or 0.0,
        "burst": cell.axes.burst,
        "spin_ns": None if cell.nodes.spin_us is None else round(cell.nodes.spin_us * 1000),
        "seed": place.seed,
    }


def _endpoint(cell: Cell, place: Place, one: Endpoint) -> dict[str, Any]:
    core = cell.nodes.core_list[one.id % len(cell.nodes.core_list)] if cell.nodes.core_list else None
    return {
        "id": one.id,
        "role": one.role,
        "pair": one.pair,
        "core": core,
        "in": list(one.inputs),
        "out": list(one.outputs),
        "work": _work(cell, one),
        **_told_wait(cell, one),
        "samples": str(place.samples / f"{one.id}.raw"),
        "capacity": capacity(cell),
        **({"readings": str(place.samples / f"{one.id}.readings")} if place.why else {}),
    }


def _wait(cell: Cell, hosted: Sequence[Endpoint]) -> str:
    """Return how a node's receivers wait; if some are called and some polled, how the polled ones wait."""
    waits = [_own_wait(cell, one) for one in hosted if one.role == "sink"] or cell.axes.waits
    return next((wait for wait in waits if wait != "callback"), "callback")


def _told_wait(cell: Cell, one: Endpoint) -> dict[str, str]:
    """Return the wait of an endpoint if it shares a node with endpoints that wait differently."""
    differ = one.role == "sink" and len(cell.axes.waits) > 1 and cell.axes.placement == "thread"
    return {"wait": _own_wait(cell, one)} if differ else {}


def _own_wait(cell: Cell, sink: Endpoint) -> str:
    return cell.axes.waits[(sink.place - 1) % len(cell.axes.waits)]


def _work(cell: Cell, one: Endpoint) -> dict[str, Any]:
    """Return the work of an endpoint. Relays and servers work; without them, sinks do. If the work differs, endpoint
    number i gets item i."""
    workers = ("sink",) if cell.axes.sinks_work else ("relay", "server")
    listed = units.works(cell.axes.work if one.role in workers else "none")
    return listed[(one.place - 1) % len(listed)]


def capacity(cell: Cell) -> int:
    """Return the number of samples for which an endpoint allocates memory: each message and one duplicate of it, and
    each reply of a scatter."""
    each = cell.axes.sinks if cell.axes.pattern == "scatter" else 1
    return 2 * each * cell.schedule.messages + SPARE_SAMPLES


def _ns(value_s: float) -> int:
    return round(value_s * 1e9)
