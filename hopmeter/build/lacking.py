"""Finds the parts that a plan lacks and that hopmeter can build: adapters, codec libraries, message types and
frameworks."""

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
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import carrier_of
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import OBJECT_CODEC, OBJECT_LANGUAGE, message_languages
from hopmeter.plan.payloads.own_types import OwnType, missing_types
from hopmeter.plan.rules import is_too_old
from hopmeter.plan.topology import Endpoint, topology
from hopmeter.schemas import is_message, library_of, missing_tools


@dataclass(frozen=True)
class FrameworkTarget:
    """A codec's framework for the Python nodes of a transport."""

    codec: str
    manifest: Manifest | None
    """The transport, or None if the framework is installed into hopmeter's own Python for all transports."""

    @property
    def title(self) -> str:
        """The target's name in messages to the user."""
        return f"{self.codec} for {self.manifest.reference}" if self.manifest else self.codec


Part = Target | MessageTarget | TypeTarget | FrameworkTarget


def find_lacking(made: Plan, capabilities: Capabilities) -> dict[str, list[Part]]:
    """Return the parts that dropped cells lack, grouped by host and without duplicates. Parts that this machine lacks
    have an empty string as their key instead of a host name."""
    found: dict[str, dict[str, Part]] = {}
    for cell in made.cells:
        for host, part in lacking_of(cell, capabilities):
            found.setdefault(host, {})[part.title] = part
    return {host: list(parts.values()) for host, parts in found.items()}


def lacking_of(cell: Cell, capabilities: Capabilities) -> Iterator[tuple[str, Part]]:
    """Yield each missing part of a dropped cell that hopmeter can build, with the host that lacks the part."""
    if not cell.dropped or is_buildable(cell.dropped):
        yield from (("", TypeTarget(each.wanted, each.manifest, offer)) for each, offer in _types(cell, capabilities))
    if not is_buildable(cell.dropped):
        return
    shape = topology(cell)
    for node in shape.nodes:
        yield from ((_host(node[0], capabilities), part) for part in _adapter(cell, node[0], capabilities))
    for end in shape.endpoints:
        yield from ((_host(end, capabilities), part) for part in _object_parts(cell, end, capabilities))


def _types(cell: Cell, capabilities: Capabilities) -> Iterator[tuple[OwnType, Offer]]:
    """Yield the message types that have no generated code, in the languages whose adapters are ready."""
    for found, offer in missing_types(cell, capabilities.manifests):
        state = capabilities.node(found.carrier.transport, offer.language, found.carrier.settings)
        if state is not None and state.ready:
            yield found, offer


def _host(end: Endpoint, capabilities: Capabilities) -> str:
    return end.host if end.host in capabilities.hosts and not capabilities.hosts[end.host].is_here else ""


def _adapter(cell: Cell, end: Endpoint, capabilities: Capabilities) -> Iterator[Part]:
    """Yield a node's adapter if it can be built and is either not ready or too old for the cell."""
    host, manifest = _host(end, capabilities), _manifest(end.carrier, capabilities)
    here = capabilities.node(manifest.name, end.language, end.carrier.settings)
    state = capabilities.hosts[host].ready.get((manifest.name, end.language)) if host else here
    offer = manifest.offers.get(end.language)
    if offer is None or not (host or offer.is_installed):
        return
    is_old = state is not None and state.ready and is_too_old(cell, state)
    if is_old or state is None or not (state.ready or (state.get and not state.get.startswith(COMMAND))):
        yield Target(manifest, offer)


def _object_parts(cell: Cell, end: Endpoint, capabilities: Capabilities) -> Iterator[Part]:
    """Yield the missing parts that an endpoint needs to encode or decode its flow's objects."""
    flow = next(each for each in flows(cell) if each.number == end.flow)
    if is_message(flow.payload) and not flow.has_codec:
        yield from _message(MessageTarget(flow.payload, OBJECT_CODEC, OBJECT_LANGUAGE), "", capabilities)
    elif is_message(flow.payload):
        if end.language in message_languages(cell, flow):
            yield from _message(
                MessageTarget(flow.payload, flow.codec, end.language), _host(end, capabilities), capabilities
            )
            if end.language == "python" and not _host(end, capabilities):
                yield from _framework(flow.codec, _manifest(carrier_of(cell, flow), capabilities), capabilities)
    elif flow.has_codec and not _host(end, capabilities):
        yield from _framework(flow.codec, _manifest(carrier_of(cell, flow), capabilities), capabilities)


def _message(target: MessageTarget, host: str, capabilities: Capabilities) -> Iterator[Part]:
    library = library_of(target.payload, target.codec, target.language)
    is_built = library.folder.name in capabilities.hosts[host].codecs if host else bool(library.facts)
    if not is_built and (host or not missing_tools(target.codec, target.language)):
        yield target


def _manifest(carrier: Carrier, capabilities: Capabilities) -> Manifest:
    """Return a transport's manifest, adapted to the installed library that the transport's settings name."""
    return capabilities.manifests[carrier.transport].for_installation(carrier.settings)


def _framework(codec: str, manifest: Manifest, capabilities: Capabilities) -> Iterator[Part]:
    from hopmeter.manifest import codec_interpreter  # imported here, because the module needs NumPy

    state = capabilities.carrier(manifest, codec)
    if not state.ready and state.get.startswith(COMMAND) and "--framework" in state.get:
        offer = manifest.offers["python"]
        yield FrameworkTarget(codec, manifest if codec_interpreter.joint_environment(codec, offer) else None)


def mark_failures(made: Plan, capabilities: Capabilities, failures: Mapping[str, str]) -> Plan:
    """Record in the plan, for each cell, why a part that the cell needs could not be built, and return the plan.

    `failures` maps the titles of parts to the reasons why their builds failed.
    """
    return replace(made, cells=[_mark(cell, capabilities, failures) for cell in made.cells])


def _mark(cell: Cell, capabilities: Capabilities, failures: Mapping[str, str]) -> Cell:
    titles = (part.title for host, part in lacking_of(cell, capabilities) if not host)
    failed = next((title for title in titles if title in failures), "")
    said = f"{failed} could not be built: {failures[failed]}" if failed else ""
    return replace(cell, dropped=tag("D-BUILD-FAILED", said)) if failed else cell
