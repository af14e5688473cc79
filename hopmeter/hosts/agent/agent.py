"""The agent: starts nodes, brokers and background load on its host for one coordinator, and forwards the nodes'
messages.

The agent exits when its channel closes, when its parent process exits, or when it receives a signal. When the agent
exits, it leaves no processes or files behind.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.hosts.agent.requests import Ask, Command, Requests
from hopmeter.hosts.agent.trial import AgentTrial
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.greeting import Greeting, HostError
from hopmeter.hosts.protocol.line_channel import ChannelError, LineChannel
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.broker import BrokerProcess
from hopmeter.runtime.processes.node import LocalNode
from hopmeter.runtime.processes.this_host import ThisHost
from hopmeter.runtime.signals import Alarm
from hopmeter.system.scratch_dir import ScratchDir, sweep

GREETING_S = 30.0
"""The timeout, in seconds, for the coordinator's greeting."""
SAMPLING_S = 1.0


def serve(channel: LineChannel, command: Command | None = None) -> bool:
    """Serve a coordinator until it closes the channel, and return whether a signal ended the session.

    `command` is the hopmeter command that runs this agent, such as `hopmeter publish`, or None for `hopmeter agent`.
    Raises HostError if the coordinator has a different version of hopmeter, and ChannelError if the peer is not a
    coordinator.
    """
    with Alarm() as alarm, ScratchDir() as ground:
        sweep()
        agent = Agent(channel, ground, alarm, command)
        try:
            agent.run()
        finally:
            agent.close()
        return alarm.rung


