"""Runs trials on this machine. The nodes and brokers of a trial are child processes of hopmeter's process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopmeter.manifest import Manifest
from hopmeter.model.conditions import AT_ONCE
from hopmeter.plan.placement.background_load import Load
from hopmeter.plan.spec import TransportContext
from hopmeter.runtime.processes.background_load import BackgroundLoad
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from hopmeter.runtime.processes.cpu import CpuSampler, Steal
from hopmeter.runtime.processes.credentials import write_credentials
from hopmeter.runtime.processes.host import BrokerOrder, Step, Usage
from hopmeter.runtime.processes.node import LocalNode, Start
from hopmeter.runtime.processes.stops import StopWatch
from hopmeter.system.open_files import OpenFile, OpenFiles, remove_unused
from hopmeter.system.processes import Reading, pss_bytes
from hopmeter.system.scratch_dir import ScratchDir, remove_leftovers

LEAD_NS = 15_000_000
"""The time in nanoseconds from `go` to the start of the schedule. The time is long enough for all nodes to receive
`go`."""


class LocalTrial:
    """The part of a trial that runs on this machine."""

    def __init__(
        self,
        folder: Path,
        run: str,
        manifests: Sequence[Manifest],
        on_open_files: Callable[[], None],
        credentials: Sequence[Mapping[str, bytes]] = (),
    ) -> None:
        self.folder, self._run, self._manifests = folder, run, manifests
        self._on_open_files = on_open_files
        patterns = dict.fromkeys(pattern for each in manifests for pattern in each.leftovers)
        self.leftovers = [pattern.replace("{run}", run) for pattern in patterns]
        self._open_files = OpenFiles(
            {key: each.open_leftovers[key] for each in manifests for key in each.open_leftovers}
        )
        self.sites = [self._make_transport_context(number, each) for number, each in enumerate(manifests)]
        for site, files in zip(self.sites, credentials, strict=False):
            write_credentials(site.directory, files)
        self.nodes: list[LocalNode] = []
        self.brokers: list[BrokerProcess] = []
        self._ends = ExitStack()
        self._stops = self._ends.enter_context(closing(StopWatch()))
        self._sampler: CpuSampler | None = None
        self._used_before: list[Reading] = []
        self._pss_before: dict[int, int] = {}

    def _make_transport_context(self, number: int, manifest: Manifest) -> TransportContext:
        """Create the directory for a transport's files. The directory has a short path, because the length of socket
        paths is limited."""
        ends = self.folder / (f"s{number}" if number else "s")
        ends.mkdir(mode=0o700)
        return TransportContext(ends, {"python": manifest.folder / "python"})

    @property
    def pids(self) -> list[int]:
        """Return the process ids of the brokers and nodes started so far."""
        return [each.pid for each in self.brokers] + [node.pid for node in self.nodes]

    def start_broker(self, order: BrokerOrder) -> BrokerProcess | None:
        """Start a transport's broker. Return None if the transport has no broker."""
        chosen = self._manifests[order.number].for_settings(order.settings)
        if chosen.broker is None:
            return None
        settings = {name: chosen.value_in_force(name, order.settings) for name in chosen.settings}
        folder = self.sites[order.number].directory / "broker"
        context = BrokerContext(self._run, folder, settings, order.log, order.core, order.address)
        broker = self._ends.enter_context(BrokerProcess(chosen.broker, context))
        self.brokers.append(broker)
        return broker

    def start_broker_again(self, broker: BrokerProcess) -> tuple[int, int]:
        """Start a killed broker again. Return when the new process was started and when it was ready, on
        CLOCK_MONOTONIC. The broker's resource usage is counted from its new start."""
        times = broker.start_again()
        self._used_before[self.brokers.index(broker)] = Reading(at_ns=times[0])
        self._on_open_files()
        return times

    def start_node(self, start: Start) -> LocalNode:
        """Start a node as a child process. Calling `close` on the node ends the node's process."""
        node = LocalNode(start, self._note_open_files)
        self._ends.callback(node.close)
        self.nodes.append(node)
        return node

    def kill_node(self, node: LocalNode) -> int:
        """Kill a node at once, and remove its samples, which are unfinished. Return a time on CLOCK_MONOTONIC at which
        the node had ended."""
        node.close()
        killed_ns = time.monotonic_ns()
        self.nodes.remove(node)
        for endpoint in node.start.spec["endpoints"]:
            Path(endpoint["samples"]).unlink(missing_ok=True)
        return killed_ns

    def start_node_again(self, old: LocalNode) -> LocalNode:
        """Start a killed node again with the same spec. The new node expects no probes, and has a log of its own."""
        log = old.log.with_name(f"{old.log.stem}-again{old.log.suffix}")
        new = self.start_node(replace(old.start, log=log, spec={**old.start.spec, "begin": AT_ONCE}))
        self._on_open_files()
        return new

    def _note_open_files(self, pid: int) -> None:
        """Record the open files of a node, because a killed node does not delete its files."""
        if self._open_files.note(pid):
            self._on_open_files()

    @property
    def open_files(self) -> set[OpenFile]:
        """Return the files that the nodes have opened and whose paths match a pattern in a manifest."""
        return self._open_files.files

    def watch(self) -> None:
        """Begin to detect stopped processes. Call this method only after the nodes of all trials have started, because
        the method starts threads, and forking a multithreaded process is unsafe."""
        self._stops.watch(self.pids)

    def note_usage(self) -> None:
        """Record the resources that the brokers have used so far, and the memory use of all processes. All endpoints
        must be open when this method is called."""
        self._used_before = [each.reading() for each in self.brokers]
        self._pss_before = self._read_pss()

    def _read_pss(self) -> dict[int, int]:
        return {pid: size for pid in self.pids if (size := pss_bytes(pid)) is not None}

    def begin(self, cores: Iterable[int], samples_cpu: bool) -> None:
        """Begin the measured window."""
        self._steal = Steal(cores)
        self._sampler = CpuSampler(self.nodes, self.brokers) if samples_cpu else None

    def sample_cpu(self) -> None:
        """Sample the CPU use of each process."""
        if self._sampler:
            self._sampler.sample()

    def request(self, step: Step, since_ns: int = 0) -> None:
        """Do nothing, because only other hosts execute steps in advance."""

    def usage(self, since_ns: int) -> Usage:
        """Return the resources that the processes have used since the time `since_ns`."""
        steal = self._steal.share()
        brokers = []
        for broker, before in zip(self.brokers, self._used_before, strict=True):
            broker.check()
            brokers.append(_broker_row(broker, broker.reading().since(before)))
        stopped = {pid: stopped_s for pid in self.pids if (stopped_s := self._stops.stopped_s(pid, since_ns))}
        pss = {pid: max(size, self._pss_before.get(pid, 0)) for pid, size in self._read_pss().items()}
        return Usage(steal, stopped, pss, brokers)

    def cpu_rows(self) -> list[dict[str, Any]]:
        """Return the CPU samples, or an empty list if CPU sampling is off."""
        return self._sampler.rows() if self._sampler else []

    def collect(self) -> list[Path]:
        """Return the raw sample files, in the order of their endpoints."""
        return sorted(self.folder.glob("*.raw"), key=lambda path: int(path.stem))

    def close(self) -> None:
        """End all processes of the trial that are still running."""
        self._ends.close()

    def remove_files(self) -> None:
        """Remove all files of the trial, including its raw samples."""
        remove_leftovers(self.leftovers, self._run)
        remove_unused(self.open_files)
        shutil.rmtree(self.folder, ignore_errors=True)


