"""The launcher's side of a trial's control channels. The launcher sleeps until a node sends a message or exits, or
until a timeout."""

from __future__ import annotations

import select
import selectors
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from hopmeter.messages import split_code
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.host import Broker
from hopmeter.runtime.processes.node import Node
from hopmeter.runtime.signals import Alarm

GRACE_S = 0.3
"""How long, in seconds, to wait for further reports after a failure. The crash that caused a reported error may be
detected later than the error itself."""

NodeMessage = tuple[Node, dict[str, Any]]


class Control:
    """Exchanges messages with the nodes of one trial."""

    def __init__(self, nodes: Sequence[Node], alarm: Alarm, brokers: Sequence[Broker] = ()) -> None:
        self.nodes = list(nodes)
        self._alarm = alarm
        self._brokers = list(brokers)
        self._selector = selectors.DefaultSelector()
        self._selector.register(alarm.ear, selectors.EVENT_READ)
        watching: dict[Any, list[Node]] = {broker.exit_watch: [] for broker in brokers}
        for node in nodes:
            for source in node.sources:
                watching.setdefault(source, []).append(node)
        for source, watchers in watching.items():
            self._selector.register(source, selectors.EVENT_READ, watchers)

    def close(self) -> None:
        """Stop watching the nodes. The nodes stay open: the caller started the nodes, and must close them."""
        self._selector.close()

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to all nodes."""
        for node in self.nodes:
            node.say(message)

    def expect(self, word: str, patience_s: float, tick: Callable[[], None] | None = None) -> None:
        """Wait until each node has sent the message `word`. During the wait, call `tick` once a second."""
        self.receive_until(lambda: all(word in node.said for node in self.nodes), patience_s, word, tick=tick)

    def receive_until(
        self,
        enough: Callable[[], bool],
        patience_s: float,
        awaited: str,
        on_message: Callable[[Node, dict[str, Any]], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Receive messages until `enough()` is true, and pass each message to `on_message`. Raises TrialFailedError on
        a timeout, or if a node fails."""
        deadline = time.monotonic() + patience_s
        next_tick = time.monotonic() + 1.0
        while not enough():
            now = time.monotonic()
            if now >= deadline:
                raise self._too_late(awaited, patience_s)
            if tick is not None and now >= next_tick:
                tick()
                next_tick += 1.0
            until = deadline if tick is None else min(deadline, next_tick)
            for node, message in self._receive(until - now):
                if on_message is not None:
                    on_message(node, message)

    def watch_until(self, until_ns: int) -> None:
        """Receive messages until a time on CLOCK_MONOTONIC. Raises TrialFailedError if a node or a broker fails."""
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            for _ in self._receive(left_ns / 1e9):
                pass

    def forget_node(self, node: Node) -> None:
        """Stop watching a node of this host, which then may end without an error."""
        self.nodes.remove(node)
        for source in node.sources:
            if source in self._selector.get_map():
                self._selector.unregister(source)

    def watch_node(self, node: Node) -> None:
        """Watch a node of this host that has been started again."""
        self.nodes.append(node)
        for source in node.sources:
            self._selector.register(source, selectors.EVENT_READ, [node])

    def forget_broker(self, broker: Broker) -> None:
        """Stop watching a broker, which then may end without an error."""
        self._brokers.remove(broker)
        self._selector.unregister(broker.exit_watch)

    def watch_broker(self, broker: Broker) -> None:
        """Watch a broker that has been started again."""
        self._brokers.append(broker)
        self._selector.register(broker.exit_watch, selectors.EVENT_READ, [])

    def wait_for_exits(self, patience_s: float) -> None:
        """Wait until all nodes have closed their endpoints and exited cleanly."""
        deadline = time.monotonic() + patience_s
        while left := [node for node in self.nodes if not node.has_ended()]:
            patience = deadline - time.monotonic()
            if patience <= 0:
                raise TrialFailedError(
                    "E-NODE-STAYED",
                    f"{left[0].name} did not end within {patience_s:.0f} s after `end`{_log_tail(left[0])}",
                    "correct its adapter: it must close all resources when its endpoints close",
                )
            for node in self._ready(patience):
                self._check_last_messages(node)
        for node in self.nodes:
            if node.exit_code() != 0:
                raise TrialFailedError(
                    "E-NODE-CLOSING", f"{node.name} {node.ending()} while closing{_log_tail(node)}", _read(node)
                )

    def end_early(self, patience_s: float) -> None:
        """Request that all nodes end early, and wait at most `patience_s` seconds. Nodes that end within `patience_s`
        write their samples."""
        for node in self.nodes:
            with suppress(TrialFailedError):
                node.say({"say": "end"})
        await_exits(self.nodes, patience_s)

    def _check_last_messages(self, node: Node) -> None:
        for message in node.read_messages():
            if message["say"] == "failed":
                raise _node_error(node, message)
        self._forget(node)

    def _forget(self, node: Node) -> None:
        """Stop watching a node that has exited. Otherwise, the channel of an exited node stays readable and wakes the
        selector forever."""
        for source in node.finished_sources:
            if source in self._selector.get_map() and node in (watchers := self._selector.get_key(source).data):
                watchers.remove(node)
                if not watchers:
                    self._selector.unregister(source)

    def _receive(self, timeout_s: float) -> Iterator[NodeMessage]:
        """Yield the messages that arrive before the timeout. If nodes fail, raise the TrialFailedError of the first
        failure."""
        ready = self._ready(timeout_s)
        failures: list[TrialFailedError] = []
        for node in ready:
            yield from self._messages_of(node, failures)
        if not failures:
            return
        deadline = time.monotonic() + GRACE_S
        while not any(failure.crash for failure in failures) and (left := deadline - time.monotonic()) > 0:
            for node in self._ready(left):
                for _ in self._messages_of(node, failures):
                    pass
        raise next((failure for failure in failures if failure.crash), failures[0])

    def _ready(self, timeout_s: float) -> list[Node]:
        waits = not any(node.has_news for node in self.nodes)
        events = self._selector.select(max(0.0, timeout_s) if waits else 0)
        self._alarm.check()
        for broker in self._brokers:
            broker.check()
        announced = [node for key, _ in events for node in key.data or ()]
        return list(dict.fromkeys([*announced, *(node for node in self.nodes if node.has_news)]))

    def _messages_of(self, node: Node, failures: list[TrialFailedError]) -> Iterator[NodeMessage]:
        ended = node.has_ended()
        try:
            for message in node.read_messages():
                if message["say"] == "failed":
                    failures.append(_node_error(node, message))
                else:
                    yield node, message
        except TrialFailedError as garbage:
            failures.append(garbage)
        self._forget(node)
        # If a node has reported a failure, its report takes precedence over its exit code.
        if ended and "failed" not in node.said:
            failures.append(
                TrialFailedError(
                    "E-NODE-DIED", f"{node.name} {node.ending()}{_log_tail(node)}", _read(node), crash=True
                )
            )

    def _too_late(self, awaited: str, patience_s: float) -> TrialFailedError:
        if awaited == "probed":
            what = f"not every receiver saw the same probe within {patience_s:.1f} s"
            remedy = "run the transport's conformance tests; usual causes are a firewall or a full queue"
            spoke = next((node for node in self.nodes if node.tail()), None)
            return TrialFailedError("E-NO-PROOF", f"{what}{_said_by(spoke)}", _read(spoke) if spoke else remedy)
        silent = next((node for node in self.nodes if awaited not in node.said), self.nodes[0])
        what = PHASES.get(awaited, f"`{awaited}`")
        return TrialFailedError(
            "E-NODE-SILENT", f"{silent.name} {what} within {patience_s:.1f} s{_log_tail(silent)}", _read(silent)
        )


