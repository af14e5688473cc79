"""Execute one trial: start new nodes, exchange the messages that docs/internals.md describes, and end the nodes in any
case."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hopmeter.images.decoded import Decoded
from hopmeter.manifest import Manifest, Readiness
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Flow
from hopmeter.plan.flows import flows
from hopmeter.plan.spec import Place, node_specs
from hopmeter.plan.topology import topology
from hopmeter.runtime.control import Control
from hopmeter.runtime.cpu import CpuSampler, Steal, stolen_us
from hopmeter.runtime.daemon import BrokerContext, Daemon
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.launcher_affinity import aside
from hopmeter.runtime.node import Node, Start
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.stops import StopWatch
from hopmeter.system.scratch_dir import ScratchDir, new_run_id, remove_leftovers

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
    ready: dict[str, Readiness]
    """Readiness by language."""
    logs: Path
    cpu: Path | None = None
    """The file for CPU samples, if the trial takes any."""
    picture: Decoded | None = None
    """The frames that are the payloads, if they come from an image or a video file."""
    round: int | None = None
    why: bool = False
    """Whether the nodes read their threads' counters at each message."""

    @property
    def name(self) -> str:
        """Return the file name of this trial, without extension."""
        return f"{self.cell.id}-{self.trial}"


@dataclass
class Outcome:
    """The result of a trial, and its raw samples as long as its folder exists."""

    result: TrialResult
    raw_files: list[Path]


@contextmanager
def execute_trial(work: Work, ground: ScratchDir, alarm: Alarm) -> Iterator[Outcome]:
    """Execute a trial; its raw samples exist inside the `with` block. Raises only if the whole run must end."""
    folder, run = ground.trial(), new_run_id()
    outcome = Outcome(TrialResult(work.cell.id, work.trial, good=False, order=work.order, round=work.round), [])
    leftovers = [pattern.replace("{run}", run) for pattern in work.manifest.leftovers]
    ground.keep((), leftovers)
    began, stolen = time.monotonic(), stolen_us()
    try:
        try:
            _run(work, ground, alarm, _place(work, folder, run), leftovers, outcome)
            outcome.result.good = True
        except TrialFailedError as failed:
            outcome.result.reason, outcome.result.remedy = failed.reason, failed.remedy
        outcome.result.wall_s = time.monotonic() - began
        outcome.result.steal_us = stolen_us() - stolen
        outcome.raw_files = sorted(folder.glob("*.raw"), key=lambda path: int(path.stem))
        yield outcome
    finally:
        remove_leftovers(leftovers, run)
        shutil.rmtree(folder, ignore_errors=True)
        ground.keep((), ())


def _place(work: Work, folder: Path, run: str) -> Place:
    ends = folder / "s"
    ends.mkdir(mode=0o700)
    adapters = {"python": work.manifest.folder / "python"}
    place = Place(run, work.trial, work.seed, directory=ends, samples=folder, adapters=adapters, picture=work.picture)
    return replace(place, why=work.why)


def _run(work: Work, ground: ScratchDir, alarm: Alarm, place: Place, leftovers: list[str], outcome: Outcome) -> None:
    with ExitStack() as ends:
        nodes: list[Node] = []
        stops = ends.enter_context(closing(StopWatch()))
        daemon = _daemon(work, place)
        if daemon is not None:
            ends.enter_context(daemon)
            ground.keep([daemon.pid], leftovers)
            place = replace(place, daemon=daemon.address)
        for start in _starts(work, place, daemon.environment if daemon else {}):
            node = Node(start)
            ends.callback(node.close)
            nodes.append(node)
        ground.keep([*([daemon.pid] if daemon else []), *(node.pid for node in nodes)], leftovers)
        stops.watch(([daemon.pid] if daemon else []) + [node.pid for node in nodes])
        control = Control(nodes, alarm, daemon)
        ends.callback(control.close)
        with aside(work.cell.nodes.core_list):
            _converse(work, control, outcome.result, daemon, stops)


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
            command=work.ready[language].command,
            spec=spec,
            spec_file=place.samples / f"node{number}.json",
            log=work.logs / f"{work.name}-{number}.log",
            environment={**work.ready[language].environment, **environment},
        )


def _converse(work: Work, control: Control, result: TrialResult, daemon: Daemon | None, stops: StopWatch) -> None:
    cell = work.cell
    control.expect("bound", cell.schedule.timeout_s)
    links = {link: address for node in control.nodes for link, address in node.said["bound"].get("links", {}).items()}
    control.say({"say": "connect", "links": links})
    control.expect("ready", cell.schedule.timeout_s)
    _prove(cell, control)
    before = daemon.reading() if daemon else None
    steal = Steal(_cores_used(work))
    result.start_ns = time.monotonic_ns() + LEAD_NS
    control.say({"say": "go", "start_ns": result.start_ns})
    _measure(work, control, daemon)
    result.steal_share = steal.share()
    result.nodes = [_node_row(node) for node in control.nodes]
    if daemon is not None and before is not None:
        daemon.check()
        result.nodes.append(_daemon_row(daemon, daemon.reading().since(before)))
    _note_stops(result, stops)
    control.say({"say": "end"})
    control.wait_for_exits(cell.schedule.timeout_s)


def _prove(cell: Cell, control: Control) -> None:
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


def _measure(work: Work, control: Control, daemon: Daemon | None) -> None:
    """Wait for the end of the schedule. Sends no message meanwhile, and only watches for exits of nodes."""
    cell = work.cell
    calls = max(cell.axes.call_s * _calls_in_turn(flow) for flow in flows(cell))
    patience_s = (
        LEAD_NS / 1e9
        + cell.schedule.limit_s
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