class ThisHost:
    """This machine, in the role of a host that runs trials. The directories of the host's trials are in a private
    scratch directory."""

    lead_ns = LEAD_NS

    def __init__(self, ground: ScratchDir) -> None:
        self._ground = ground
        self._trials: list[LocalTrial] = []
        self._background: BackgroundLoad | None = None

    def trial(
        self, run: str, manifests: Sequence[Manifest], credentials: Sequence[Mapping[str, bytes]] = ()
    ) -> LocalTrial:
        """Prepare a trial and its directories."""
        self._trials.append(LocalTrial(self._ground.trial(), run, manifests, self.note_alive, credentials))
        return self._trials[-1]

    def start_background(self, load: Load, log: Path) -> BackgroundLoad:
        """Start a background load on this machine."""
        self._background = BackgroundLoad(load, log)
        return self._background

    def note_alive(self) -> None:
        """Record the leftovers that the next hopmeter command must remove if this process is killed."""
        background = [self._background.pid] if self._background else []
        pids = [*background, *(pid for trial in self._trials for pid in trial.pids)]
        leftovers = [path for trial in self._trials for path in trial.leftovers]
        self._ground.keep(pids, leftovers, {file for trial in self._trials for file in trial.open_files})

    def forget(self) -> None:
        """Record that the trials so far have left no files behind."""
        self._trials, self._background = [], None
        self._ground.keep((), ())


def _broker_row(broker: BrokerProcess, used: dict[str, int]) -> dict[str, Any]:
    """Return a row with the resource use and the facts of a broker. The row has the same keys as the row of a node."""
    facts = {"broker": broker.title}
    return {"endpoints": [], "resources": used, "facts": facts, "version": broker.version(), "pid": broker.pid}
