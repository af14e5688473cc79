"""A running trial: its nodes, its brokers, and the control messages described in docs/internals.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Carrier, Flow
from hopmeter.plan.carriers import carriers
from hopmeter.plan.flows import flows
from hopmeter.plan.spec import TrialContext, Turns, node_specs
from hopmeter.plan.topology import codecs_of_node, topology
from hopmeter.runtime.control import Control
from hopmeter.runtime.failures import InterruptedRunError, TrialFailedError
from hopmeter.runtime.processes.cpu import write_cpu_samples
from hopmeter.runtime.processes.host import Background, Broker, BrokerOrder, Host, Step, Usage
from hopmeter.runtime.processes.node import Node, Start
from hopmeter.runtime.processes.this_host import LocalTrial
from hopmeter.runtime.restart import restart
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.work import Work, broker_core, broker_log, cores_used, make_trial_context
from hopmeter.store.samples import is_whole
from hopmeter.system.scratch_dir import new_run_id

CUT_S = 8.0
"""The timeout in seconds for the nodes of an interrupted trial to write their samples. A call in progress adds to this
time."""


class RunningTrial:
    """The steps of one trial. Each step may raise TrialFailedError, and `close` always ends the trial's processes.

    The order of the steps is `start_broker`, `start_nodes`, `watch`, `connect`, `go`, `measure`, `end`.
    """

    def __init__(self, work: Work, hosts: Mapping[str, Host], turns: Turns | None = None) -> None:
        """Prepare a trial on its hosts. If `turns` is given, messages are due only in the turns of the trial's side."""
        self.work, run = work, new_run_id()
        turn_s = turns.length_s if turns else None
        self.result = TrialResult(
            work.cell.id, work.trial, good=False, order=work.order, round=work.round, turn_s=turn_s
        )
        self._sides = turns.sides if turns else 1
        keys = work.make_credentials()
        self._parts = {name: hosts[name].trial(run, work.manifests, keys) for name in work.host_names}
        self._places = {name: make_trial_context(work, name, part, run, turns) for name, part in self._parts.items()}
        self._ends = ExitStack()
        for part in self._parts.values():
            self._ends.callback(part.close)
        self._ends.callback(self._request, "close")
        self._nodes: list[Node] = []
        self._brokers: dict[str, Broker] = {}
        self._is_cut = False
        self.backgrounds: list[Background] = []
        """The background loads of the hosts, which both sides of a duet share."""

    def collect(self) -> list[Path]:
        """Return the sample files of the trial from all hosts. A failed trial returns no sample files. An interrupted
        trial returns only complete files."""
        if self._is_cut:
            return list(self._collect_cut())
        if not self.result.good:
            return []
        try:
            self._request("collect")
            return [path for part in self._parts.values() for path in part.collect()]
        except TrialFailedError as failed:
            self.result.good = False
            self.fail(failed)
            return []

    def _collect_cut(self) -> Iterator[Path]:
        for part in self._parts.values():
            with suppress(TrialFailedError):
                yield from filter(is_whole, part.collect())

    def _request(self, step: Step, since_ns: int = 0) -> None:
        for part in self._parts.values():
            part.request(step, since_ns)

    def start_broker(self) -> None:
        """On the first host, start the broker of each transport that needs a broker. If the user named a running broker
        for a transport, use that broker."""
        part = self._parts[self.work.broker_host]
        for number, carrier in enumerate(carriers(self.work.cell)):
            if given := self.work.brokers.get(carrier.transport):
                self._set_broker(carrier, given)
                continue
            core, log = broker_core(self.work.cell, carrier), broker_log(self.work, number)
            address = self.work.address(self.work.broker_host)
            broker = part.start_broker(BrokerOrder(number, carrier.settings, log, core, address))
            if broker is not None:
                self._brokers[carrier.key] = broker
                self._set_broker(carrier, broker.address)

    def _set_broker(self, carrier: Carrier, address: str) -> None:
        for place in self._places.values():
            place.sites[carrier.key] = replace(place.site(carrier), broker=address)

    def start_nodes(self) -> None:
        """Start the nodes."""
        if self.work.cell.axes.begins_at_once:
            self._note_usage()  # after the start of the nodes, reading their memory would delay the first message
        for host, start in _starts(self.work, self._places, self._brokers):
            node = self._parts[host].start_node(start)
            node.host = host
            self._nodes.append(node)

    def watch(self) -> None:
        """Begin to detect stopped processes. Call this method after the nodes of all trials have started."""
        for part in self._parts.values():
            part.watch()

    def connect(self, alarm: Alarm) -> None:
        """Let the nodes connect, and verify that each link works."""
        cell = self.work.cell
        self._control = control = Control(self._nodes, alarm, list(self._brokers.values()))
        self._ends.callback(control.close)
        control.expect("bound", cell.schedule.timeout_s)
        bound = (node.said["bound"].get("links", {}).items() for node in self._nodes)
        self._links = {link: address for links in bound for link, address in links}
        control.say({"say": "connect", "links": self._links})
        control.expect("ready", cell.schedule.timeout_s)
        if not cell.axes.begins_at_once:
            prove(cell, control)
            self._note_usage()

    def _note_usage(self) -> None:
        self._request("note_usage")
        for part in self._parts.values():
            part.note_usage()

    def go(self, start_ns: int) -> None:
        """Begin the measured window; `start_ns` is the start of the window on CLOCK_MONOTONIC."""
        for name, part in self._parts.items():
            part.begin(cores_used(self.work, name), samples_cpu=self.work.cpu is not None)
        self.result.start_ns = start_ns
        for background in self.backgrounds:
            background.begin()
        self._control.say({"say": "go", "start_ns": start_ns})

    def measure(self) -> None:
        """Wait until the schedule ends, and record the resources that the processes used."""
        with self._keeping_samples():
            self._await_end()
            self._note_used()

    def _note_used(self) -> None:
        if self.backgrounds:
            self._note_background()
        self._request("usage", self.result.start_ns)
        used = [part.usage(self.result.start_ns) for part in self._parts.values()]
        if self.work.cpu:
            write_cpu_samples(self.work.cpu, [row for part in self._parts.values() for row in part.cpu_rows()])
        self.result.steal_share = max(each.steal_share for each in used)
        self.result.nodes = [_node_row(node) for node in self._nodes]
        self.result.nodes += self._broker_rows([row for each in used for row in each.brokers])
        _note_observations(self.result, dict(zip(self._parts, used, strict=True)))

    @contextmanager
    def _keeping_samples(self) -> Iterator[None]:
        """If the `with` block is interrupted and the user wants to keep samples, let the nodes write all samples
        recorded so far."""
        try:
            yield
        except (TrialFailedError, InterruptedRunError) as cause:
            if not self.work.keeps_cut:
                raise
            self._is_cut = True
            under_way_s = self.work.cell.call_s if any(flow.is_call for flow in flows(self.work.cell)) else 0.0
            self._control.end_early(CUT_S + under_way_s)
            self.result.nodes = [_node_row(node) for node in self._nodes if "done" in node.said]
            if isinstance(cause, InterruptedRunError):
                raise TrialFailedError("E-STOPPED", "interrupted") from cause
            raise

    def _await_end(self) -> None:
        """Wait until the schedule ends. During the wait, only check whether nodes have exited, and send no messages."""
        cell, samples = self.work.cell, self.work.cpu is not None
        calls = max(cell.call_s * _sequential_calls(flow) for flow in flows(cell))
        schedule = cell.schedule
        at_once_s = schedule.limit_s * self._sides
        patience_s = self.work.lead_ns / 1e9 + at_once_s + schedule.drain_s + schedule.retry_s + calls
        if samples:
            self._sample_cpu()
        if cell.axes.begins_at_once:
            self._stop_sources(patience_s + schedule.timeout_s)
        if cell.axes.has_restart:
            part = self._parts[self.work.broker_host]
            assert isinstance(part, LocalTrial), "cells with a restart run on this machine only"
            restart(cell, self._control, part, self._links, self.result)
            self._nodes = sorted(self._control.nodes, key=lambda node: int(node.start.spec["node"]))
        self._control.expect("done", patience_s + schedule.timeout_s, tick=self._sample_cpu if samples else None)

    def _stop_sources(self, patience_s: float) -> None:
        """Let the sources stop as soon as each receiver has received a message or all sources have finished."""
        receivers = [node for node in self._nodes if "sink" in node.roles]
        sources = [node for node in self._nodes if "source" in node.roles]
        waited_for = ((receivers, "arrived"), (sources, "done"))
        self._control.receive_until(
            lambda: any(all(word in node.said for node in nodes) for nodes, word in waited_for), patience_s, "done"
        )
        self._control.say({"say": "stop"})

    def _sample_cpu(self) -> None:
        for part in self._parts.values():
            part.sample_cpu()

    def _note_background(self) -> None:
        """Record the background load that was achieved. If there are several hosts, record the lowest CPU load and the
        lowest memory load of any host."""
        achieved = [each.reading() for each in self.backgrounds]
        self.result.background_cpu_percent = _least(each.cpu_percent for each in achieved)
        self.result.background_memory_gb_s = _least(each.memory_gb_s for each in achieved)

    def _broker_rows(self, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        host = {"host": self.work.broker_host} if self.work.broker_host else {}
        for key, row in zip(self._brokers, rows, strict=True):
            yield row | host | ({"carrier": key} if self.work.cell.workload else {})

    def end(self) -> None:
        """Let the nodes exit, and mark the trial as good."""
        with self._keeping_samples():
            self._control.say({"say": "end"})
            self._control.wait_for_exits(self.work.cell.schedule.timeout_s)
        self.result.good = True

    def fail(self, failed: TrialFailedError) -> None:
        """Record why the trial failed, and end the trial's processes."""
        self.result.reason, self.result.remedy = failed.reason, failed.remedy
        self.close()

    def close(self) -> None:
        """End the trial's processes that are still running."""
        self._ends.close()

    def remove_files(self) -> None:
        """Remove all files of the trial, including its raw samples."""
        for part in self._parts.values():
            part.remove_files()


def _starts(
    work: Work, places: Mapping[str, TrialContext], brokers: Mapping[str, Broker]
) -> Iterator[tuple[str, Start]]:
    """Yield the host and the start values of each node of the trial."""
    nodes, programs = topology(work.cell).nodes, work.cell.workload.participants if work.cell.workload else ()
    specs = node_specs(work.cell, next(iter(places.values())), places)
    for hosted, (language, spec) in zip(nodes, specs, strict=True):
        roles = "+".join(dict.fromkeys(endpoint["role"] for endpoint in spec["endpoints"]))
        number, carrier = spec["node"], hosted[0].carrier
        program, broker, host = work.ready[number], brokers.get(carrier.key), hosted[0].host
        start = Start(
            name=f"node {number} ({carrier.transport} {language}, {roles})",
            language=language,
            command=program.command,
            spec=spec,
            spec_file=places[host].samples / f"node{number}.json",
            log=work.logs / f"{work.name}-{number}.log",
            environment={**program.environment, **(broker.environment if broker else {})},
            participant=programs[hosted[0].participant].name if programs else "",
            carrier=carrier.name,
            codecs=codecs_of_node(work.cell, number),
        )
        yield host, start


def prove(cell: Cell, control: Control) -> None:
    """Let the sources send probes until, for each flow, all branches have reported one probe; then wait until the
    sources stop. Raises TrialFailedError on a timeout."""
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


def _sequential_calls(flow: Flow) -> int:
    """Return the number of sequential calls for each message of a flow. If calls overlap, the number includes one more
    call: the call that ends the flow."""
    if not flow.is_call:
        return 0
    return (len(flow.targets) if flow.dispatch == "sequential" else 1) + (flow.concurrency > 1)


def _note_observations(result: TrialResult, used: Mapping[str, Usage]) -> None:
    """Add to each process's row how long the process was stopped, and the process's proportional set size."""
    for node in result.nodes:
        pid, seen = node.get("pid") or 0, used[node.get("host", "")]
        if stopped_s := seen.stopped_s.get(pid):
            node["stopped_s"] = stopped_s
        if pid in seen.pss_bytes and node.get("resources"):
            node["resources"] = {**node["resources"], "pss_bytes": seen.pss_bytes[pid]}


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _node_row(node: Node) -> dict[str, Any]:
    bound = node.said["bound"]
    return {
        **node.said["done"],
        "version": bound.get("version", ""),
        "clock": bound.get("clock") or {},
        "pid": bound.get("pid"),
        "spawned_ns": node.spawned_ns,
        "language": node.language,
        **({"participant": node.participant, "carrier": node.carrier} if node.participant else {}),
        **({"host": node.host} if node.host else {}),
    }
