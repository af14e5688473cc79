"""A listening agent. The agent serves one coordinator at a time, and starts a separate session process for each
coordinator.

Peers that the agent has not admitted yet are limited in number, time and message size. If too many peers connect, the
agent closes the oldest connection whose peer it has not admitted yet.
"""

from __future__ import annotations

import math
import multiprocessing
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress

from hopmeter.errors import HopmeterError
from hopmeter.hosts.agent.agent import serve
from hopmeter.hosts.agent.caller import Caller, Guard, RefusedCallerError
from hopmeter.hosts.protocol.agent_address import AgentAddress, make_lasting
from hopmeter.hosts.protocol.agent_process import ENDING_S
from hopmeter.hosts.protocol.line_channel import ChannelError, LineChannel
from hopmeter.hosts.protocol.socket_channel import SocketChannel
from hopmeter.runtime.signals import SIGNALS, Alarm

MOST_CALLERS = 64
BUSY = "E-HOST-BUSY"
LEAVING_S = 2.0
"""How long, in seconds, a new coordinator waits for the processes of the previous session to exit."""
MOST_LINES, LINES_S = 20, 60.0
"""The maximum number of log lines in `LINES_S` seconds, so that many failed connections cannot flood the log."""
FORK = multiprocessing.get_context("fork")
Say = Callable[[str], None]
Conduct = Callable[[LineChannel], object]
"""A function that serves a coordinator over a channel, in the session process."""


def listen(address: AgentAddress, guard: Guard, say: Say) -> None:
    """Serve coordinators until the agent receives a signal. Raises UsageError if the agent cannot listen on the
    address."""
    with Alarm() as alarm, address.listen() as server:
        port = None if address.path else server.getsockname()[1]
        say(f"listening on {address if port is None else AgentAddress(address.host, port)}; Ctrl-C ends the agent")
        with closing(Listener(server, guard, say, alarm)) as listener:
            while not alarm.rung:
                listener.step()


class Listener:
    """The peers that are connected to a listening socket: peers in the handshake, and the coordinator that is being
    served."""

    def __init__(self, server: socket.socket, guard: Guard, say: Say, alarm: Alarm, conduct: Conduct = serve) -> None:
        self._server, self._guard, self._conduct = server, guard, conduct
        self._log = BoundedLog(say)
        self.exit_code: int | None = None
        """The exit code of the last finished session, or None if no session has finished."""
        self._callers: dict[int, Caller] = {}
        self._session: multiprocessing.process.BaseProcess | None = None
        self._selector = selectors.DefaultSelector()
        server.setblocking(False)
        self._selector.register(server, selectors.EVENT_READ, self._accept)
        self._selector.register(alarm.ear, selectors.EVENT_READ, lambda: None)

    @property
    def serves(self) -> bool:
        """Return whether the agent is serving a coordinator."""
        return self._session is not None

    def step(self, most_s: float = math.inf) -> None:
        """Wait at most `most_s` seconds for events, then admit peers and serve coordinators."""
        for key, _ in self._selector.select(self._patience_s(most_s)):
            key.data()
        self._drop_late()

    def _patience_s(self, most_s: float) -> float | None:
        left = [each.deadline - time.monotonic() for each in self._callers.values()]
        patience_s = min([*left, most_s])
        return None if patience_s == math.inf else max(0.0, patience_s)

    def _accept(self) -> None:
        with suppress(OSError):
            connection, address = self._server.accept()
            is_tcp = connection.family != socket.AF_UNIX
            caller = Caller(
                make_lasting(connection) if is_tcp else connection,
                f"{address[0]}:{address[1]}" if is_tcp else "a program on this machine",
                self._guard,
            )
            if len(self._callers) >= MOST_CALLERS:
                self._drop(min(self._callers.values(), key=lambda each: each.deadline), "too many others came")
            self._callers[caller.connection.fileno()] = caller
            self._selector.register(caller.connection, selectors.EVENT_READ, lambda: self._advance(caller))
            self._advance(caller)

    def _advance(self, caller: Caller) -> None:
        if self._callers.get(caller.connection.fileno()) is not caller:
            return  # the peer was dropped earlier in this step
        try:
            if not caller.advance():
                return
        except RefusedCallerError as refused:
            self._drop(caller, str(refused), refused.code)
        else:
            self._admit(caller)

    def _drop_late(self) -> None:
        now = time.monotonic()
        for caller in [each for each in self._callers.values() if each.deadline <= now]:
            self._drop(caller, "it proved nothing in time")

    def _drop(self, caller: Caller, why: str, code: str = "E-HOST-PEER") -> None:
        """Reject a peer: send the reason to the peer, and close the connection. If a peer is rejected because the agent
        is busy, the rejection is not logged."""
        if code != BUSY:
            self._log.say(f"{caller.name} was refused: {why}")
        self._forget(caller)
        with suppress(OSError):
            caller.refuse(code, why)
        caller.connection.close()

    def _forget(self, caller: Caller) -> None:
        self._selector.unregister(caller.connection)
        del self._callers[caller.connection.fileno()]

    def _admit(self, caller: Caller) -> None:
        if self._session is not None:
            self._session.join(LEAVING_S)
            if self._session.is_alive():
                self._drop(caller, "this agent serves another coordinator", BUSY)
                return
            self._end_session(self._session)
        self._forget(caller)
        try:
            caller.welcome()
            self._begin(caller)
        except OSError:
            self._log.say(f"{caller.name} left")
        caller.connection.close()

    def _begin(self, caller: Caller) -> None:
        self._log.say(f"{caller.name} is the coordinator")
        session = FORK.Process(target=self._serve, args=(caller,), name="session")
        session.start()
        self._session = session
        self._selector.register(session.sentinel, selectors.EVENT_READ, lambda: self._end_session(session))

    def _serve(self, caller: Caller) -> None:
        """Serve an admitted coordinator in a new session process."""
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._selector.close()
        for each in (self._server, *(other.connection for other in self._callers.values())):
            each.close()
        try:
            self._conduct(SocketChannel(caller.connection, caller.codes))
        except (HopmeterError, ChannelError) as failed:
            self._log.say(f"{caller.name}: {failed}")

    def _end_session(self, session: multiprocessing.process.BaseProcess) -> None:
        """Clean up a finished session and record its exit code."""
        if self._session is not session:
            return  # a new coordinator was admitted in the same step
        self._selector.unregister(session.sentinel)
        session.join()
        self.exit_code = session.exitcode
        session.close()
        self._session = None
        self._log.say("the coordinator has left")

    def close(self) -> None:
        """Close all connections to peers, and end the session with all its processes."""
        for caller in list(self._callers.values()):
            caller.connection.close()
        self._selector.close()
        if self._session is not None:
            self._session.terminate()
            self._session.join(ENDING_S)
            self._session.kill()
            self._session.join()


class BoundedLog:
    """A log of at most `MOST_LINES` lines in every `LINES_S` seconds; further lines are dropped."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._since, self._lines = 0.0, 0

    def say(self, line: str) -> None:
        """Log a line with unprintable characters replaced by spaces. If the log has reached its limit, the line is
        dropped."""
        now = time.monotonic()
        if now - self._since > LINES_S:
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines <= MOST_LINES:
            self._say("".join(each if each.isprintable() else " " for each in line))
        elif self._lines == MOST_LINES + 1:
            self._say("more than that happens; the next lines follow in a minute")
