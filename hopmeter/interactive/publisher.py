"""`hopmeter publish`: waits for a listener, runs the sources as the agent of its host, and stores the results of the
sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopmeter.errors import HopmeterError, UsageError
from hopmeter.hosts.agent.agent import serve
from hopmeter.hosts.agent.requests import Ask
from hopmeter.hosts.agent.trial import AgentTrial
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.line_channel import ChannelError, LineChannel
from hopmeter.interactive.meeting import answer_meeting, end_command, listen_for_peers
from hopmeter.interactive.meeting_point import MeetingPoint
from hopmeter.interactive.plugins import PLUGINS
from hopmeter.interactive.results import ENDPOINT, Outcome, Results
from hopmeter.interactive.study import LISTENER, PUBLISHER, Side, check_same
from hopmeter.runtime.signals import Alarm
from hopmeter.store.samples import NONE_NS, TIMES, Times, read_head, read_raw
from hopmeter.system.scratch_dir import sweep

Fail = Callable[[HopmeterError], None]
STATUSES = ("ok", "failed", "missing")
ENDING_S = 5.0
"""The timeout in seconds for a source to write its samples after the listener has disconnected."""


def publish(point: MeetingPoint, side: Side, within_s: float, results: Results, fail: Fail) -> int:
    """Wait for the command `hopmeter listen`, serve it, and return the exit code. `fail` is a function that prints an
    error."""

    def conduct(channel: LineChannel) -> None:
        with Alarm():
            publisher = Publisher(point, side, results, fail)
            code = publisher.serve(channel)
        if code is not None:
            end_command(code)

    sweep()
    with listen_for_peers(point, conduct, results.say) as peers:
        results.say(f"waiting for `hopmeter listen` {point}")
        return peers.admit(within_s)


class Publisher:
    """The publishing command, which serves one listener."""

    def __init__(self, point: MeetingPoint, side: Side, results: Results, fail: Fail) -> None:
        self._point, self._side, self._results, self._fail = point, side, results, fail
        self._refused: UsageError | None = None
        self._has_met = self._is_over = False
        self._pair: tuple[str, str] | None = None
        """The transport and plugin of the current pair."""
        self._rows: dict[str, Times] = {}

    def serve(self, channel: LineChannel) -> int | None:
        """Serve a coordinator, and return the exit code, or None if the coordinator did not identify itself as a
        listener."""
        try:
            interrupted = serve(channel, self)
        except (ChannelError, HopmeterError) as failed:
            if not self._has_met:
                raise
            self._results.say(str(failed))
            interrupted = False
        return self._finish(interrupted) if self._has_met else None

    def _finish(self, interrupted: bool) -> int:
        gone = HopmeterError("E-PEER-GONE", "the other side has left", "the measurements up to that point are stored")
        if self._pair is not None:
            self._add("failed", "interrupted" if interrupted else gone.message)
        if self._results.outcomes:
            self._results.show()
        if interrupted:
            return 130
        failed = self._refused or (None if self._is_over else gone)
        if failed is not None:
            self._fail(failed)
            return failed.exit_code
        return self._results.exit_code

    def meet(self, ask: Ask) -> dict[str, Any]:
        """Accept the options of the listener, and return the options of this command."""
        answer = answer_meeting(self._point, ask, self._side.as_message())
        listener = Side.of(ask)
        self._has_met = True
        try:
            check_same(self._side, listener)
        except UsageError as unlike:
            self._refused = unlike
        return answer

    def note(self, ask: Ask) -> dict[str, Any]:
        """Handle a note from the listener, which says that a pair begins, that a pair has an outcome, or that all pairs
        are done."""
        word = value_checks.word(ask, "word", ("begin", "outcome", "over"))
        if word == "over":
            self._is_over = True
            return {}
        self._pair = (value_checks.printable(ask, "transport", 100), value_checks.printable(ask, "plugin", 100))
        if word == "outcome":
            there = "there: " if value_checks.text(ask, "side") == LISTENER else ""
            reason = value_checks.printable(ask, "reason")
            status, counts = value_checks.word(ask, "status", STATUSES), (_count(ask, "received"), _count(ask, "wrong"))
            self._add(status, f"{there}{reason}" if reason else "", *counts)
        return {}

    def _add(self, status: str, reason: str, received: int | None = None, wrong: int | None = None) -> None:
        assert self._pair is not None, "a pair was named"
        transport, plugin = self._pair
        codec = PLUGINS[plugin].codec if plugin in PLUGINS else plugin
        if transport not in self._side.transports or plugin not in self._side.plugins:
            self._rows = {}  # file names contain transport and codec, so only known names are accepted
        sent = int((self._rows["sent_ns"] != NONE_NS).sum()) if self._rows else None
        names = (self._side.label(transport), self._side.label(plugin), transport, codec)
        self._results.add(Outcome(*names, status, reason, self._rows, sent, received, wrong))
        self._pair, self._rows = None, {}

    def store_samples(self, trial: AgentTrial) -> None:
        """Store the samples that the source recorded."""
        for path in trial.raw_files(ENDING_S):
            if read_head(path).endpoint == ENDPOINT[PUBLISHER]:
                records = read_raw(path)
                self._rows = {name: records[name].astype("i8") for name in ("seq", *TIMES)} if len(records) else {}


def _count(ask: Ask, name: str) -> int | None:
    return None if ask.get(name) is None else value_checks.number(ask, name)
