"""The coordinator's connection to one agent: requests, answers and reports."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hopmeter.hosts.coordinator.questions import BusyAgents, Question
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.greeting import Greeting, HostError
from hopmeter.hosts.protocol.line_channel import ChannelError, ClosedChannelError, LineChannel
from hopmeter.runtime.failures import TrialFailedError

GREETING_S = 30.0
PATIENCE_S = 30.0
"""The default timeout, in seconds, for an answer of an agent."""
PINGS = 15
MOST_LINES_BEFORE = 100
"""The maximum number of lines that a login shell may print before the agent's greeting."""
SEEN_CHARACTERS = 300
CODE = re.compile(r"[ED]-[A-Z0-9-]{1,40}")


@contextmanager
def naming_damage(host: str) -> Iterator[None]:
    """If the agent sends malformed data, the errors in the `with` block become a TrialFailedError that names the
    host."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as cause:
        what = f"the agent on {host} sent an invalid message: {cause}"
        remedy = "install the same version of hopmeter on all hosts"
        raise TrialFailedError("E-HOST-DAMAGED", what, remedy) from cause


Hear = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class RoundTrip:
    """The fastest of several round trips between the coordinator and an agent."""

    least_ns: int
    offset_ns: int
    """The agent's clock minus this machine's clock, at the midpoint of the round trip."""


class Connection:
    """A connection to an agent that answers requests. If the agent is lost, each method raises an error that names the
    host."""

    def __init__(
        self,
        name: str,
        channel: LineChannel,
        why_gone: Callable[[], str] = str,
        patience_s: float = GREETING_S,
        busy: BusyAgents | None = None,
    ) -> None:
        """Greet the agent on a channel. `why_gone` is a function that returns why the agent closed the channel.

        Connections that share one `busy` object can wait for answers concurrently. Raises HostError if no agent
        answers, or if the agent has a different version of hopmeter.
        """
        self.name, self.channel, self._why_gone = name, channel, why_gone
        self._busy = BusyAgents() if busy is None else busy
        self._open: set[int] = set()
        self._forgotten: set[int] = set()
        self._answers: dict[int, tuple[int, dict[str, Any]]] = {}
        self._trials: dict[str, Hear] = {}
        self._asked = 0
        self._gone = ""
        self.greeting = self._greet(patience_s)

    def _greet(self, patience_s: float) -> Greeting:
        try:
            with suppress(ClosedChannelError):  # a command that has already exited may have printed the reason
                self.channel.send(Greeting.own().as_message())
            greeting = Greeting.of(self._first_message(patience_s), "agent")
        except ChannelError as cause:
            why = [str(cause), self._why_gone()]
            raise self._no_agent("; ".join(each for each in why if each)) from cause
        except ValueError as cause:
            raise self._no_agent(f"its greeting is damaged: {cause}") from cause
        greeting.check(f"the host {self.name}")
        return greeting

    def _first_message(self, patience_s: float) -> dict[str, Any]:
        """Return the first line from the agent that is a message, because a login shell may print other lines before
        it."""
        seen: list[str] = []
        deadline = time.monotonic() + patience_s
        while len(seen) < MOST_LINES_BEFORE:
            line = self.channel.receive_line()
            if line is not None:
                if line.lstrip().startswith(b'{"say":'):
                    return self.channel.parse(line)
                seen.append(line.decode(errors="replace"))
            elif self.channel.closed:
                break
            elif not self.channel.wait(deadline - time.monotonic()):
                raise ChannelError(f"no agent answered within {patience_s:.0f} s")
        printed = " ".join(seen)[-SEEN_CHARACTERS:]
        raise ChannelError(f"it printed {printed!r} and no greeting" if printed.strip() else "no agent answered")

    def _no_agent(self, why: str) -> HostError:
        remedy = "check how --hosts or --cluster reaches it, and that `hopmeter agent` starts on that host"
        return HostError("E-HOST-UNREACHABLE", f"the host {self.name} cannot be used: {why}", remedy)

    @property
    def is_gone(self) -> bool:
        """Return whether this process knows that the agent has exited."""
        return bool(self._gone) or self.channel.closed

    def ask(self, do: str, patience_s: float = PATIENCE_S, **more: Any) -> dict[str, Any]:
        """Return the agent's answer to the request `do`. Raises TrialFailedError if the agent reports an error or does
        not answer."""
        return self.post(do, patience_s, **more).answer()

    def post(self, do: str, patience_s: float = PATIENCE_S, **more: Any) -> Question:
        """Send a request to the agent without waiting for the answer. The agent answers requests one after another.
        Raises TrialFailedError if the agent is lost."""
        self._asked += 1
        self._open.add(self._asked)
        self._busy.add(self)
        self.tell({"say": "ask", "id": self._asked, "do": do, **more})
        return Question(self, self._asked, do, patience_s)

    def take_answer(self, number: int) -> tuple[int, dict[str, Any]] | None:
        """Return the agent's answer to the request with this number, and the time at which the answer was read. Return
        None if no answer has arrived. Raises TrialFailedError if the agent reported an error or is lost."""
        if number in self._answers:
            read_ns, answer = self._answers.pop(number)
            return read_ns, self._value(answer)
        self.check()
        return None

    def forget(self, number: int) -> None:
        """Discard the answer to the request with this number. An answer that has not arrived yet is discarded on
        arrival."""
        self._answers.pop(number, None)
        self._forgotten |= {number} & self._open

    def wait(self, most_s: float) -> bool:
        """Wait until any agent with an unanswered request sends data. Return False if no agent sends data within
        `most_s` seconds.

        Data is read from all agents with an unanswered request, so that no agent blocks while the coordinator waits for
        a different one. Raises TrialFailedError if the agent of this connection is lost.
        """
        if not self._busy.read(most_s):
            return False
        self.check()
        return True

    def _value(self, answer: dict[str, Any]) -> dict[str, Any]:
        try:
            if answer["say"] == "answer":
                return value_checks.table(answer, "value")
            code = value_checks.matching(answer, "code", CODE)
            what, remedy = (value_checks.printable(answer, key) for key in ("what", "remedy"))
        except ValueError as cause:
            raise self.lose(f"its answer is damaged: {cause}") from cause
        raise TrialFailedError(code, f"on {self.name}: {what}", self._on_host(remedy), bool(answer.get("crash")))

    def _on_host(self, remedy: str) -> str:
        return f"on {self.name}: {remedy}" if remedy.startswith("hopmeter ") else remedy

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that needs no answer. Raises TrialFailedError if the agent is lost."""
        self.check()
        try:
            self.channel.send(message)
        except ChannelError as cause:
            raise self.lose(str(cause)) from cause
        if self.channel.has_lines:
            self.hear()

    def hear(self) -> None:
        """Process the messages that the agent has sent so far, without blocking. Raises TrialFailedError if the agent
        is lost."""
        try:
            for message in self.channel.receive():
                self._sort(message)
        except (ChannelError, ValueError) as cause:
            raise self.lose(str(cause)) from cause
        self.check()

    def check(self) -> None:
        """Raise TrialFailedError if the agent is lost."""
        if self._gone or self.channel.closed:
            raise self.lose("it closed the connection")

    def _sort(self, message: dict[str, Any]) -> None:
        if message["say"] in ("answer", "error"):
            self._take(value_checks.number(message, "id", self._asked), message)
        elif hear := self._trials.get(value_checks.text(message, "trial", 16)):
            hear(message)

    def _take(self, number: int, message: dict[str, Any]) -> None:
        if number not in self._open:
            raise ValueError("it answered a request that was not sent")
        self._open.remove(number)
        if number in self._forgotten:
            self._forgotten.remove(number)
        else:
            self._answers[number] = time.monotonic_ns(), message
        if not self._open:
            self._busy.remove(self)

    def lose(self, why: str) -> TrialFailedError:
        """Mark the agent as lost, and return the error that states why it was lost."""
        self._busy.remove(self)
        self._gone = self._gone or self._why_gone() or why
        remedy = "check the host; `hopmeter hosts` shows whether it can be reached"
        return TrialFailedError("E-HOST-GONE", f"the host {self.name} is gone: {self._gone}", remedy, crash=True)

    def listen(self, trial: str, hear: Hear | None) -> None:
        """Pass each report about the trial to the function `hear`, or stop passing reports if `hear` is None."""
        self._trials.pop(trial, None)
        if hear is not None:
            self._trials[trial] = hear

    def ping(self) -> RoundTrip:
        """Return the fastest of several round trips to the agent."""
        return ping_all([self])[0]


def ping_all(connections: Iterable[Connection]) -> list[RoundTrip]:
    """Return the fastest round trip of each connection. The round trips of all connections are measured
    concurrently."""
    each = list(connections)
    rounds = [_ping_once(each) for _ in range(PINGS)]
    return [RoundTrip(*min(own)) for own in zip(*rounds, strict=True)]


def _ping_once(connections: Sequence[Connection]) -> list[tuple[int, int]]:
    posted = [(time.monotonic_ns(), each.post("ping")) for each in connections]
    found = []
    for before, question in posted:
        theirs, after = value_checks.number(question.answer(), "now_ns"), question.answered_ns
        found.append((after - before, theirs - (before + after) // 2))
    return found
