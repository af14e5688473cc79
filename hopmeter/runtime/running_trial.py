"""One trial while it runs: its nodes, its broker, and the messages that docs/internals.md describes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopmeter.images.decoded import Decoded
from hopmeter.manifest import Manifest, Readiness
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Flow
from hopmeter.plan.flows import flows
from hopmeter.plan.spec import Place, Turns, node_specs
from hopmeter.plan.topology import topology
from hopmeter.runtime.control import Control
from hopmeter.runtime.cpu import CpuSampler, Steal
from hopmeter.runtime.daemon import BrokerContext, Daemon
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.node import Node, Start
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.stops import StopWatch
from hopmeter.system.scratch_dir import new_run_id, remove_leftovers

LEAD_NS = 15_000_000
"""The time from `go` to the start of the schedule, long enough for every node to receive `go`."""


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
    cpu: Path | None = None
    """The file for CPU samples, if the trial takes any."""
    pictures: Mapping[str, Decoded] = field(default_factory=dict)
    """The frames of image and video files, by payload."""
    round: int | None = None
    why: bool = False
    """Whether the nodes read their threads' counters at each message."""

    @property
    def name(self) -> str:
        """Return the file name of this trial, without extension."""
        return f"{self.cell.id}-{self.trial}"


class RunningTrial:
    """The steps of one trial. Each may raise TrialFailedError; `close` ends the processes in any case.

    The steps in order: `start_broker`, `start_nodes`, `watch`, `connect`, `go`, `measure`, `end`.
    """

    def __init__(self, work: Work, folder: Path, turns: Turns | None = None) -> None:
        """Prepare a trial in its own folder. With `turns`, messages are due only in the turns of its side."""
        self.work, self._folder, self._run = work, folder, new_run_id()
        self.leftovers = [pattern.replace("{run}", self._run) for pattern in work.manifest.leftovers]
        turn_s = turns.length_s if turns else None
        self.result = TrialResult(
            work.cell.id, work.trial, good=False, order=work.order, round=work.round, turn_s=turn_s
        )
        self._place = _place(work, folder, self._run, turns)
        self._sides = turns.sides if turns else 1
        self._ends = ExitStack()
        self._stops = self._ends.enter_context(closing(StopWatch()))
        self._nodes: list[Node] = []
        self._daemon: Daemon | None = None

    @property
    def pids(self) -> list[int]:
        """Return the ids of its processes so far."""
        return ([self._daemon.pid] if self._daemon else []) + [node.pid for node in self._nodes]

    @property
    def raw_files(self) -> list[Path]:
        """Return the files of raw samples, by endpoint."""
        return sorted(self._folder.glob("*.raw"), key=lambda path: int(path.stem))

    def start_broker(self) -> None:
        """Start the broker, if the transport has one."""
        self._daemon = daemon = _daemon(self.work, self._place)
        if daemon is not None:
            self._ends.enter_context(daemon)
            self._place = replace(self._place, daemon=daemon.address)

    def start_nodes(self) -> None:
        """Start the nodes."""
        for start in _starts(self.work, self._place, self._daemon.environment if self._daemon else {}):
            node = Node(start)
            self._ends.callback(node.close)
            self._nodes.append(node)

    def watch(self) -> None:
        """Detect stops from now on. Start the nodes of all trials first: this starts threads."""
        self._stops.watch(self.pids)

    def connect(self, alarm: Alarm) -> None:
        """Let the nodes connect, and prove every link."""
        cell = self.work.cell
        self._control = control = Control(self._nodes, alarm, self._daemon)
        self._ends.callback(control.close)
        control.expect("bound", cell.schedule.timeout_s)
        links = {link: address for node in self._nodes for link, address in node.said["bound"].get("links", {}).items()}
        control.say({"say": "connect", "links": links})
        control.expect("ready", cell.schedule.timeout_s)
        prove(cell, control)
        self._used_before = self._daemon.reading() if self._daemon else None

    def go(self, start_ns: int) -> None:
        """Start the schedule at a time on CLOCK_MONOTONIC."""
        self._steal = Steal(_cores_used(self.work))
        self.result.start_ns = start_ns
        self._control.say({"say": "go", "start_ns": start_ns})

    def measure(self) -> None:
        """Wait for the end of the schedule, and note what the processes used."""
        _measure(self.work, self._control, self._daemon, self._sides)
        self.result.steal_share = self._steal.share()
        self.result.nodes = [_node_row(node) for node in self._nodes]
        if self._daemon is not None and self._used_before is not None:
            self._daemon.check()
            self.result.nodes.append(_daemon_row(self._daemon, self._daemon.reading().since(self._used_before)))
        _note_stops(self.result, self._stops)

    def end(self) -> None:
        """Let the nodes exit. The trial is good then."""
        self._control.say({"say": "end"})
        self._control.wait_for_exits(self.work.cell.schedule.timeout_s)
        self.result.good = True

    def fail(self, failed: TrialFailedError) -> None:
        """Note why the trial failed, and end its processes."""
        self.result.reason, self.result.remedy = failed.reason, failed.remedy
        self.close()

    def close(self) -> None:
        """End the processes that are left."""
        self._ends.close()

    def remove_files(self) -> None:
        """Remove all files of the trial, its raw samples included."""
        remove_leftovers(self.leftovers, self._run)
        shutil.rmtree(self._folder, ignore_errors=True)