def await_exits(nodes: Collection[Node], patience_s: float) -> None:
    """Wait at most `patience_s` seconds until nodes that are closing have exited, and discard messages from these
    nodes."""
    deadline = time.monotonic() + patience_s
    while left := [node for node in nodes if not node.has_ended()]:
        sources = {source for node in left for source in node.sources if source not in node.finished_sources}
        if not select.select(list(sources), [], [], max(0.0, deadline - time.monotonic()))[0]:
            return
        for node in left:
            with suppress(TrialFailedError):
                list(node.read_messages())


PHASES = {
    "bound": "did not open its endpoints",
    "ready": "did not connect",
    "quiet": "did not stop probing",
    "done": "did not finish measuring",
}
"""The end of the error text if a node fails to send a message, by message."""


def _node_error(node: Node, message: dict[str, Any]) -> TrialFailedError:
    what, code = split_code(str(message.get("error")))
    return TrialFailedError(code or "E-NODE-FAILED", f"{node.name}: {what}", str(message.get("remedy") or _read(node)))


def _log_tail(node: Node) -> str:
    tail = node.tail()
    return f"; its log ends: {tail}" if tail else ""


def _said_by(node: Node | None) -> str:
    """Return the last lines of a running node's log, which become part of an error text. For example, the log may show
    that the node is still looking for a router."""
    return f"; the log of {node.name} ends: {node.tail()}" if node else ""


def _read(node: Node) -> str:
    return f"read logs/{node.log.name}" if node.tail() else "run it again; if it fails again, correct the adapter"
