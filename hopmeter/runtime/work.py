"""The work of one trial: the cell, the nodes, and the environment in which the nodes run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from hopmeter.images.decoded import Decoded
from hopmeter.manifest import Manifest, Readiness
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier
from hopmeter.node.contract import LOOPBACK
from hopmeter.plan.carriers import carriers
from hopmeter.plan.placement.background_load import Load
from hopmeter.plan.spec import TrialContext, Turns
from hopmeter.plan.topology import core_of, topology
from hopmeter.runtime.processes.credentials import make_credentials
from hopmeter.runtime.processes.host import Host, TrialHost
from hopmeter.runtime.processes.this_host import LEAD_NS


@dataclass(frozen=True)
class Work:
    """A trial to execute, with the trial's cell and nodes."""

    cell: Cell
    trial: int
    order: int
    seed: int
    manifest: Manifest
    ready: Mapping[int, Readiness]
    """The program that each node runs, by node number."""
    logs: Path
    others: Mapping[str, Manifest] = field(default_factory=dict)
    """The manifests of the cell's other transports, by transport."""
    cpu: Path | None = None
    """The file for CPU samples, or None if CPU is not sampled."""
    pictures: Mapping[str, Decoded] = field(default_factory=dict)
    """The frames of image and video files, by payload."""
    recordings: Mapping[str, Path] = field(default_factory=dict)
    """The replay file of each flow that replays a recording, by flow name."""
    round: int | None = None
    why: bool = False
    """Whether each node reads the counters of its threads at each message."""
    keeps_cut: bool = False
    """Whether to keep the samples of an interrupted trial."""
    brokers: Mapping[str, str] = field(default_factory=dict)
    """The addresses of running brokers, by transport. hopmeter starts no broker for these transports."""
    load: Load | None = None
    """The background load, or None if the scenario requests no load."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """The hosts other than this machine, by name."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The addresses of hosts, by host name."""

    @property
    def name(self) -> str:
        """Return the file name of the trial, without an extension."""
        return f"{self.cell.id}-{self.trial}"

    @cached_property
    def host_names(self) -> list[str]:
        """Return the names of all hosts that run nodes, without duplicates. An empty host name stands for this
        machine."""
        return list(dict.fromkeys(hosted[0].host for hosted in topology(self.cell).nodes))

    @property
    def broker_host(self) -> str:
        """Return the host that runs the brokers, which is the host of the first node."""
        return self.host_names[0]

    def address(self, host: str) -> str:
        """Return the address at which the other hosts reach `host`."""
        return self.addresses.get(host, LOOPBACK)

    @property
    def lead_ns(self) -> int:
        """Return how many nanoseconds before the start of the schedule the launcher sends `go`."""
        return max(self.hosts[name].lead_ns if name in self.hosts else LEAD_NS for name in self.host_names)

    def manifest_of(self, carrier: Carrier) -> Manifest:
        """Return a transport's manifest, adapted to the library installation that the transport's settings name."""
        return (self.others.get(carrier.transport) or self.manifest).for_settings(carrier.settings)

    @property
    def manifests(self) -> list[Manifest]:
        """Return the manifest of each carrier, in the order of the carriers."""
        return [self.manifest_of(each) for each in carriers(self.cell)]

    def make_credentials(self) -> list[dict[str, bytes]]:
        """Return the files with new keys for each carrier, in order. All hosts of the trial use the same keys."""
        addresses = {self.address(host) for host in self.host_names}
        return [make_credentials(each.settings, addresses) for each in carriers(self.cell)]


def programs(cell: Cell, ready: Mapping[tuple[str, str], Readiness]) -> dict[int, Readiness]:
    """Return the program of each node, keyed by node number, for a cell without a codec. `ready` maps each pair of
    transport and language to its program."""
    ends = [hosted[0] for hosted in topology(cell).nodes]
    return {number: ready[end.carrier.transport, end.language] for number, end in enumerate(ends)}


def make_trial_context(work: Work, host: str, part: TrialHost, run: str, turns: Turns | None) -> TrialContext:
    """Return the environment of a trial's nodes on one host."""
    address = work.address(host)
    own = [replace(site, bind=address, advertised=address) for site in part.sites]
    sites, first = {carrier.key: site for carrier, site in zip(carriers(work.cell), own, strict=True)}, own[0]
    place = TrialContext(run, work.trial, work.seed, first.directory, part.folder, first.adapters)
    place = replace(place, pictures=work.pictures, recordings=work.recordings)
    return replace(place, sites=sites, why=work.why, turns=turns)


def broker_log(work: Work, number: int) -> Path:
    """Return the log file for a transport's broker."""
    return work.logs / (f"{work.name}-broker{number}.log" if number else f"{work.name}-broker.log")


def broker_core(cell: Cell, carrier: Carrier) -> int | None:
    """Return the core for a broker. In the cell's list of cores, the cores of the endpoints come first, and the cores
    of the brokers follow. Return None if the cell does not pin its endpoints. A workload and its separately measured
    flows use the same core for a broker."""
    whole, cores = cell.with_values(alone=""), cell.nodes.core_list
    place = [each.key for each in carriers(whole)].index(carrier.key)
    return cores[(len(topology(whole).endpoints) + place) % len(cores)] if cores else None


def cores_used(work: Work, host: str) -> set[int]:
    """Return the cores of a host's endpoints and brokers, or an empty set if any of them is not pinned."""
    used = {core_of(work.cell, one) for one in topology(work.cell).endpoints if one.host == host}
    for carrier in carriers(work.cell) if host == work.broker_host else ():
        used |= {broker_core(work.cell, carrier)} if work.manifest_of(carrier).broker else set()
    return set() if None in used else {core for core in used if core is not None}


def cores_of_nodes(work: Work) -> set[int]:
    """Return all cores to which a cell may pin its endpoints."""
    participants = work.cell.workload.participants if work.cell.workload else ()
    return {*work.cell.nodes.core_list, *(core for each in participants for core in each.core_list)}
