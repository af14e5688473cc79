"""Find out which hosts are connected by the flows of each carrier, and which settings a carrier needs between
machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from hopmeter.manifest import Manifest
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier, Flow, Workload
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import axis_carrier
from hopmeter.plan.expand import profile_of
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.plan.topology import Topology, topology
from hopmeter.plan.workloads.bridges import split_participants, why_not_split
from hopmeter.scenario import Ask, Scenario

Hosts = Mapping[str, HostFacts]


def joined_hosts(cell: Cell, manifests: Mapping[str, Manifest]) -> list[tuple[Carrier, list[set[str]]]]:
    """Return the carriers of a cell. For each flow of a carrier, the result contains the set of hosts that the flow
    connects."""
    shape = topology(cell)
    used = {node[0].carrier.key: node[0].carrier for node in shape.nodes}
    return [(carrier, _joined_by(carrier, shape, manifests)) for carrier in used.values()]


def _joined_by(carrier: Carrier, shape: Topology, manifests: Mapping[str, Manifest]) -> list[set[str]]:
    """Return, for each flow of a carrier, the set of hosts that the flow connects.

    If the transport has a broker, each set also contains the first node's host, on which the broker runs.
    """
    flows = ({end.host for end in flow if end.carrier.key == carrier.key} for flow in shape.flows.values())
    found = [hosts for hosts in flows if hosts]
    has_broker = manifests[carrier.transport].for_settings(carrier.settings).broker is not None
    broker = {shape.nodes[0][0].host} if has_broker else set()
    return [hosts | broker for hosts in found]


def is_one_machine(names: Iterable[str], hosts: Hosts) -> bool:
    """Return whether messages between these hosts stay on one machine."""
    return all(hosts[one].shares_machine(hosts[other]) for one, other in combinations(names, 2))


def reach_machines(cell: Cell, scenario: Scenario, ask: Ask, capabilities: Capabilities) -> Cell:
    """Return a placed cell with the settings that its carriers need to connect several machines. A setting to which the
    scenario gives a value keeps that value.

    In each participant, one process serves all flows of a carrier. If any of these flows connects several machines, all
    of them get the network settings.
    """
    if not capabilities.hosts or cell.dropped:
        return cell
    away = {
        carrier.key
        for carrier, joined in joined_hosts(cell, capabilities.manifests)
        if not all(is_one_machine(names, capabilities.hosts) for names in joined)
    }
    changed = cell
    if axis_carrier(cell).key in away:
        changed = cell.with_values(
            **_settings(axis_carrier(cell), ask.settings.get(cell.axes.transport, {}), capabilities)
        )
    return changed if cell.workload is None else _with_flows(changed, cell.workload, away, scenario, capabilities)


def _with_flows(cell: Cell, workload: Workload, away: set[str], scenario: Scenario, capabilities: Capabilities) -> Cell:
    """Return the cell with network settings for the flows that name their own transports and connect several machines.

    The added settings may split a participant into several processes.
    """

    def reach(flow: Flow) -> Flow:
        if flow.carrier is None or flow.carrier.key not in away:
            return flow
        return replace(
            flow,
            carrier=replace(flow.carrier, **_settings(flow.carrier, scenario.flow[flow.name].settings, capabilities)),
        )

    flows = tuple(reach(flow) for flow in workload.flows)
    split = split_participants(replace(cell, workload=replace(workload, flows=flows)))
    return replace(split, dropped=why_not_split(split))


def _settings(carrier: Carrier, given: Iterable[str], capabilities: Capabilities) -> dict[str, Any]:
    """Return the settings that a transport needs between machines, and the profile that results from them."""
    manifest = capabilities.manifests[carrier.transport]
    settings = carrier.settings | manifest.network_settings(set(given))
    return {"settings": settings, "profile": profile_of(manifest, settings)}


def reach_faults(cell: Cell, hosts: Hosts, manifests: Mapping[str, Manifest]) -> Iterator[str]:
    """Yield each reason why messages cannot reach a host that a carrier's flows connect."""
    for carrier, joined in joined_hosts(cell, manifests):
        manifest = manifests[carrier.transport]
        is_away = any(not hosts[name].is_here for names in joined for name in names)
        if is_away and (file := _file(manifest, carrier.settings)):
            yield tag("D-HOST-LACKS", f"the other hosts do not have {file}")
        if not all(is_one_machine(names, hosts) for names in joined):
            if why := manifest.why_local(carrier.settings):
                yield tag("D-HOST-NETWORK", why)
        elif manifest.meets_in_folder and any(len(names) > 1 for names in joined):
            yield tag("D-HOST-NETWORK", f"{manifest.name} finds its endpoints in one folder, and each host has its own")


def _file(manifest: Manifest, settings: Mapping[str, Any]) -> str:
    """Return the first file on this machine that a setting names, or an empty string if no setting names a file."""
    known = manifest.settings
    return next(
        (str(value) for name, value in settings.items() if known[name].file and value != known[name].default), ""
    )
