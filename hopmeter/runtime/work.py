"""The work of one trial: its cell and its nodes, and the environment in which they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hopmeter.images.decoded import Decoded
from hopmeter.manifest import Manifest, Readiness
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Carrier
from hopmeter.plan.background import Load
from hopmeter.plan.carriers import carriers
from hopmeter.plan.spec import Place, Site, Turns
from hopmeter.plan.topology import core_of, topology
from hopmeter.runtime.daemon import BrokerContext, Daemon


@dataclass(frozen=True)
class Work:
    """One trial to execute, with its cell and its nodes."""

    cell: Cell
    trial: int
    order: int
    seed: int
    manifest: Manifest
    ready: Mapping[int, Readiness]
    """The program of each node, by its number."""
    logs: Path
    others: Mapping[str, Manifest] = field(default_factory=dict)
    """The manifests of further transports, by transport."""
    cpu: Path | None = None
    """The file for CPU samples, if the trial takes any."""
    pictures: Mapping[str, Decoded] = field(default_factory=dict)
    """The frames of image and video files, by payload."""
    recordings: Mapping[str, Path] = field(default_factory=dict)
    """The file of each flow that replays a recording."""
    round: int | None = None
    why: bool = False
    """Whether the nodes read their threads' counters at each message."""
    load: Load | None = None
    """The load of the machine beside the nodes."""

    @property
    def name(self) -> str:
        """Return the file name of this trial, without extension."""
        return f"{self.cell.id}-{self.trial}"

    def manifest_of(self, transport: str) -> Manifest:
        """Return the manifest of a transport."""
        return self.others.get(transport) or self.manifest

    @property
    def manifests(self) -> list[Manifest]:
        """Return the manifest of each transport, in the order of the carriers."""
        return [self.manifest_of(each.transport) for each in carriers(self.cell)]


def programs(cell: Cell, ready: Mapping[tuple[str, str], Readiness]) -> dict[int, Readiness]:
    """Return the program of each node of a cell without a codec, by its number. `ready` has them by transport and
    language."""
    ends = [hosted[0] for hosted in topology(cell).nodes]
    return {number: ready[end.carrier.transport, end.language] for number, end in enumerate(ends)}


def make_place(work: Work, folder: Path, run: str, turns: Turns | None) -> Place:
    """Make the folders of a trial and describe its environment."""
    sites = dict(_sites(work, folder))
    first = next(iter(sites.values()))
    place = Place(run, work.trial, work.seed, first.directory, folder, first.adapters)
    place = replace(place, pictures=work.pictures, recordings=work.recordings)
    return replace(place, sites=sites, why=work.why, turns=turns)


def _sites(work: Work, folder: Path) -> Iterator[tuple[str, Site]]:
    """Make a folder for the files of each transport; its path is short, because sockets are in it."""
    for number, carrier in enumerate(carriers(work.cell)):
        ends = folder / (f"s{number}" if number else "s")
        ends.mkdir(mode=0o700)
        yield carrier.key, Site(ends, {"python": work.manifest_of(carrier.transport).folder / "python"})


def make_daemon(work: Work, carrier: Carrier, site: Site, run: str, number: int) -> Daemon | None:
    """Return the daemon of a transport, on a core of its own if the endpoints are pinned."""
    told = work.manifest_of(carrier.transport).daemon
    if told is None:
        return None
    log = work.logs / (f"{work.name}-daemon{number}.log" if number else f"{work.name}-daemon.log")
    context = BrokerContext(run, site.directory / "daemon", carrier.settings, log, _daemon_core(work.cell, carrier))
    return Daemon(told, context)


def _daemon_core(cell: Cell, carrier: Carrier) -> int | None:
    """Return a core that follows those of the endpoints; the same one for a workload and for its flows alone."""
    whole, cores = cell.with_values(alone=""), cell.nodes.core_list
    place = [each.key for each in carriers(whole)].index(carrier.key)
    return cores[(len(topology(whole).endpoints) + place) % len(cores)] if cores else None


def cores_used(work: Work) -> set[int]:
    """Return the cores of the endpoints and of the brokers; empty if one of them is not pinned."""
    used = {core_of(work.cell, one) for one in topology(work.cell).endpoints}
    for carrier in carriers(work.cell):
        used |= {_daemon_core(work.cell, carrier)} if work.manifest_of(carrier.transport).daemon else set()
    return set() if None in used else {core for core in used if core is not None}


def cores_of_nodes(work: Work) -> set[int]:
    """Return the cores to which endpoints may be pinned."""
    participants = work.cell.workload.participants if work.cell.workload else ()
    return {*work.cell.nodes.core_list, *(core for each in participants for core in each.core_list)}
