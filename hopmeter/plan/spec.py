"""Write the spec files of a trial. instrument/src/spec.rs defines their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from hopmeter.images.decoded import Decoded
from hopmeter.manifest.readiness import SPEC_FORMAT
from hopmeter.manifest.tables.allowed_words import EventLoop
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.model.condition_values import PARAMETERS
from hopmeter.model.workload import PER_FLOW, Carrier, Flow, Workload
from hopmeter.node.contract import LOOPBACK
from hopmeter.plan.carriers import rpc_of
from hopmeter.plan.causes import causes
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import ENDS, describe_message, encoded_file
from hopmeter.plan.payloads.own_types import describe_type
from hopmeter.plan.restarts import restart_after_s
from hopmeter.plan.topology import Endpoint, Topology, core_of, topology
from hopmeter.schemas import is_message

SPARE_SAMPLES = 4096
"""Extra capacity for samples, so that short trials can store more than one duplicate per message."""


@dataclass(frozen=True)
class Turns:
    """The turns of a duet. A message of a duet is due only in a turn of its own side."""

    length_s: float
    sides: int
    side: int


@dataclass(frozen=True)
class TransportContext:
    """The directories and addresses that the nodes of one transport use."""

    directory: Path
    """The directory for the transport's files."""
    adapters: dict[str, Path]
    """The directory of the Python adapter, by language."""
    broker: str = ""
    """The address of the transport's broker, or an empty string if there is none."""
    bind: str = LOOPBACK
    """The IP address on which the nodes listen."""
    advertised: str = LOOPBACK
    """The address at which nodes on other hosts reach these nodes."""


@dataclass(frozen=True)
class TrialContext:
    """The values that the specs of one trial share, such as the directory, the run id and the seed."""

    run: str
    """16 hexadecimal digits that are unique on this machine."""
    trial: int
    seed: int
    """The seed of all random values in this trial."""
    directory: Path
    samples: Path
    adapters: dict[str, Path]
    """The directory of each adapter in Python, by language."""
    broker: str = ""
    """The address of the transport's broker, or an empty string if there is none."""
    bind: str = LOOPBACK
    """The address on which the nodes listen."""
    advertised: str = LOOPBACK
    """The address at which nodes on other hosts reach these nodes."""
    pictures: Mapping[str, Decoded] = field(default_factory=dict)
    """The decoded frames of image and video files, by payload."""
    sites: dict[str, TransportContext] = field(default_factory=dict)
    """The environments of additional transports, by carrier key."""
    recordings: Mapping[str, Path] = field(default_factory=dict)
    """The file with the recorded messages of each flow that replays a recording."""
    why: bool = False
    """Whether each node reads the counters of its threads at each message."""
    turns: Turns | None = None
    """The turns of this side in a duet, or None if the trial is not part of a duet."""

    def site(self, carrier: Carrier) -> TransportContext:
        """Return the directories and addresses that the nodes of one carrier use."""
        return self.sites.get(carrier.key) or TransportContext(
            self.directory, self.adapters, self.broker, self.bind, self.advertised
        )


