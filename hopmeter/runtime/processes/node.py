"""A node: the process, the launcher's side of the control channel, and the log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.manifest.readiness import environment
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.system.processes import end_with_launcher, has_ended, kill_group
from hopmeter.system.untrusted_json import parse

LONGEST_LINE = 1 << 20
TAIL_LINES, TAIL_CHARACTERS = 3, 400
WORDS = ("bound", "ready", "arrived", "probed", "quiet", "done", "failed")
STARTING = ("bound", "ready", "quiet")
"""The messages of a starting node, before which the node may open files. A node sends none of these messages during the
measurement."""


@dataclass(frozen=True)
class Start:
    """The values needed to start a node."""

    name: str
    """The node's name in messages to the user, such as `node 1 (zeromq python, sink)`."""
    language: str
    command: Sequence[str]
    spec: dict[str, Any]
    spec_file: Path
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables in addition to those of all nodes."""
    participant: str = ""
    """The name of the node's participant in a workload."""
    carrier: str = ""
    """The node's transport, with the settings that differ from their defaults."""
    codecs: tuple[str, ...] = ()
    """The codecs of the objects that the node carries."""


class Node(ABC):
    """A started node, on this machine or another host. Calling `close` always ends the node."""

    has_news = False
    """Whether the node has unread messages that no descriptor reports."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.name, self.language, self.log = start.name, start.language, start.log
        self.participant, self.carrier = start.participant, start.carrier
        self.roles: list[str] = [endpoint["role"] for endpoint in start.spec["endpoints"]]
        self.host = ""
        """The name of the node's host, or an empty string if the run uses only this machine."""
        self.spawned_ns: int | None = None
        """When the process was started, on CLOCK_MONOTONIC, or None if the node runs on another host."""
        self.said: dict[str, dict[str, Any]] = {}
        """The latest message of each kind from the node."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Any, ...]:
        """Return the descriptors that become readable when the node sends a message or exits. Several nodes may share a
        descriptor."""

    @property
    @abstractmethod
    def finished_sources(self) -> tuple[Any, ...]:
        """Return the descriptors that will never report another event of the node."""

    @abstractmethod
    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the node. If the node has exited, nothing is sent and no error is raised, because other
        methods report the exit."""

    @abstractmethod
    def read_messages(self) -> Iterator[dict[str, Any]]:
        """Yield the node's new messages. Raises TrialFailedError if a message is malformed."""

    @abstractmethod
    def has_ended(self) -> bool:
        """Return whether the node's process has exited."""

    @abstractmethod
    def ending(self) -> str:
        """Return a description of how the process exited, with its exit code or signal."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """Return the process's exit code, or None if the process was killed or is still running."""

    @abstractmethod
    def tail(self) -> str:
        """Return the end of the node's log as one line, or an empty string if the log is empty."""

    @abstractmethod
    def close(self) -> None:
        """Kill the node's process and its children, and reap the process."""

    def check_message(self, message: Any) -> dict[str, Any]:
        """Check a message that the node sent, store the message in `said`, and return it. Raises TrialFailedError if
        the message is malformed."""
        word = message.get("say") if isinstance(message, dict) else None
        if not isinstance(word, str) or word not in WORDS:
            raise self.garbage(json.dumps(message).encode())
        self.said[word] = message
        return dict(message)

    def garbage(self, line: bytes) -> TrialFailedError:
        """Return the error for an output line that is not a valid node message."""
        shown = line[:60].decode(errors="replace")
        return TrialFailedError(
            "E-NODE-GARBAGE",
            f"{self.name} sent an unknown message: {shown!r}",
            "build the nodes again with this version: hopmeter build",
            crash=True,
        )


