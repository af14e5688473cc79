"""Set the payload size of flows that carry objects. A cell is dropped with a reason if its objects cannot be
created."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain

from hopmeter import images
from hopmeter.manifest import Manifest
from hopmeter.manifest.readiness import Readiness
from hopmeter.messages import split_code, tag
from hopmeter.model.cell import Cell
from hopmeter.model.units import object_of
from hopmeter.model.workload import Flow
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import carrier_of, codecs
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_conflicts import why_not_together
from hopmeter.plan.payloads.message_objects import message_bytes, message_languages, why_no_message, why_not_built
from hopmeter.plan.payloads.object_sizes import Asked, Weights, weights
from hopmeter.plan.payloads.own_types import why_no_type
from hopmeter.plan.workloads.bridges import split_participants
from hopmeter.plan.workloads.workload_cells import drop_flow
from hopmeter.schemas import is_message

OBJECTS = ("array", "image")
Key = tuple[str, str, str, str]
"""The key of an object size: the installed transport, the codec, the device and the way of sharing."""


def why_no_object(cell: Cell, ends: tuple[str, str]) -> str:
    """Return why a cell's codec, device and payload cannot be combined, or an empty string if they can.

    `ends` contains the languages of the nodes that encode or decode the object.
    """
    kind = cell.axes.payload.partition(":")[0]
    if is_message(cell.axes.payload):
        return why_no_message(cell, ends)
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
    from hopmeter.node.payloads.forms import devices  # this module imports NumPy, which few plans need

    known = devices(cell.axes.codec)
    if cell.axes.device not in known:
        return tag("D-DEVICE", f"codec {cell.axes.codec} supports objects only on the {known[0].upper()}")
    return _no_handle(cell) if cell.axes.share != "none" else ""


def _no_handle(cell: Cell) -> str:
    """Return why an object's memory cannot be shared by a handle, or an empty string if the memory can be shared."""
    from hopmeter.node.payloads.forms import lenders

    if cell.axes.device != "gpu":
        said = f"share {cell.axes.share} shares GPU memory, but this object is on the CPU; use --device gpu"
        return tag("D-SHARE", said)
    if cell.carriage.own_encoders:
        return tag("D-SHARE", f"share {cell.axes.share}: {cell.axes.transport} encodes objects itself")
    known = lenders()
    said = f"codec {cell.axes.codec} cannot share GPU memory; {', '.join(known)} can"
    return "" if cell.axes.codec in known else tag("D-SHARE", said)


def set_payload_sizes(cells: Sequence[Cell], capabilities: Capabilities) -> list[Cell]:
    """Return the cells with the sizes of their objects. A cell is dropped with a reason if its objects cannot be
    created."""
    carried = [cell for cell in cells if cell.has_object and not cell.dropped]
    encoded = [(cell, flow) for cell in carried for flow in _object_flows(cell) if flow.has_codec]
    needed = [(cell, flow) for cell, flow in encoded if "python" in _languages(cell, flow)]
    used = {(one.key, flow.codec): one for cell, flow in needed for one in [_manifest(cell, flow, capabilities)]}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: capabilities.carrier(used[pair], pair[1]), used)
        carriers = dict(zip(used, found, strict=True))
    sizes = _Sizes(carriers, _measure_sizes(carried, carriers, capabilities), capabilities)
    return [sizes.set(cell) if cell.has_object and not cell.dropped else cell for cell in cells]


def with_sizes(cell: Cell, size: Callable[[Flow], int]) -> Cell:
    """Return a copy of the cell in which each flow that carries objects has the payload size `size(flow)`."""
    if cell.workload is None:
        return cell.with_values(payload_bytes=size(flows(cell)[0]))
    sized = tuple(replace(flow, payload_bytes=size(flow)) if flow.has_object else flow for flow in cell.workload.flows)
    largest = max(flow.payload_bytes for flow in sized)
    return split_participants(cell.with_values(workload=replace(cell.workload, flows=sized), payload_bytes=largest))


def _object_flows(cell: Cell) -> list[Flow]:
    """Return the flows of a cell that carry objects. All pairs of an ordinary cell carry the same object."""
    found = flows(cell) if cell.workload is not None else flows(cell)[:1]
    return [flow for flow in found if flow.has_object]


def _manifest(cell: Cell, flow: Flow, capabilities: Capabilities) -> Manifest:
    """Return the manifest of a flow's transport, with the installation that the flow's settings select."""
    carrier = carrier_of(cell, flow)
    return capabilities.manifests[carrier.transport].for_settings(carrier.settings)


