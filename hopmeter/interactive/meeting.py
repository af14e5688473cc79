"""Connects two commands that run as a pair, such as `publish` and `listen`. The listening side is an agent, and the
connecting side is the coordinator.

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
"""If a session process exits with this code, the listener waits for the next coordinator."""
FIRST = 64
"""To end the command with code C, a session process exits with FIRST + C, because Python itself uses 0 and 1."""
REMEDIES = {
    "E-HOST-SECRET": "give both commands --secret-file with the same secret",
    "E-HOST-TLS": "check --cert, --key and --ca of both commands",
}


class PeerMissingError(HopmeterError):
    """Raised if the other command of the pair does not connect or listen within the timeout."""


@contextmanager
def listen_for_peers(point: MeetingPoint, conduct: Conduct, say: Callable[[str], None]) -> Iterator[PeerListener]:
    """Listen for coordinators until the `with` block ends. The function `conduct` runs in a separate process for each
    coordinator and serves that coordinator.

    `conduct` calls `agent.serve(channel, command)`. `conduct` returns to let the next coordinator in, or calls
    `end_command` to end the whole command. Raises UsageError or ConnectError if this process cannot listen at the
    meeting point.
    """
    point.own_address()
    with Alarm() as alarm, point.listen() as server:
        guard = point.credentials.guard(say)
        with closing(Listener(server, guard, say, alarm, conduct)) as listener:
            yield PeerListener(listener, alarm)


class PeerListener:
    """Waits for the coordinators that connect to a command, and serves them."""

    def __init__(self, listener: Listener, alarm: Alarm) -> None:
        self._listener, self._alarm = listener, alarm

    def admit(self, within_s: float) -> int:
        """Serve coordinators until one of them ends this command, and return the exit code of the command. Raises
        PeerMissingError if the timeout passes while no coordinator is connected, and InterruptedRunError on Ctrl-C."""
        deadline = time.monotonic() + within_s
        while (code := self._listener.exit_code or NEXT) < FIRST:
            self._alarm.check()
            left_s = deadline - time.monotonic()
            if left_s <= 0 and not self._listener.serves:
                raise PeerMissingError(
                    "E-PEER-MISSING",
                    f"the other side did not connect within {within_s:g} s",
                    "start the other side too",
                )
            # While a session process measures, this process sleeps until the session process exits.
            self._listener.step(math.inf if self._listener.serves else left_s)
        return code - FIRST


def end_command(code: int) -> None:
    """End both the session process and the command, with the given exit code."""
    raise SystemExit(FIRST + code)


def answer_meeting(point: MeetingPoint, ask: Ask, offer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to the request `meet`: what this command offers, and the address at which its nodes are
    reached.

    Raises HopmeterError if the coordinator expects a different command, and ValueError if the request is invalid.
    """
    kind, name = value_checks.text(ask, "kind", 20), value_checks.text(ask, "name", 100)
    if (kind, name) != (point.kind, point.name):
        remedy = "give both commands the same --name and --meet"
        raise HopmeterError(
            "E-PEER-OTHER", f"`{point.opener}` is listening there, not the command that you want to reach", remedy
        )
    return {**offer, "address": point.own_address()}


@dataclass(frozen=True)
class Peer:
    """The other command of a pair, whose agent has answered the request `meet`."""

    reached: Reached
    address: str
    """The address at which this machine reaches the peer."""
    own_address: str
    """The address at which the peer reaches this machine."""
    offer: dict[str, Any]
    """The peer's answer to the request `meet`, which has not been validated yet."""

    def note(self, **message: Any) -> dict[str, Any]:
        """Send a message to the peer, and return the peer's answer. Raises TrialFailedError if the peer has
        disconnected."""
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
    """Connect to the other command as soon as it listens, and stay connected until the `with` block ends.

    `host` is the name of the peer's host in plans. The peer receives `told`, which describes this command. If the peer
    is busy with another coordinator, this command waits without a timeout, and calls `on_busy` once. Raises
    PeerMissingError if no command listens in time, HostError if the peer is unusable, or InterruptedRunError on Ctrl-C.
    """
    given = check_own(point.host) if point.host else ""
    with ScratchDir() as ground, closing(_await_agent(point, host, within_s, alarm, on_busy)) as link:
        reached = connect(host, link, ground.directory)
        with naming(host):
            offer = reached.remote.connection.ask("meet", kind=point.kind, name=point.name, **told)
        yield Peer(reached, _address(point, offer, host), given or link.own_address, offer)


def _address(point: MeetingPoint, offer: dict[str, Any], host: str) -> str:
    """Return the address that the peer gives for its nodes, or the loopback address if both commands are on one
    machine."""
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
                "E-PEER-MISSING",
                f"no command is listening {point} after {within_s:g} s{why}",
                f"start `{point.opener}`",
            )
        select.select([alarm.ear], [], [], min(LOOK_S, left_s))


def join_hosts(peers: Mapping[str, Peer], own: str) -> HostSession:
    """Return a session that contains the hosts of all peers, and this machine under the name `own`."""
    ways = [each.own_address for each in peers.values()]
    address = next((each for each in ways if each != LOOPBACK), LOOPBACK)
    addresses = {name: each.address for name, each in peers.items()}
    return HostSession({**addresses, own: address}, {name: each.reached for name, each in peers.items()})