class LocalNode(Node):
    """A node on this machine: a child process with a socket pair.

    The node calls `note_open_files` with the process id after each startup step, and before `close` kills the process.
    """

    def __init__(self, start: Start, note_open_files: Callable[[int], None]) -> None:
        super().__init__(start)
        self._note_open_files = note_open_files
        self._unread = b""
        self._is_over = self._is_closed = False
        self.hung_up = False
        """Whether the node has closed its end of the control channel."""
        self.control, theirs = socket.socketpair()
        with theirs, start.log.open("wb") as log:
            start.spec_file.write_text(json.dumps(start.spec))
            self.spawned_ns = time.monotonic_ns()
            try:
                self._process = self._spawn(start, theirs, log.fileno())
            except OSError as cause:
                self.control.close()
                raise TrialFailedError(
                    "E-NODE-MISSING",
                    f"{self.name} does not start: {cause.strerror}",
                    f"hopmeter build {start.spec['transport']}",
                ) from cause
        self.control.setblocking(False)
        self.pid = self._process.pid
        self.exit_watch = os.pidfd_open(self.pid)
        """A descriptor that becomes readable when the process has exited."""

    @staticmethod
    def _spawn(start: Start, control: socket.socket, log: int) -> subprocess.Popen[bytes]:
        fd = control.fileno()
        return subprocess.Popen(
            **end_with_launcher([*start.command, "--spec", str(start.spec_file), "--control-fd", str(fd)]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[fd],
            cwd=start.spec_file.parent,
            env={**environment(), **start.environment},
            # The node has its own process group, so that Ctrl-C reaches only the launcher and the node's children end
            # with the node.
            start_new_session=True,
            # The node inherits Python's setting to ignore SIGPIPE and SIGXFSZ. With these signals ignored, a broken
            # pipe or an exceeded file-size limit is an error that the node can report.
            restore_signals=False,
        )

    @property
    def sources(self) -> tuple[Any, ...]:
        """Return the node's control channel and process descriptor."""
        return self.control, self.exit_watch

    @property
    def finished_sources(self) -> tuple[Any, ...]:
        """Return the descriptors that have nothing more to report, but stay readable and wake a selector forever. The
        process descriptor is included only after `has_ended` has found that the process has exited."""
        over = ((self.control, self.hung_up), (self.exit_watch, self._is_over))
        return tuple(source for source, is_over in over if is_over)

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the node."""
        line = json.dumps(message).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.control.setblocking(True)
            try:
                self.control.sendall(line)
            finally:
                self.control.setblocking(False)

    def read_messages(self) -> Iterator[dict[str, Any]]:
        """Yield the node's new messages. Raises TrialFailedError if a message is malformed."""
        while data := self._receive():
            self._unread += data
            *lines, self._unread = self._unread.split(b"\n")
            for line in lines:
                yield self._parse_message(line)
            if len(self._unread) > LONGEST_LINE:
                raise self.garbage(self._unread)

    def _receive(self) -> bytes:
        try:
            data = self.control.recv(1 << 16)
        except BlockingIOError:
            return b""
        except ConnectionResetError:
            data = b""
        self.hung_up = not data
        return data

    def _parse_message(self, line: bytes) -> dict[str, Any]:
        try:
            message = parse(line)
        except ValueError as cause:
            raise self.garbage(line) from cause
        checked = self.check_message(message)
        if checked["say"] in STARTING:
            self._note_open_files(self.pid)
        return checked

    def has_ended(self) -> bool:
        """Return whether the node's process has exited, without reaping the process."""
        self._is_over = self._is_over or has_ended(self.pid)
        return self._is_over

    def ending(self) -> str:
        """Return a description of how the process exited, with its exit code or signal."""
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return "is still running"
        if seen.si_code == os.CLD_EXITED:
            return f"ended with exit code {seen.si_status}"
        return f"was killed by {_signal_name(seen.si_status)}"

    def exit_code(self) -> int | None:
        """Return the process's exit code, or None if the process was killed or is still running."""
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return seen.si_status if seen is not None and seen.si_code == os.CLD_EXITED else None

    def tail(self) -> str:
        """Return the end of the node's log as one line, or an empty string if the log is empty."""
        try:
            return tail_of(self.log.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""

    def close(self) -> None:
        """Kill the node's process and its children, and reap the process. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        # At this point, the process has not been reaped, so its process id and process group are still reserved.
        self._note_open_files(self.pid)
        kill_group(self.pid)
        self._process.wait()
        self.control.close()
        os.close(self.exit_watch)
        with contextlib.suppress(OSError):
            if self.log.stat().st_size == 0:
                self.log.unlink()


def tail_of(log: str) -> str:
    """Return the last lines of a log, joined into one line."""
    lines = [line.strip() for line in log.splitlines()]
    return " | ".join([line for line in lines if line][-TAIL_LINES:])[-TAIL_CHARACTERS:]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
