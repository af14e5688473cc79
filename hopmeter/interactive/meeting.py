"""How two commands meet. The side that listens is an agent, and the side that connects is the coordinator.

with listen_for_peers(point, conduct, say) as peers:             # publish, serve
    code = peers.admit(within_s)

with connect_to_peer(point, "publisher", told, within_s) as peer:     # listen, ask
    session = join_hosts({"publisher": peer}, "listener")
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.hosts.agent.listener import BUSY, Conduct, Listener
from hopmeter.hosts.agent.requests import Ask
from hopmeter.hosts.coordinator.agent_socket import AgentSocket, NothingListensError
from hopmeter.hosts.coordinator.connection import naming_damage
from hopmeter.hosts.coordinator.session import HostSession, Reached, connect, naming
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.interactive.meeting_point import LOOK_S, MeetingPoint, check_own
from hopmeter.node.contract import LOOPBACK
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir

NEXT = 0
"""The exit code of a session after which the listener waits for the next coordinator."""
FIRST = 64
"""A session ends the command with the code C by exiting with FIRST + C: 0 and 1 are also codes of Python's own."""
REMEDIES = {
    "E-HOST-SECRET": "give both commands --secret-file with the same secret",
    "E-HOST-TLS": "check --cert, --key and --ca of both commands",
}


class PeerMissingError(HopmeterError):
    """The other command did not come in time."""


@contextmanager
def listen_for_peers(point: MeetingPoint, conduct: Conduct, say: Callable[[str], None]) -> Iterator[PeerListener]:
    """Listen inside the `with` block. `conduct` serves a coordinator in a process of its own: it calls
    `agent.serve(channel, command)`, and then returns to let the next coordinator come, or calls `end_command`.

    Raises UsageError or ConnectError if nothing can listen there.
    """
    point.own_address()
    with Alarm() as alarm, point.listen() as server:
        guard = point.credentials.guard(say)
        with closing(Listener(server, guard, say, alarm, conduct)) as listener:
            yield PeerListener(listener, alarm)


class PeerListener:
    """Waits for the coordinators of a command."""

    def __init__(self, listener: Listener, alarm: Alarm) -> None:
        self._listener, self._alarm = listener, alarm

    def admit(self, within_s: float) -> int:
        """Serve coordinators until one ends the command, and return its code. Raises PeerMissingError if nobody is
        there after a time, and InterruptedRunError after Ctrl-C."""
        deadline = time.monotonic() + within_s
        while (code := self._listener.exit_code or NEXT) < FIRST:
            self._alarm.check()
            left_s = deadline - time.monotonic()
            if left_s <= 0 and not self._listener.serves:
                raise PeerMissingError(
                    "E-PEER-MISSING", f"nobody came within {within_s:g} s", "start the other side too"
                )
            # While a session measures, this process sleeps until it ends.
            self._listener.step(math.inf if self._listener.serves else left_s)
        return code - FIRST


def end_command(code: int) -> None:
    """End the session, and the command that it belongs to, with an exit code."""
    raise SystemExit(FIRST + code)


def answer_meeting(point: MeetingPoint, ask: Ask, offer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to `meet`: the offer of this command, and the address of its nodes.

    Raises HopmeterError if the coordinator wants to meet another command, and ValueError if it is none.
    """
    kind, name = value_checks.text(ask, "kind", 20), value_checks.text(ask, "name", 100)
    if (kind, name) != (point.kind, point.name):
        remedy = "give both commands the same --name and --meet"
        raise HopmeterError("E-PEER-OTHER", f"`{point.opener}` is there, and you want another command", remedy)
    return {**offer, "address": point.own_address()}


@dataclass(frozen=True)
class Peer:
    """The command at the other side, whose agent has answered."""

    reached: Reached
    address: str
    """The address by which this machine reaches it."""
    own_address: str
    """The address by which it reaches this machine."""
    offer: dict[str, Any]
    """What it answered to `meet`; it is not checked yet."""

    def note(self, **message: Any) -> dict[str, Any]:
        """Tell the other command something, and return its answer. Raises TrialFailedError if it is gone."""
        return self.reached.remote.connection.ask("note", **message)


@contextmanager
def connect_to_peer(
    point: MeetingPoint,
    host: str,
    told: Mapping[str, Any],
    within_s: float,
    alarm: Alarm,
    on_busy: Callable[[], object] = lambda: None,
) -> Iterator[Peer]:
    """Connect to a command as soon as it listens, and stay inside the `with` block. `host` is the name of its host in
    plans, and `told` describes this command to the other. While it serves another coordinator, it waits without
    limit, and calls `on_busy` once.

    Raises PeerMissingError, HostError for a side that cannot be used, and InterruptedRunError after Ctrl-C.
    """
    given = check_own(point.host) if point.host else ""
    with ScratchDir() as ground, closing(_await_agent(point, host, within_s, alarm, on_busy)) as link:
        reached = connect(host, link, ground.directory)
        with naming(host):
            offer = reached.remote.connection.ask("meet", kind=point.kind, name=point.name, **told)
        yield Peer(reached, _address(point, offer, host), given or link.own_address, offer)


def _address(point: MeetingPoint, offer: dict[str, Any], host: str) -> str:
    """Return the address that the other side gives for its nodes; on one machine it is the loopback device."""
    if point.address is None:
        return LOOPBACK
    with naming_damage(host):
        return value_checks.address(offer, "address")


def _await_agent(
    point: MeetingPoint, host: str, within_s: float, alarm: Alarm, on_busy: Callable[[], object]
) -> AgentSocket:
    deadline, was_busy = time.monotonic() + within_s, False
    why = ""
    while True:
        alarm.check()
        try:
            if entry := point.entry():
                return AgentSocket(host, entry)
        except HostError as failed:
            if failed.code == BUSY:
                if not was_busy:
                    on_busy()
                was_busy, deadline = True, time.monotonic() + within_s
            elif not isinstance(failed, NothingListensError):
                raise HostError(failed.code, failed.what, REMEDIES.get(failed.code, failed.remedy)) from failed
            why = f": {failed.what}"
        if (left_s := deadline - time.monotonic()) <= 0:
            raise PeerMissingError(
                "E-PEER-MISSING", f"nobody is there {point} after {within_s:g} s{why}", f"start `{point.opener}`"
            )
        select.select([alarm.ear], [], [], min(LOOK_S, left_s))


def join_hosts(peers: Mapping[str, Peer], own: str) -> HostSession:
    """Return the hosts of a run: those of the other commands, and this one, which is called `own`."""
    ways = [each.own_address for each in peers.values()]
    address = next((each for each in ways if each != LOOPBACK), LOOPBACK)
    addresses = {name: each.address for name, each in peers.items()}
    return HostSession({**addresses, own: address}, {name: each.reached for name, each in peers.items()})
