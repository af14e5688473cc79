"""`hopmeter listen`: connects to the publisher, coordinates a run on both hosts, and measures one trial for each pair
of transport and plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hopmeter.analysis.latency.host_clocks import HostClocks, translate
from hopmeter.analysis.latency.trial import sum_counter
from hopmeter.api.measuring import Consoles
from hopmeter.api.planning import local_capabilities
from hopmeter.clocks.batches import ClockError
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.hosts.coordinator.session import naming
from hopmeter.hosts.protocol.greeting import Greeting
from hopmeter.interactive.meeting import Peer, connect_to_peer, join_hosts
from hopmeter.interactive.meeting_point import MeetingPoint
from hopmeter.interactive.plugins import PLUGINS
from hopmeter.interactive.results import ENDPOINT, Outcome, Results, done_times
from hopmeter.interactive.study import (
    LISTENER,
    PUBLISHER,
    Absence,
    Side,
    StudyCase,
    check_same,
    find_pairs,
)
from hopmeter.manifest.tables.setting import OFF, SECURITY
from hopmeter.messages import split_code, tag, with_remedy
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan import Plan, make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.runtime.executor import Executor
from hopmeter.runtime.failures import InterruptedRunError, TrialFailedError
from hopmeter.runtime.signals import Alarm
from hopmeter.scenario import override
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import NONE_NS, TIMES, Samples, Times
from hopmeter.system.scratch_dir import ScratchDir, sweep

SCENARIO: dict[str, Any] = {
    "title": "Objects",
    "question": "How long does an object take?",
    "language": "python",
    "pattern": "pubsub",
    "placement": "process",
    "wait": "block",
    "cores": "free",
    "pace": "open",
    "trials": 1,
    "checksum": True,
    "drain": "1s",
    "timeout": "120s",
}
"""The base scenario of every pair. Its timeout is long because some frameworks are slow to import."""
GONE = "the other side has left"


def listen(point: MeetingPoint, side: Side, settings: Sequence[str], within_s: float, results: Results) -> int:
    """Connect to the publisher, measure all pairs of transport and plugin with the given transport settings, and return
    the exit code.

    Raises HopmeterError if the publisher is missing, has different options or disconnects. Raises InterruptedRunError
    on Ctrl-C. The results of all pairs that were measured before the error are stored.
    """
    sweep()
    with Alarm() as alarm, ExitStack() as ends:
        results.say(f"waiting for `{point.opener}`{'' if point.address else f' {point}'}")
        peer = ends.enter_context(connect_to_peer(point, PUBLISHER, side.as_message(), within_s, alarm))
        with naming(PUBLISHER):
            publisher = Side.of(peer.offer)
        check_same(side, publisher)
        with _study(peer, side, publisher, settings) as study:
            study.measure(results, alarm)
    return results.exit_code


@contextmanager
def _study(peer: Peer, listener: Side, publisher: Side, settings: Sequence[str]) -> Iterator[Study]:
    """Plan the trials of all pairs, and compare the clocks of both hosts until the `with` block ends."""
    session = join_hosts({PUBLISHER: peer}, LISTENER)
    capabilities, one_machine = local_capabilities(session), peer.reached.greeting.network == Greeting.own().network
    found = find_pairs(publisher, listener, one_machine)
    pairs = [pair for pair, absence in found.items() if absence is None]
    plan = _plan(pairs, listener, settings, capabilities)
    check_keys(plan.cells, publisher.brokers)
    with ScratchDir() as ground:
        folder = RunFolder.create(ground.directory, "run", {"cells": []})
        with session.compare_clocks(folder.path) as clocks:
            executor = Executor(
                plan,
                capabilities,
                folder,
                Consoles.silent().progress,
                hosts=session.remote,
                after_trial=clocks.compare,
                keeps_cut=True,
                brokers=publisher.brokers,
            )
            yield Study(peer, listener, found, executor)


def check_keys(cells: Sequence[Cell], brokers: Mapping[str, str]) -> None:
    """Raise UsageError if a cell needs the keys of a broker that hopmeter does not start."""
    for cell in cells:
        if cell.axes.transport in brokers and cell.carriage.settings.get(SECURITY, OFF) != OFF:
            what = f"the broker of {cell.axes.transport} is yours, and hopmeter does not know its keys"
            raise UsageError("E-NO-KEYS", what, "omit --broker, or leave the setting `security` off")


def _plan(pairs: list[StudyCase], side: Side, settings: Sequence[str], capabilities: Capabilities) -> Plan:
    """Return a plan that contains a cell for each pair of transport and plugin."""
    size = "x".join(f"{side.options[name]:g}" for name in ("height", "width"))
    flow = {"payload": f"array:{size}", "rate": side.options["rate"]}
    length = {"messages": int(side.options["trials"]), "warmup": int(side.options["skip"])}
    transports = list(dict.fromkeys(transport for transport, _ in pairs))
    plugins = [PLUGINS[plugin] for plugin in dict.fromkeys(plugin for _, plugin in pairs)]
    devices = dict.fromkeys(each.device for each in plugins)
    cases = [{"device": name, "codec": [each.codec for each in plugins if each.device == name]} for name in devices]
    table = {**SCENARIO, **flow, **length, "transport": transports, "case": cases}
    wanted = override(table, {}, settings, capabilities.manifests)
    return make("objects", wanted, capabilities) if pairs else Plan("objects", wanted, [], 0)


@dataclass
class Study:
    """All pairs of transport and plugin in a study, and the executor that runs their trials."""

    peer: Peer
    side: Side
    pairs: Mapping[StudyCase, Absence | None]
    executor: Executor

    def measure(self, results: Results, alarm: Alarm) -> None:
        """Measure all pairs one by one, and report the outcome of each pair to the publisher."""
        try:
            for pair, absence in self.pairs.items():
                alarm.check()
                outcome, side = self._absent(pair, absence) if absence else self._measure(pair)
                results.add(outcome)
                self._tell(pair, outcome, side)
            self.peer.note(word="over")
        except TrialFailedError as failed:
            raise HopmeterError("E-PEER-GONE", GONE, "the measurements up to that point are stored") from failed
        finally:
            if results.outcomes:
                results.show()

    def _tell(self, pair: StudyCase, outcome: Outcome, side: str) -> None:
        """Report the outcome of a pair to the publisher. Raises TrialFailedError if the publisher has disconnected, and
        InterruptedRunError if Ctrl-C ended the trial."""
        code = split_code(outcome.reason)[1]
        if code == "E-STOPPED":
            raise InterruptedRunError
        counts = {"received": outcome.received, "wrong": outcome.wrong}
        reason = outcome.reason.removeprefix("there: ")
        named = {"transport": pair[0], "plugin": pair[1], "side": side}
        self.peer.note(word="outcome", **named, status=outcome.status, reason=reason, **counts)

    def _absent(self, pair: StudyCase, absence: Absence) -> tuple[Outcome, str]:
        there = "there: " if absence.side == PUBLISHER else ""
        return self._outcome(pair, "missing", f"{there}{absence.reason}"), absence.side

    def _outcome(self, pair: StudyCase, status: str, reason: str = "", **more: Any) -> Outcome:
        transport, plugin = pair
        codec = PLUGINS[plugin].codec if plugin in PLUGINS else plugin
        names = (self.side.label(transport), self.side.label(plugin), transport, codec)
        return Outcome(*names, status, reason, **more)

    def _measure(self, pair: StudyCase) -> tuple[Outcome, str]:
        cell = self._cell(pair)
        if cell.dropped:
            return self._outcome(pair, "missing", cell.dropped), ""
        self.peer.note(word="begin", transport=pair[0], plugin=pair[1])
        self.executor.plan = replace(self.executor.plan, cells=[cell])
        self.executor.run()
        trials = self.executor.folder.trials_of(cell.id)
        if not trials:
            raise InterruptedRunError
        return self._of_trial(pair, trials[0]), ""

    def _cell(self, pair: StudyCase) -> Cell:
        plugin = PLUGINS[pair[1]]
        wanted = (pair[0], plugin.codec, plugin.device)
        return next(cell for cell in self._cells if (cell.axes.transport, cell.axes.codec, cell.axes.device) == wanted)

    def __post_init__(self) -> None:
        self._cells = list(self.executor.plan.cells)

    def _of_trial(self, pair: StudyCase, trial: TrialResult) -> Outcome:
        reason = with_remedy(trial.reason, trial.remedy)
        if split_code(trial.reason)[1] == "E-HOST-GONE":
            reason = tag("E-PEER-GONE", GONE)
        found: dict[str, Any] = {}
        if trial.samples:
            found = self._of_samples(Samples(self.executor.folder.path / trial.samples))
        wrong = sum_counter(trial, "content_errors") if found else None
        return self._outcome(pair, "ok" if trial.good else "failed", reason, wrong=wrong, **found)

    def _of_samples(self, samples: Samples) -> dict[str, Any]:
        """Return the numbers of messages and the sample rows of the sink, with all times on this machine's clock."""
        rows = samples.of(ENDPOINT[LISTENER], "seq", *TIMES)
        sent = samples.of(ENDPOINT[PUBLISHER], "sent_ns")["sent_ns"]
        clocks = self._set_clock(rows) if len(rows["seq"]) else ""
        return {
            "rows": rows if len(rows["seq"]) else {},
            "sent": int((sent != NONE_NS).sum()) if ENDPOINT[PUBLISHER] in samples.endpoints else None,
            "received": len(np.unique(rows["seq"])),
            "clocks": clocks,
        }

    def _set_clock(self, rows: dict[str, Times]) -> str:
        """Translate the publisher's times to this machine's clock, and return a sentence that states how accurate the
        translated times are. Return an empty string if the publisher and the listener share a clock.

        If the uncertainty is as large as the median delay or larger, the publisher's times are removed.
        """
        if self.peer.reached.greeting.clock == Greeting.own().clock:
            return ""
        known, uncertainty_ns = HostClocks(self.executor.folder.path), 0.0
        try:
            for name in ("due_ns", "sent_ns"):
                route = known.route(rows[name], PUBLISHER, LISTENER)
                rows[name], uncertainty_ns = translate(rows[name], route), max(uncertainty_ns, route.uncertainty_ns)
        except ClockError as unknown:
            _remove(rows)
            return f"two machines, whose clocks could not be compared: {unknown}"
        delays = done_times(LISTENER, rows) - rows["sent_ns"]
        if np.median(delays) > uncertainty_ns:
            return f"two machines: delays are accurate to \N{PLUS-MINUS SIGN}{uncertainty_ns / 1000:.0f} us"
        _remove(rows)
        trip_us = self.peer.reached.round_trip.least_ns / 1000
        return (
            "two machines: the offset of their clocks is known only to "
            f"\N{PLUS-MINUS SIGN}{uncertainty_ns / 1000:.0f} us, which exceeds the delay; the shortest round trip "
            f"took {trip_us:.0f} us"
        )


def _remove(rows: dict[str, Times]) -> None:
    for name in ("due_ns", "sent_ns"):
        rows[name] = np.full(len(rows[name]), NONE_NS)
