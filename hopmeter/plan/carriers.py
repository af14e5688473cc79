"""Find the carrier of each flow: the transport of the cell, or the transport that the flow names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import Manifest, find_transports
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier, Flow
from hopmeter.plan.expand import profile_of
from hopmeter.plan.flows import flows
from hopmeter.scenario.workload import Flow as FlowKeys
from hopmeter.system.toml_files import one_of

BRIDGE = "bridge"
"""The transport name in the row of a bridge. A bridge uses the instrument's shared-memory ring."""


def axis_carrier(cell: Cell) -> Carrier:
    """Return the carrier of a cell. The cell's carrier carries all flows that do not name their own transport."""
    carriage = cell.carriage
    return Carrier(cell.axes.transport, carriage.profile, carriage.settings, carriage.rpc, own_types=carriage.own_types)


def carrier_of(cell: Cell, flow: Flow) -> Carrier:
    """Return the carrier of a flow. A bridge has the same carrier as the flow whose messages it passes on."""
    if flow.bridged and cell.workload is not None:
        return carrier_of(cell, cell.workload.flow(flow.bridged))
    return flow.carrier or axis_carrier(cell)


def receiving_carrier(cell: Cell, flow: Flow) -> Carrier:
    """Return the carrier of the processes that receive a flow.

    Senders and receivers have different carriers only if the flow is a bridge.
    """
    if flow.bridged and cell.workload is not None:
        return carrier_of(cell, cell.workload.flow(flow.bridged_to[0]))
    return carrier_of(cell, flow)


def carriers(cell: Cell, participant: str = "") -> list[Carrier]:
    """Return the distinct carriers of a cell's flows, or of one participant's flows. A participant has a separate
    process for each carrier."""
    if cell.workload is None:
        return [axis_carrier(cell)]
    own = [flow for flow in flows(replace(cell, flow="")) if not flow.bridged]
    mine = [flow for flow in own if participant in ("", flow.source, *flow.targets)]
    return list({each.key: each for each in (carrier_of(cell, flow) for flow in mine)}.values())


def codecs(cell: Cell, participant: str, carrier: Carrier) -> tuple[str, ...]:
    """Return the distinct codecs of the flows that a participant sends or receives over one carrier."""
    assert cell.workload is not None, "an ordinary cell has no participants"
    mine = [flow for flow in cell.workload.flows if participant in (flow.source, *flow.targets) and flow.has_codec]
    return tuple(dict.fromkeys(flow.codec for flow in mine if carrier_of(cell, flow).key == carrier.key))


def rpc_of(cell: Cell, flow: Flow) -> str:
    """Return how a transport implements calls for a flow: the kind of link that carries them. The calls of a bridge are
    always `duplex`, which means that each call uses two links."""
    return "duplex" if flow.bridged else carrier_of(cell, flow).rpc


def own_carriers(flows: Mapping[str, FlowKeys], manifests: Mapping[str, Manifest]) -> dict[str, Carrier]:
    """Return the carrier of each flow that names its own transport, keyed by the flow's name.

    Raises UsageError if a transport or setting is unknown, or if a setting's value is invalid.
    """
    return dict(_own_carriers(flows, manifests))


def _own_carriers(flows: Mapping[str, FlowKeys], manifests: Mapping[str, Manifest]) -> Iterator[tuple[str, Carrier]]:
    for name, flow in flows.items():
        if flow.transport is None:
            continue
        try:
            manifest = find_transports([flow.transport], dict(manifests))[flow.transport]
        except UsageError as error:
            raise UsageError(error.code, f"flow.{name}.transport: {error.what}", error.remedy) from error
        given = {key: _check(f"flow.{name}.settings", manifest, key, value) for key, value in flow.settings.items()}
        settings, rpc = manifest.resolve_settings(given), manifest.rpc or "duplex"
        encodes, own_types = encodes_objects(manifest), has_own_types(manifest)
        yield name, Carrier(manifest.name, profile_of(manifest, given), settings, rpc, encodes, own_types)


def encodes_objects(manifest: Manifest) -> bool:
    """Return whether a transport encodes Python objects itself, without a codec."""
    return "python" in manifest.offers and bool(manifest.offers["python"].objects)


def has_own_types(manifest: Manifest) -> bool:
    """Return whether a transport can carry the user's own message type in at least one language."""
    return any(offer.types for offer in manifest.offers.values())


def _check(where: str, manifest: Manifest, key: str, value: Any) -> Any:
    if key not in manifest.settings:
        known = one_of(key, list(manifest.settings) or [f"none, because {manifest.name} has no settings"])
        raise UsageError("E-UNKNOWN-SETTING", f"{where}: {known}")
    try:
        return manifest.settings[key].check(value)
    except RefusedValueError as cause:
        raise UsageError("E-SETTING-VALUE", f"{where}.{key}: {cause.what}") from cause


def together(own: Mapping[str, Carrier], manifests: Mapping[str, Manifest]) -> dict[str, Any]:
    """Return the transport, profile, settings and ranking of a cell whose flows all name their own transports."""
    names = list(dict.fromkeys(each.transport for each in own.values()))
    return {
        "transport": "+".join(names),
        "profile": "",
        "settings": {},
        "ranked": all(manifests[name].ranked for name in names),
        "installable": all(manifests[name].installable for name in names),
    }


def own_transport(cell: Cell, flows: Sequence[Flow]) -> dict[str, Any]:
    """If all flows of a row name their own transports, return the row's transport values; otherwise, return an empty
    dict.

    A row whose flows all name their transports is not ranked, because these transports are the same in all cells.
    """
    if not all(flow.carrier or flow.bridged for flow in flows):
        return {}
    used = [Carrier(BRIDGE) if flow.bridged else carrier_of(cell, flow) for flow in flows]
    named = list({each.key: each for each in used}.values())
    is_alone = all(flow.carrier for flow in (cell.workload.flows if cell.workload else ()))
    return {
        "transport": "+".join(dict.fromkeys(each.transport for each in named)),
        "profile": " ".join(dict.fromkeys(filter(None, (each.profile for each in named)))),
        "settings": named[0].settings if len(named) == 1 else {},
        "rpc": named[0].rpc,
        "ranked": False,
        "alongside": "" if is_alone else axis_carrier(cell).name,
    }