def node_specs(
    cell: Cell, place: TrialContext, others: Mapping[str, TrialContext] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Return the language and the spec of each node.

    `others` contains the trial contexts of all other hosts, keyed by host name.
    """
    shape, first, others = topology(cell), place, others or {}
    links = {each: _link(cell, first, shape, each) for each in shape.links}
    known = {each.number: each for each in flows(cell)}
    specs = []
    for number, hosted in enumerate(shape.nodes):
        language, carrier, place = hosted[0].language, hosted[0].carrier, others.get(hosted[0].host, first)
        adapter = place.site(carrier).adapters.get(language)
        spec = {
            **_common(cell, place, carrier),
            "wait": _wait(cell, hosted),
            "node": number,
            "adapter": str(adapter) if adapter else None,
            "flows": [_flow(cell, place, known[each], hosted) for each in dict.fromkeys(one.flow for one in hosted)],
            "endpoints": [
                _endpoint(cell, place, each, known[each.flow])
                | causes(place.samples, each, known[each.flow], hosted, known)
                for each in hosted
            ],
            **_participant(cell, hosted[0].participant),
            "links": links,
        }
        specs.append((language, spec))
    return specs


def _link(cell: Cell, place: TrialContext, shape: Topology, link: str) -> dict[str, Any]:
    return {
        "name": f"{place.run}_{link.replace('.', '_')}",
        "receivers": shape.links[link],
        "wait": _polled_wait([_own_wait(cell, one) for one in shape.receivers(link)]),
    }


def _common(cell: Cell, place: TrialContext, carrier: Carrier) -> dict[str, Any]:
    site = place.site(carrier)
    return {
        "format": SPEC_FORMAT,
        "run": place.run,
        "cell": cell.id,
        "trial": place.trial,
        "transport": carrier.transport,
        "settings": carrier.settings,
        "directory": str(site.directory),
        "daemon": site.broker,  # the spec format calls the broker address `daemon`
        "bind": site.bind,
        "advertised": site.advertised,
        "limit_ns": _ns(cell.schedule.limit_s * (place.turns.sides if place.turns else 1)),
        "drain_ns": _ns(cell.schedule.drain_s),
        "retry_ns": _ns(cell.schedule.retry_s),
        "call_ns": _ns(cell.call_s),
        "fifo": cell.nodes.fifo,
        "mlock": cell.nodes.mlock,
        "heap": cell.axes.heap,
        "no_idle_states": cell.nodes.no_idle_states,
        # nodes of older versions know neither `begin` nor `restart`
        **({"begin": cell.axes.begin} if cell.axes.begins_at_once else {}),
        **({"restart": {"after_ns": _ns(restart_after_s(cell))}} if cell.axes.has_restart else {}),
    }


def _flow(cell: Cell, place: TrialContext, flow: Flow, hosted: Sequence[Endpoint]) -> dict[str, Any]:
    return {
        "number": flow.number,
        "pattern": flow.pattern,
        "payload": _payload(flow, place),
        "payload_bytes": flow.payload_bytes,
        **_payload_source(flow, place),
        **_object(flow, place, hosted),
        **describe_type(cell, flow, hosted[0].language),
        "touch": flow.touch,
        "pace": _pace(cell, place, flow),
        "messages": flow.messages,
        "warmup": flow.warmup,
        **_window(flow),
        "checksum": cell.nodes.checksum,
        "rpc": rpc_of(cell, flow),
        "reply": cell.nodes.reply,
        "dispatch": flow.dispatch,
        **({"bridge": True} if flow.bridged else {}),
    }


def _window(flow: Flow) -> dict[str, Any]:
    """Return the time window in which a flow sends if its messages return to the source, or an empty dict for any flow
    with a schedule or a cause."""
    if flow.window_s is None:
        return {}
    warmup_s, length_s = flow.window_s
    return {"window": {"warmup_ns": _ns(warmup_s), "length_ns": _ns(length_s)}}


def _participant(cell: Cell, number: int) -> dict[str, Any]:
    """Return the spec entries for a participant of a workload, or an empty dict for an ordinary cell."""
    if cell.workload is None:
        return {}
    one = cell.workload.participants[number]
    return {"fifo": one.fifo, "threads": 0 if one.threads == PER_FLOW else int(one.threads)}


def _payload(flow: Flow, place: TrialContext) -> dict[str, Any]:
    if flow.has_object or flow.bridged or flow.replay:
        return {"kind": "bytes"}
    picture = place.pictures.get(flow.payload)
    return picture.payload if picture else units.payload(flow.payload)


def _object(flow: Flow, place: TrialContext, hosted: Sequence[Endpoint]) -> dict[str, Any]:
    """Describe the object of a flow for the spec of a node that encodes or decodes the object.

    Return an empty dict if the node only passes on bytes.
    """
    language = hosted[0].language
    if is_message(flow.payload) and flow.has_codec:
        carries = any(one.flow == flow.number and one.role in ENDS for one in hosted)
        return describe_message(flow, language) if carries else {}
    if not flow.has_codec or language != "python":
        return {}
    made_of = flow.payload
    if picture := place.pictures.get(flow.payload):
        made_of = f"{units.object_of(flow.payload)}:{picture.frames}:{picture.file}"
    told = {"codec": flow.codec, "device": flow.device, "object": made_of}
    return told if flow.share == "none" else {**told, "share": flow.share}


def _payload_source(flow: Flow, place: TrialContext) -> dict[str, Any]:
    """Return the spec entry for the file from which a node reads payloads. Return an empty dict if the payloads are a
    fixed pattern, or if they come from another flow."""
    if flow.bridged:
        return {}
    if flow.replay:
        return {"recording": str(place.recordings[flow.name])}
    if is_message(flow.payload):
        return {} if flow.has_codec else {"payload_file": str(encoded_file(flow))}
    if (picture := place.pictures.get(flow.payload)) and not flow.has_codec:
        return {"payload_file": str(picture.file), "payload_frames": picture.frames}
    file = units.payload_file(flow.payload)
    return {"payload_file": str(file)} if file else {}


def _pace(cell: Cell, place: TrialContext, flow: Flow) -> dict[str, Any]:
    return {
        "kind": flow.pace,
        "rate_hz": flow.rate_hz or 0.0,
        **{each.name: value for each in PARAMETERS if (value := getattr(flow, each.name)) is not None},
        "spin_ns": None if cell.nodes.spin_us is None else round(cell.nodes.spin_us * 1000),
        "seed": place.seed,
        **({"first_ns": _ns(flow.first_due_s)} if flow.first_due_s else {}),
        **_turns(place.turns),
    }


def _turns(turns: Turns | None) -> dict[str, Any]:
    """Return the spec entry for the turns of a duet. Return an empty dict if the cell is not a duet, so that nodes of
    older versions accept the spec."""
    if turns is None:
        return {}
    return {"turn": {"length_ns": _ns(turns.length_s), "sides": turns.sides, "side": turns.side}}


def _endpoint(cell: Cell, place: TrialContext, one: Endpoint, flow: Flow) -> dict[str, Any]:
    return {
        "id": one.id,
        "role": one.role,
        "flow": one.flow,
        "core": core_of(cell, one),
        "in": list(one.inputs),
        "out": list(one.outputs),
        "work": _work(one, flow),
        **_told_wait(cell, one),
        "samples": str(place.samples / f"{one.id}.raw"),
        "capacity": capacity(flow),
        **({"readings": str(place.samples / f"{one.id}.readings")} if place.why else {}),
    }


def _wait(cell: Cell, hosted: Sequence[Endpoint]) -> str:
    """Return how the receivers of a node wait for messages.

    If the receivers of the node wait in different ways, return how those that are polled wait.
    """
    if cell.workload is not None:
        return _participant_wait(cell.workload, hosted[0])
    return _polled_wait([_own_wait(cell, one) for one in hosted if one.role == "sink"] or cell.axes.waits)


def _participant_wait(workload: Workload, one: Endpoint) -> str:
    """Return how a participant waits. An event loop that the participant's adapter lacks is possible only if the
    participant receives nothing."""
    wait = workload.participants[one.participant].wait
    return "callback" if wait in get_args(EventLoop) else wait


def _polled_wait(waits: Sequence[str]) -> str:
    return next((wait for wait in waits if wait != "callback"), "callback")


def _told_wait(cell: Cell, one: Endpoint) -> dict[str, str]:
    """Return how an endpoint waits if the endpoints of its node wait in different ways, otherwise an empty dict."""
    if cell.workload is not None or one.role != "sink":
        return {}
    differ = len(cell.axes.waits) > 1 and cell.axes.placement == "thread"
    return {"wait": _own_wait(cell, one)} if differ else {}


def _own_wait(cell: Cell, one: Endpoint) -> str:
    """Return how an endpoint waits. Within one cell, only sinks may wait in different ways."""
    if cell.workload is not None:
        return _participant_wait(cell.workload, one)
    return cell.axes.waits[(one.place - 1) % len(cell.axes.waits)]


def _work(one: Endpoint, flow: Flow) -> dict[str, Any]:
    """Return the work that an endpoint does for each message that it receives. For a call, the server does the work.

    If `work` is a list, each endpoint does the work that the list contains at the position of the endpoint.
    """
    before = "none" if flow.is_call else flow.work
    workers = {"sink": flow.receiver_work, "relay": flow.work, "server": flow.work, "follower": before}
    listed = units.works(workers.get(one.role, "none"))
    return listed[(one.place - 1) % len(listed)]


def capacity(flow: Flow) -> int:
    """Return the number of samples for which an endpoint allocates memory: twice the number of messages or replies, to
    leave room for duplicates."""
    each = len(flow.targets) if flow.pattern == "scatter" else 1
    return 2 * each * flow.messages + SPARE_SAMPLES


def _ns(value_s: float) -> int:
    return round(value_s * 1e9)