def _place(work: Work, folder: Path, run: str, turns: Turns | None) -> Place:
    ends = folder / "s"
    ends.mkdir(mode=0o700)
    adapters = {"python": work.manifest.folder / "python"}
    place = Place(run, work.trial, work.seed, directory=ends, samples=folder, adapters=adapters)
    return replace(place, pictures=work.pictures, why=work.why, turns=turns)


def _daemon(work: Work, place: Place) -> Daemon | None:
    """Start the transport's daemon, on the core that follows those of the endpoints."""
    told, cell = work.manifest.daemon, work.cell
    if told is None:
        return None
    after = len(topology(cell).endpoints)
    core = cell.nodes.core_list[after % len(cell.nodes.core_list)] if cell.nodes.core_list else None
    log = work.logs / f"{work.name}-daemon.log"
    return Daemon(told, BrokerContext(place.run, place.directory / "daemon", cell.carriage.settings, log, core))


def _cores_used(work: Work) -> set[int]:
    """Return the cores of the endpoints and of the broker; empty if processes are not pinned."""
    cores, many = work.cell.nodes.core_list, len(topology(work.cell).endpoints) + (work.manifest.daemon is not None)
    return {cores[number % len(cores)] for number in range(many)} if cores else set()


def _starts(work: Work, place: Place, environment: Mapping[str, str]) -> Iterator[Start]:
    for language, spec in node_specs(work.cell, place):
        roles = "+".join(dict.fromkeys(endpoint["role"] for endpoint in spec["endpoints"]))
        number = spec["node"]
        yield Start(
            name=f"node {number} ({work.cell.axes.transport} {language}, {roles})",
            language=language,
            command=work.ready[number].command,
            spec=spec,
            spec_file=place.samples / f"node{number}.json",
            log=work.logs / f"{work.name}-{number}.log",
            environment={**work.ready[number].environment, **environment},
        )


def prove(cell: Cell, control: Control) -> None:
    """Let sources send probes until every branch of every flow has reported the same probe."""
    shape = topology(cell)
    missing = {number: shape.provers(number) for number in shape.flows}
    seen: dict[tuple[int, int], set[int]] = {}
    quiet: set[int] = set()

    def note_report(_: Node, message: dict[str, Any]) -> None:
        pair = message.get("pair", -1)
        if message["say"] == "quiet":
            quiet.add(pair)
        if message["say"] != "probed" or pair not in missing:
            return
        reporters = seen.setdefault((pair, message["probe"]), set())
        reporters.add(message["endpoint"])
        if missing[pair] <= reporters:
            del missing[pair]
            control.say({"say": "proved", "pair": pair})

    control.say({"say": "probe"})
    control.receive_until(lambda: not missing, cell.schedule.timeout_s, "probed", note_report)
    control.receive_until(lambda: len(quiet) == len(shape.flows), cell.schedule.timeout_s, "quiet", note_report)


def _measure(work: Work, control: Control, daemon: Daemon | None, sides: int) -> None:
    """Wait for the end of the schedule. Sends no message meanwhile, and only watches for exits of nodes."""
    cell = work.cell
    calls = max(cell.axes.call_s * _calls_in_turn(flow) for flow in flows(cell))
    patience_s = (
        LEAD_NS / 1e9
        + cell.schedule.limit_s * sides
        + cell.schedule.drain_s
        + cell.schedule.retry_s
        + calls
        + cell.schedule.timeout_s
    )
    sampler = CpuSampler(control.nodes, daemon) if work.cpu else None
    if sampler:
        sampler.sample()
    control.expect("done", patience_s, tick=sampler.sample if sampler else None)
    if sampler and work.cpu:
        sampler.write(work.cpu)


def _calls_in_turn(flow: Flow) -> int:
    """Return how many calls each message of a flow makes one after the other."""
    return (len(flow.targets) if flow.dispatch == "sequential" else 1) if flow.is_call else 0


def _daemon_row(daemon: Daemon, used: dict[str, int]) -> dict[str, Any]:
    """Return the daemon's resources from `go` until all nodes were done; they count like the resources of a node."""
    facts = {"daemon": daemon.title}
    return {"endpoints": [], "resources": used, "facts": facts, "version": daemon.version(), "pid": daemon.pid}


def _note_stops(result: TrialResult, stops: StopWatch) -> None:
    """Add to the row of a process how long it was stopped during the measurement."""
    for node in result.nodes:
        if stopped_s := stops.stopped_s(node.get("pid") or 0, result.start_ns):
            node["stopped_s"] = stopped_s


def _node_row(node: Node) -> dict[str, Any]:
    bound = node.said["bound"]
    return {
        **node.said["done"],
        "version": bound.get("version", ""),
        "clock": bound.get("clock", {}),
        "pid": bound.get("pid"),
        "language": node.language,
    }
