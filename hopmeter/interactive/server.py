"""`hopmeter serve`: the agent of a host, through which `hopmeter ask` starts servers."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hopmeter import manifest
from hopmeter.errors import UsageError
from hopmeter.hosts.agent.agent import serve as serve_agent
from hopmeter.hosts.agent.requests import Ask
from hopmeter.hosts.agent.trial import AgentTrial
from hopmeter.hosts.protocol.line_channel import LineChannel
from hopmeter.interactive.frames_scenario import check_work
from hopmeter.interactive.meeting import answer_meeting, listen_for_peers
from hopmeter.interactive.meeting_point import MeetingPoint
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.runtime.signals import Alarm
from hopmeter.store.samples import read_head

FORK = multiprocessing.get_context("fork")
ENDING_S = 8.0
"""The timeout in seconds for nodes to finish the current call after Ctrl-C."""


@dataclass(frozen=True)
class Server:
    """The state of `hopmeter serve`: what the server offers, and how many calls it has answered."""

    point: MeetingPoint
    transport: str
    work: str
    broker: str
    calls: Any
    """The number of answered calls, in shared memory so that the session process of each coordinator can update it."""

    def meet(self, ask: Ask) -> dict[str, Any]:
        """Return the server's transport, work and broker."""
        return answer_meeting(self.point, ask, {"transport": self.transport, "work": self.work, "broker": self.broker})

    def note(self, ask: Ask) -> dict[str, Any]:
        """Raise ValueError, because no coordinator sends notes to a server."""
        raise ValueError(f"a server does not accept messages like {str(ask)[:60]}")

    def store_samples(self, trial: AgentTrial) -> None:
        """Wait until all busy nodes of a trial have exited, and count the calls that the nodes have answered."""
        answered = sum(read_head(path).count for path in trial.raw_files(ENDING_S))
        with self.calls.get_lock():
            self.calls.value += answered

    def conduct(self, channel: LineChannel) -> None:
        """Serve one coordinator until it disconnects."""
        with Alarm():
            serve_agent(channel, self)


def serve(point: MeetingPoint, transport: str, work: str, broker: str, say: Callable[[str], object]) -> int:
    """Serve coordinators until Ctrl-C, and return the number of calls that were answered."""
    _check_transport(transport)
    server = Server(point, transport, check_work(work), broker, FORK.Value("q", 0))

    def report(line: str) -> None:
        # Every `ask` command causes these two lines.
        if not line.endswith(("is the coordinator", "the coordinator has left")):
            say(line)

    with listen_for_peers(point, server.conduct, report) as peers, suppress(InterruptedRunError):
        say(f"serving {point.name} over {transport}, work {work}; press Ctrl-C to stop")
        peers.admit(math.inf)
    return int(server.calls.value)


def _check_transport(name: str) -> None:
    """Raise a UsageError that contains the remedy if the transport cannot serve calls on this machine."""
    found = manifest.find_transports([name])[name]
    serving = [language for language, each in found.offers.items() if "rpc" in each.patterns]
    if not serving:
        raise UsageError(
            "E-NO-ADAPTER",
            f"{name} does not support calls",
            "`hopmeter transports` shows the features of each transport",
        )
    states = [manifest.readiness(found, language) for language in serving]
    if not any(each.ready for each in states):
        raise UsageError("E-NOT-BUILT", f"{name} is not ready: {states[0].missing}", states[0].get)
