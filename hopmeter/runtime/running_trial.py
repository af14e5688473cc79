"""One trial while it runs: its nodes, its broker, and the messages that docs/internals.md describes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Flow
from hopmeter.plan.carriers import carriers
from hopmeter.plan.flows import flows
from hopmeter.plan.spec import Place, Turns, node_specs
from hopmeter.plan.topology import topology
from hopmeter.runtime.background import BackgroundLoad
from hopmeter.runtime.control import Control
from hopmeter.runtime.cpu import CpuSampler, Steal
from hopmeter.runtime.daemon import Daemon
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.node import Node, Start
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.stops import StopWatch
from hopmeter.runtime.work import Work, cores_used, make_daemon, make_place
from hopmeter.system.scratch_dir import new_run_id, remove_leftovers

LEAD_NS = 15_000_000
"""The time from `go` to the start of the schedule, long enough for every node to receive `go`."""


class RunningTrial:
    """The steps of one trial. Each may raise TrialFailedError; `close` ends the processes in any case.

    The steps in order: `start_broker`, `start_nodes`, `watch`, `connect`, `go`, `measure`, `end`.
    """

    def __init__(self, work: Work, folder: Path, turns: Turns | None = None) -> None:
        """Prepare a trial in its own folder. With `turns`, messages are due only in the turns of its side."""
        self.work, self._folder, self._run = work, folder, new_run_id()
        patterns = dict.fromkeys(pattern for each in work.manifests for pattern in each.leftovers)
        self.leftovers = [pattern.replace("{run}", self._run) for pattern in patterns]
        turn_s = turns.length_s if turns else None
        self.result = TrialResult(
            work.cell.id, work.trial, good=False, order=work.order, round=work.round, turn_s=turn_s
        )
        self._place = make_place(work, folder, self._run, turns)
        self._sides = turns.sides if turns else 1
        self._ends = ExitStack()
        self._stops = self._ends.enter_context(closing(StopWatch()))
        self._nodes: list[Node] = []
        self._daemons: dict[str, Daemon] = {}
        self.background: BackgroundLoad | None = None
        """The load beside its nodes, which also runs beside those of the other side of a duet."""

    @property
    def pids(self) -> list[int]:
        """Return the ids of its processes so far."""
        return [daemon.pid for daemon in self._daemons.values()] + [node.pid for node in self._nodes]

    @property
    def raw_files(self) -> list[Path]:
        """Return the files of raw samples, by endpoint."""
        return sorted(self._folder.glob("*.raw"), key=lambda path: int(path.stem))

    def start_broker(self) -> None:
        """Start the broker of each transport that has one."""
        for number, carrier in enumerate(carriers(self.work.cell)):
            site = self._place.site(carrier)
            daemon = make_daemon(self.work, carrier, site, self._run, number)
            if daemon is not None:
                self._daemons[carrier.key] = self._ends.enter_context(daemon)
                self._place.sites[carrier.key] = replace(site, daemon=daemon.address)

    def start_nodes(self) -> None:
        """Start the nodes."""
        for start in _starts(self.work, self._place, self._daemons):
            node = Node(start)
            self._ends.callback(node.close)
            self._nodes.append(node)

    def watch(self) -> None:
        """Detect stops from now on. Start the nodes of all trials first: this starts threads."""
        self._stops.watch(self.pids)

    def connect(self, alarm: Alarm) -> None:
        """Let the nodes connect, and prove every link."""
        cell = self.work.cell
        daemons = list(self._daemons.values())
        self._control = control = Control(self._nodes, alarm, daemons)
        self._ends.callback(control.close)
        control.expect("bound", cell.schedule.timeout_s)
        links = {link: address for node in self._nodes for link, address in node.said["bound"].get("links", {}).items()}
        control.say({"say": "connect", "links": links})
        control.expect("ready", cell.schedule.timeout_s)
        prove(cell, control)
        self._used_before = [each.reading() for each in daemons]

    def go(self, start_ns: int) -> None:
        """Start the schedule at a time on CLOCK_MONOTONIC."""
        self._steal = Steal(cores_used(self.work))
        self.result.start_ns = start_ns
        if self.background is not None:
            self.background.begin()
        self._control.say({"say": "go", "start_ns": start_ns})

    def measure(self) -> None:
        """Wait for the end of the schedule, and note what the processes used."""
        daemons = list(self._daemons.values())
        _measure(self.work, self._control, daemons, self._sides)
        if self.background is not None:
            achieved = self.background.reading()
            self.result.background_cpu_percent = achieved.cpu_percent
            self.result.background_memory_gb_s = achieved.memory_gb_s
        self.result.steal_share = self._steal.share()
        self.result.nodes = [_node_row(node) for node in self._nodes]
        for key, daemon, before in zip(self._daemons, daemons, self._used_before, strict=True):
            daemon.check()
            row = _daemon_row(daemon, daemon.reading().since(before))
            self.result.nodes.append(row | ({"carrier": key} if self.work.cell.workload else {}))
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


def _starts(work: Work, place: Place, daemons: Mapping[str, Daemon]) -> Iterator[Start]:
    nodes, programs = topology(work.cell).nodes, work.cell.workload.participants if work.cell.workload else ()
    for hosted, (language, spec) in zip(nodes, node_specs(work.cell, place), strict=True):
        roles = "+".join(dict.fromkeys(endpoint["role"] for endpoint in spec["endpoints"]))
        number, carrier = spec["node"], hosted[0].carrier
        program, daemon = work.ready[number], daemons.get(carrier.key)
        yield Start(
            name=f"node {number} ({carrier.transport} {language}, {roles})",
            language=language,
            command=program.command,
            spec=spec,
            spec_file=place.samples / f"node{number}.json",
            log=work.logs / f"{work.name}-{number}.log",
            environment={**program.environment, **(daemon.environment if daemon else {})},
            participant=programs[hosted[0].participant].name if programs else "",
            carrier=carrier.name,
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


def _measure(work: Work, control: Control, daemons: Sequence[Daemon], sides: int) -> None:
    """Wait for the end of the schedule. Sends no message meanwhile, and only watches for exits of nodes."""
    cell = work.cell
    calls = max(cell.call_s * _calls_in_turn(flow) for flow in flows(cell))
    patience_s = (
        LEAD_NS / 1e9
        + cell.schedule.limit_s * sides
        + cell.schedule.drain_s
        + cell.schedule.retry_s
        + calls
        + cell.schedule.timeout_s
    )
    sampler = CpuSampler(control.nodes, daemons) if work.cpu else None
    if sampler:
        sampler.sample()
    control.expect("done", patience_s, tick=sampler.sample if sampler else None)
    if sampler and work.cpu:
        sampler.write(work.cpu)


def _calls_in_turn(flow: Flow) -> int:
    """Return how many calls each message of a flow makes one after the other. Calls that are under way at once are
    followed by one that ends the flow."""
    if not flow.is_call:
        return 0
    return (len(flow.targets) if flow.dispatch == "sequential" else 1) + (flow.concurrency > 1)


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
        **({"participant": node.participant, "carrier": node.carrier} if node.participant else {}),
    }
