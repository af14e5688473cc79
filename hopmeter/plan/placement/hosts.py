"""Place the nodes of cells on hosts, and drop the cells that the hosts cannot run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import ENDS
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.plan.placement.reach import reach_faults
from hopmeter.plan.topology import Endpoint, core_of, topology
from hopmeter.scenario import Scenario
from hopmeter.schemas import is_message, library_of
from hopmeter.schemas.payload import KIND
from hopmeter.system.toml_files import one_of

Hosts = Mapping[str, HostFacts]
HERE = "here"
"""The name of this machine in a plan without a hosts file."""
ADDING = "add this host to the file of --hosts, or start a worker with this name and the resource agent=1 for --cluster"


def assume_hosts(
    scenario: Scenario, ready: Mapping[tuple[str, str], Readiness], machine: Machine
) -> dict[str, HostFacts]:
    """Return assumptions about the hosts that a scenario names, without contacting the hosts.

    The function assumes that each host is a separate machine with the transports and cores of this machine. Return an
    empty dict if the scenario names no hosts.
    """
    named = dict.fromkeys(each.host for each in scenario.participant.values() if each.host)
    if not named:
        return {}
    found = {name: HostFacts(name, ready=ready, cores=machine.allowed, network=name, clock=name) for name in named}
    is_homeless = any(not each.host for each in scenario.participant.values())
    return found | ({HERE: HostFacts(HERE, is_here=True)} if is_homeless else {})


def check_hosts(scenario: Scenario, hosts: Hosts) -> None:
    """Raise UsageError if a scenario names an unknown host, or requests something that is impossible with several
    hosts."""
    named = {name: each.host for name, each in scenario.participant.items() if each.host}
    for name, host in named.items():
        if not hosts:
            what = f"participant.{name}.host names the host {host}, but no hosts are given"
            raise UsageError(
                "E-HOST-UNKNOWN", what, "name the hosts with --hosts FILE or --cluster ADDRESS; --dry-run needs none"
            )
        if host not in hosts:
            raise UsageError("E-HOST-UNKNOWN", f"participant.{name}.host: {one_of(host, hosts)}", ADDING)
    if not hosts:
        return
    homeless = [name for name, each in scenario.participant.items() if not each.host]
    if homeless and not any(each.is_here for each in hosts.values()):
        what = f"participant.{homeless[0]} has no host, and none of the hosts is this machine"
        raise UsageError(
            "E-HOST-UNKNOWN",
            what,
            "give the participant a `host`, or add a host with `here = true` to the file of --hosts",
        )
    if scenario.why:
        raise UsageError("E-HOST-CONFLICT", "`why` is measured on one machine only", "omit `why`")


def place_on_hosts(cells: Iterable[Cell], hosts: Hosts) -> list[Cell]:
    """Assign a host to each participant of a workload. In an ordinary cell, assign the hosts to the endpoints in
    rotation."""
    return [_place(cell, hosts) if hosts else cell for cell in cells]


def _place(cell: Cell, hosts: Hosts) -> Cell:
    if cell.workload is None:
        return cell.with_values(hosts=">".join(hosts))
    here = next((each.name for each in hosts.values() if each.is_here), "")
    programs = tuple(replace(each, host=each.host or here) for each in cell.workload.participants)
    told = " ".join(f"{each.name}:{each.host}" for each in programs if each.host)
    return replace(cell, workload=replace(cell.workload, participants=programs)).with_values(hosts=told)


def drop_without_hosts(cells: Iterable[Cell], hosts: Hosts, manifests: Mapping[str, Manifest]) -> list[Cell]:
    """Drop the cells that cannot run on their hosts, with a reason and a remedy."""
    return [
        replace(cell, dropped=next(_faults(cell, hosts, manifests), "")) if hosts and not cell.dropped else cell
        for cell in cells
    ]


def _faults(cell: Cell, hosts: Hosts, manifests: Mapping[str, Manifest]) -> Iterator[str]:
    nodes = topology(cell).nodes
    used = {name: hosts[name] for name in dict.fromkeys(end.host for node in nodes for end in node)}
    if any(len({end.host for end in node}) > 1 for node in nodes):
        yield tag("D-HOST-PLACEMENT", "threads of one process cannot run on several hosts; use the placement `process`")
    for node in nodes:
        yield from _node_faults(cell, node, used[node[0].host])
    yield from reach_faults(cell, hosts, manifests)


def _node_faults(cell: Cell, node: tuple[Endpoint, ...], host: HostFacts) -> Iterator[str]:
    first = node[0]
    if host.is_here:
        return
    state = host.ready.get((first.carrier.transport, first.language))
    if state is None or not state.ready:
        missing, get = (state.missing, state.get) if state else ("it does not know this transport", "")
        remedy = f"; on {host.name}, run `{get}`" if get.startswith("hopmeter ") else f"; {get}" if get else ""
        what = f"the host {host.name} lacks {first.carrier.transport} ({first.language}): {missing}{remedy}"
        yield tag("D-HOST-LACKS", what)
    yield from _message_faults(cell, node, host)
    cores = {core for end in node if (core := core_of(cell, end)) is not None}
    if absent := cores - set(host.cores):
        yield tag("D-NO-CORES", f"the host {host.name} has no core {min(absent)} for its nodes; use --cores free")


def _message_faults(cell: Cell, node: tuple[Endpoint, ...], host: HostFacts) -> Iterator[str]:
    """Yield a reason for each schema message whose code is missing on the host of a node that needs it."""
    for flow in flows(cell):
        if is_message(flow.payload) and any(end.flow == flow.number and end.role in ENDS for end in node):
            language = node[0].language
            if library_of(flow.payload, flow.codec, language).folder.name not in host.codecs:
                build = (
                    f"`hopmeter build --message {flow.payload.removeprefix(KIND)}` with the same --hosts or --cluster"
                )
                what = (
                    f"the host {host.name} lacks the code of {flow.codec} for {flow.payload} ({language}); run {build}"
                )
                yield tag("D-HOST-LACKS", what)