def _languages(cell: Cell, flow: Flow) -> Sequence[str]:
    """Return the languages that encode or decode a flow's objects, starting with the encoding language."""
    return message_languages(cell, flow) if is_message(flow.payload) else ["python"]


def _key(manifest: Manifest, flow: Flow) -> Key:
    return manifest.key, flow.codec, flow.device, flow.share


def _measure_sizes(
    cells: Sequence[Cell], carriers: Mapping[tuple[str, str], Readiness], capabilities: Capabilities
) -> dict[Key, Weights]:
    asked: dict[Key, Asked] = {}
    for cell in cells:
        for flow in (each for each in _object_flows(cell) if not is_message(each.payload)):
            manifest = _manifest(cell, flow, capabilities)
            key, carrier = _key(manifest, flow), carriers[manifest.key, flow.codec]
            if carrier.ready:
                one = asked.get(key) or asked.setdefault(key, _question(manifest, flow, carrier))
                one.payloads[object_of(flow.payload)] = None
    answers = weights(list(asked.values()))
    return {key: answers[one.identity] for key, one in asked.items()}


def _question(manifest: Manifest, flow: Flow, carrier: Readiness) -> Asked:
    from hopmeter.manifest import codec_interpreter  # this module imports NumPy, which only codecs need

    python = codec_interpreter.interpreter(flow.codec, manifest.offers["python"])
    is_it = python is not None and tuple(python.command) == carrier.command
    return Asked(carrier.command, python if is_it else None, flow.codec, flow.device, flow.share)


@dataclass(frozen=True)
class _Sizes:
    """The sizes of the objects of all cells."""

    carriers: Mapping[tuple[str, str], Readiness]
    """The Python nodes that carry the objects, by installed transport and codec."""
    known: Mapping[Key, Weights]
    capabilities: Capabilities

    def set(self, cell: Cell) -> Cell:
        """Return the cell with the sizes of its objects. If an object cannot be created, the cell is dropped with a
        reason."""
        ours = _object_flows(cell)
        reasons = chain(
            ((flow, self._reason(cell, flow)) for flow in ours),
            ((flow, _why_apart(cell, flow, self.capabilities)) for flow in ours),
            ((flow, why_not_together(cell, flow)) for flow in ours if is_message(flow.payload)),
        )
        for flow, reason in reasons:
            if reason:
                return drop_flow(cell, flow.name, reason) if cell.workload else replace(cell, dropped=reason)
        return with_sizes(cell, lambda flow: self._size(cell, flow)[0])

    def _reason(self, cell: Cell, flow: Flow) -> str:
        """Return why the object of a flow cannot be created, or an empty string if it can be created."""
        carrier = self.carriers.get((_manifest(cell, flow, self.capabilities).key, flow.codec))
        if carrier and not carrier.ready and "python" in _languages(cell, flow):
            get = f"run `{carrier.get}`" if carrier.get.startswith("hopmeter ") else carrier.get
            return tag("D-CODEC-MISSING", f"codec {flow.codec}: {carrier.missing}; {get}")
        if is_message(flow.payload):
            return why_not_built(flow, _languages(cell, flow)) or why_no_type(cell, flow, self.capabilities.manifests)
        missing = self._size(cell, flow)[1]
        return tag("D-NO-OBJECT", f"codec {flow.codec}: {split_code(missing)[0]}") if missing else ""

    def _size(self, cell: Cell, flow: Flow) -> tuple[int, str]:
        if is_message(flow.payload):
            return message_bytes(flow, _languages(cell, flow)[0]), ""
        return self.known[_key(_manifest(cell, flow, self.capabilities), flow)][object_of(flow.payload)]


def _why_apart(cell: Cell, flow: Flow, capabilities: Capabilities) -> str:
    """Return why one Python environment cannot contain all codecs of a participant, or an empty string if it can."""
    from hopmeter.manifest import codec_interpreter

    if cell.workload is None:
        return ""
    carrier = carrier_of(cell, flow)
    ends = [cell.workload.participant(name) for name in (flow.source, *flow.targets)]
    for name in (each.name for each in ends if each.language == "python"):
        offer = _manifest(cell, flow, capabilities).offers["python"]
        together = codecs(cell, name, carrier)
        if len(together) > 1 and codec_interpreter.common_codec(together, offer) is None:
            said = f"no Python here has the packages of {' and '.join(together)} together"
            return tag("D-CODECS-APART", f"participant {name}: {said}; give these flows different participants")
    return ""