class Agent:
    """The agent's side of the connection to a coordinator."""

    def __init__(self, channel: LineChannel, ground: ScratchDir, alarm: Alarm, command: Command | None = None) -> None:
        self._channel, self._alarm = channel, alarm
        self._requests = Requests(ground.directory, ThisHost(ground), self, command)
        self._next_sample = 0.0
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ)
        self._selector.register(alarm.ear, selectors.EVENT_READ)
        self._parent: int | None = None
        with suppress(OSError):  # the call fails if the parent is in another PID namespace
            self._parent = os.pidfd_open(os.getppid())
            self._selector.register(self._parent, selectors.EVENT_READ, self._lose_parent)
        self._is_over = False

    def run(self) -> None:
        """Send a greeting to the coordinator, and handle its requests until it closes the channel."""
        self._channel.send(Greeting.own("agent").as_message())
        self._await_greeting()
        while not self._is_over and not self._alarm.rung:
            for message in self._channel.receive():
                self._heed(message)
            if self._channel.closed:
                return
            self._wait(self._tick())

    def _await_greeting(self) -> None:
        deadline = time.monotonic() + GREETING_S
        while not (messages := self._channel.receive()):
            if self._channel.closed or self._alarm.rung or self._is_over:
                self._is_over = True
                return
            if (left_s := deadline - time.monotonic()) <= 0:
                raise ChannelError(f"no coordinator greeted within {GREETING_S:.0f} s")
            self._wait(left_s)
        first, *rest = messages
        try:
            Greeting.of(first, "coordinator").check("the coordinator")
        except ValueError as cause:
            raise ChannelError(f"its greeting is damaged: {cause}") from cause
        except HostError as refused:
            self._channel.send({"say": "refused", "code": refused.code, "what": refused.what})
            raise
        for message in rest:
            self._heed(message)

    def _wait(self, most_s: float | None) -> None:
        """Wait for a request from the coordinator, an event of a node or broker process, or a signal, and handle events
        of processes."""
        for key, _ in self._selector.select(0 if self._channel.has_lines else most_s):
            if key.data is not None:
                key.data()

    def _lose_parent(self) -> None:
        self._is_over = True

    def _tick(self) -> float | None:
        """Sample the CPU use of all trials that requested samples. Return the seconds until the next sample, or None if
        no trial requested samples."""
        sampled = [trial for trial in self._requests.trials.values() if trial.samples_cpu]
        if not sampled:
            return None
        now = time.monotonic()
        if now >= self._next_sample:
            for trial in sampled:
                trial.part.sample_cpu()
            self._next_sample = now + SAMPLING_S
        return self._next_sample - now

    def _heed(self, message: dict[str, Any]) -> None:
        """Handle one message from the coordinator. Raises ChannelError if the message is malformed."""
        try:
            if message["say"] == "ask":
                self._answer(value_checks.number(message, "id"), message)
            elif message["say"] == "to":
                self._pass_on(message)
            elif message["say"] == "begin":
                self._begin(message)
            else:
                raise ValueError(f"say is {message['say'][:20]!r}")
        except (ValueError, KeyError, TypeError) as cause:
            raise ChannelError(f"it sent an invalid message: {cause}") from cause

    def _answer(self, number: int, ask: Ask) -> None:
        try:
            answer = self._requests.answer(ask)
        except (TrialFailedError, HopmeterError) as failed:
            self._refuse(number, failed.code, failed.what, failed.remedy, getattr(failed, "crash", False))
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as wrong:
            self._refuse(number, "E-HOST-ASK", f"{ask.get('do')}: {type(wrong).__name__}: {wrong}", "", False)
        else:
            self._channel.send({"say": "answer", "id": number, "value": answer})

    def _refuse(self, number: int, code: str, what: str, remedy: str, crash: bool) -> None:
        told = {"code": code, "what": what[:2000], "remedy": remedy[:2000], "crash": crash}
        self._channel.send({"say": "error", "id": number, **told})

    def _pass_on(self, message: Ask) -> None:
        trial = self._requests.find_trial(message)
        if trial is None:
            return  # the trial has already ended
        number, said = value_checks.number(message, "node", 1 << 20), value_checks.table(message, "message")
        if late_ns := trial.say(number, said):
            self._tell(trial, "late", node=number, by_ns=late_ns)

    def _begin(self, message: Ask) -> None:
        trial = self._requests.find_trial(message)
        if trial is None:
            return
        trial.part.begin(value_checks.numbers(message, "cores"), bool(message.get("samples_cpu")))
        trial.samples_cpu = bool(message.get("samples_cpu"))
        self._next_sample = 0.0
        if self._requests.background is not None:
            self._requests.background.begin()

    def watch_node(self, trial: AgentTrial, number: int, node: LocalNode) -> None:
        """Forward a node's messages to the coordinator, and report when the node exits."""
        for source in node.sources:
            self._watch(source, lambda: self._relay(trial, number, node))

    def watch_broker(self, trial: AgentTrial, number: int, broker: BrokerProcess) -> None:
        """Report to the coordinator when a broker exits."""
        self._watch(broker.exit_watch, lambda: self._tell_broker(trial, number, broker))

    def _watch(self, source: Any, hear: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, hear)

    def stop_watching(self, trial: AgentTrial) -> None:
        """Stop watching the nodes and brokers of a trial."""
        sources = [source for node in trial.nodes.values() for source in node.sources]
        for source in [*sources, *(broker.exit_watch for broker in trial.part.brokers)]:
            with suppress(KeyError, ValueError):  # the file is closed, or the selector no longer watches it
                self._selector.unregister(source)

    def _tell(self, trial: AgentTrial, word: str, **more: Any) -> None:
        self._channel.send({"say": word, "trial": trial.run, **more})

    def _tell_broker(self, trial: AgentTrial, number: int, broker: BrokerProcess) -> None:
        """Report to the coordinator that a broker has failed."""
        self._selector.unregister(broker.exit_watch)
        try:
            broker.check()
        except TrialFailedError as failed:
            self._tell(trial, "broker", number=number, code=failed.code, what=failed.what, remedy=failed.remedy)

    def _relay(self, trial: AgentTrial, number: int, node: LocalNode) -> None:
        """Forward a node's new messages to the coordinator, and report when the node exits."""
        ended = node.has_ended()
        try:
            for message in node.read_messages():
                self._tell(trial, "from", node=number, message=message)
        except TrialFailedError as garbage:
            self._tell(trial, "garbage", node=number, what=garbage.what, remedy=garbage.remedy)
        for source in node.finished_sources:
            with suppress(KeyError):
                self._selector.unregister(source)
        if ended and number not in trial.ended:
            trial.ended.add(number)
            told = {"ending": node.ending(), "exit_code": node.exit_code(), "tail": node.tail()}
            self._tell(trial, "ended", node=number, **told)

    def close(self) -> None:
        """Stop all processes that the agent has started."""
        self._requests.close()
        self._selector.close()
        if self._parent is not None:
            os.close(self._parent)


def stdio_channel() -> LineChannel:
    """Return a channel over stdin and stdout. Whatever libraries write to stdout afterwards is redirected to stderr, so
    that it does not mix with messages."""
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return LineChannel(reading, writing)
