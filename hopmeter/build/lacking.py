"""What the cells of a plan lack that hopmeter can build: adapters, the code of messages, and frameworks of codecs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hopmeter.build.messages import MessageTarget, TypeTarget
from hopmeter.build.targets import Target
from hopmeter.manifest import Manifest, Offer
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier
from hopmeter.plan import Plan
from hopmeter.plan.build_remedy import COMMAND, is_buildable
from hopmeter.plan.carriers import carrier_of
from hopmeter.plan.expand import World
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import OBJECT_CODEC, OBJECT_LANGUAGE, message_languages
from hopmeter.plan.payloads.own_types import OwnType, missing_types
from hopmeter.plan.topology import Endpoint, topology
from hopmeter.schemas import is_message, library_of, missing_tools


@dataclass(frozen=True)
class FrameworkTarget:
    """The framework of a codec, for the Python nodes of a transport."""

    codec: str
    manifest: Manifest | None
    """None if the framework belongs into hopmeter's own Python, for all transports."""

    @property
    def title(self) -> str:
        """The name of the target in messages."""
        return f"{self.codec} for {self.manifest.reference}" if self.manifest else self.codec


Part = Target | MessageTarget | TypeTarget | FrameworkTarget


def find_lacking(made: Plan, world: World) -> dict[str, list[Part]]:
    """Return what dropped cells lack on each host, each part once; the name of this machine is empty."""
    found: dict[str, dict[str, Part]] = {}
    for cell in made.cells:
        for host, part in lacking_of(cell, world):
            found.setdefault(host, {})[part.title] = part
    return {host: list(parts.values()) for host, parts in found.items()}


def lacking_of(cell: Cell, world: World) -> Iterator[tuple[str, Part]]:
    """Yield each host and what a dropped cell lacks there, if hopmeter can build it."""
    if not cell.dropped or is_buildable(cell.dropped):
        yield from (("", TypeTarget(each.wanted, each.manifest, offer)) for each, offer in _types(cell, world))
    if not is_buildable(cell.dropped):
        return
    shape = topology(cell)
    for node in shape.nodes:
        yield from ((_host(node[0], world), part) for part in _adapter(node[0], world))
    for end in shape.endpoints:
        yield from ((_host(end, world), part) for part in _object_parts(cell, end, world))


def _types(cell: Cell, world: World) -> Iterator[tuple[OwnType, Offer]]:
    """Yield the types whose code is missing, in languages whose adapters are ready."""
    for found, offer in missing_types(cell, world.manifests):
        state = world.node(found.carrier.transport, offer.language, found.carrier.settings)
        if state is not None and state.ready:
            yield found, offer


def _host(end: Endpoint, world: World) -> str:
    return end.host if end.host in world.hosts and not world.hosts[end.host].is_here else ""


def _adapter(end: Endpoint, world: World) -> Iterator[Part]:
    """Yield the adapter of a node, if it is not ready and its library is there or can be installed."""
    host, manifest = _host(end, world), _manifest(end.carrier, world)
    here = world.node(manifest.name, end.language, end.carrier.settings)
    state = world.hosts[host].ready.get((manifest.name, end.language)) if host else here
    offer = manifest.offers.get(end.language)
    if offer is None or not (host or offer.is_installed):
        return
    if state is None or not (state.ready or (state.get and not state.get.startswith(COMMAND))):
        yield Target(manifest, offer)


def _object_parts(cell: Cell, end: Endpoint, world: World) -> Iterator[Part]:
    """Yield what an end of a flow lacks to encode or decode its objects."""
    flow = next(each for each in flows(cell) if each.number == end.flow)
    if is_message(flow.payload) and not flow.has_codec:
        yield from _message(MessageTarget(flow.payload, OBJECT_CODEC, OBJECT_LANGUAGE), "", world)
    elif is_message(flow.payload):
        if end.language in message_languages(cell, flow):
            yield from _message(MessageTarget(flow.payload, flow.codec, end.language), _host(end, world), world)
            if end.language == "python" and not _host(end, world):
                yield from _framework(flow.codec, _manifest(carrier_of(cell, flow), world), world)
    elif flow.has_codec and not _host(end, world):
        yield from _framework(flow.codec, _manifest(carrier_of(cell, flow), world), world)


def _message(target: MessageTarget, host: str, world: World) -> Iterator[Part]:
    library = library_of(target.payload, target.codec, target.language)
    is_built = library.folder.name in world.hosts[host].codecs if host else bool(library.facts)
    if not is_built and (host or not missing_tools(target.codec, target.language)):
        yield target


def _manifest(carrier: Carrier, world: World) -> Manifest:
    """Return the manifest of a transport, with the installation that its settings choose."""
    return world.manifests[carrier.transport].for_installation(carrier.settings)


def _framework(codec: str, manifest: Manifest, world: World) -> Iterator[Part]:
    from hopmeter.manifest import codec_interpreter  # imports NumPy, which only codecs need

    state = world.carrier(manifest, codec)
    if not state.ready and state.get.startswith(COMMAND) and "--framework" in state.get:
        offer = manifest.offers["python"]
        yield FrameworkTarget(codec, manifest if codec_interpreter.joint_environment(codec, offer) else None)


def mark_failures(made: Plan, world: World, failures: Mapping[str, str]) -> Plan:
    """Return the plan, in which cells say why what they lack could not be built, by the titles of the parts."""
    return replace(made, cells=[_mark(cell, world, failures) for cell in made.cells])


def _mark(cell: Cell, world: World, failures: Mapping[str, str]) -> Cell:
    titles = (part.title for host, part in lacking_of(cell, world) if not host)
    failed = next((title for title in titles if title in failures), "")
    said = f"{failed} could not be built: {failures[failed]}" if failed else ""
    return replace(cell, dropped=tag("D-BUILD-FAILED", said)) if failed else cell
