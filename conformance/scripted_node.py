"""A node that opens link ends and sends frames on command, and reports the frames that it received."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE_S = 20
"""How long a node may take to close its link ends and exit."""


class NodeError(Exception):
    """A node answered a command with an error."""


class NodeDiedError(Exception):
    """A node exited before it answered a command. The class is not a subclass of `NodeError`, because a test may expect
    a `NodeError`."""


@dataclass
class ScriptedNode:
    """A process with an open adapter. `close` works in any state."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    lines: Any
    log: Path
    before_end: Callable[[int], None]
    """Called with the process id before the process exits."""
    is_killed: bool = False
    is_stuck: bool = False
    """Whether the process had to be killed because it did not exit after its channel was closed."""
    link_values: dict[str, Any] = field(default_factory=dict)
    """The default `wait`, `payload` and `frame_bytes` of links."""
    ends: list[str] = field(default_factory=list)
    """The names of the open link ends."""

    def execute(self, **command: Any) -> Any:
        """Send the command `do` and return its result."""
        self.begin(**command)
        return self.finish()

    def begin(self, **command: Any) -> None:
        """Send a command without waiting for its result, so that another node can act concurrently."""
        with contextlib.suppress(ConnectionError):
            self.channel.sendall(json.dumps(command).encode() + b"\n")

    def finish(self) -> Any:
        """Wait for the result of the last command, and return it.

        Raises NodeError if the node reports an error, and NodeDiedError if the node exits.
        """
        try:
            line = self.lines.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise NodeDiedError(f"the node died; its log says: {self.log.read_text(errors='replace')[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise NodeError(f"{answer['error']} ({answer['remedy']})")
        return answer["ok"]

    def open(self, end: str, name: str, link: dict[str, Any]) -> dict[str, Any]:
        """Open a link end. Return the link with the address at which the other link ends can connect."""
        address = self.execute(do="open", end=end, name=name, link={**self.link_values, **link})["address"]
        self.ends.append(name)
        return {**link, "address": address or link.get("address", "")}

    def close_end(self, name: str) -> None:
        """Close a link end without stopping the node."""
        self.ends.remove(name)
        self.execute(do="close", name=name)

    def close_ends(self) -> None:
        """Close all link ends in reverse order, so that the node is ready for the next test."""
        for name in reversed(self.ends.copy()):
            self.close_end(name)

    def send(
        self, name: str, seq: int, count: int, payload_bytes: int, within_ms: int = 5000, parts: bool = False
    ) -> Any:
        """Send `count` frames, numbered from `seq`. Return the number of `accepted` frames and of `busy` results."""
        self.begin_sending(name, seq, count, payload_bytes, within_ms, parts)
        return self.finish()

    def begin_sending(
        self, name: str, seq: int, count: int, payload_bytes: int, within_ms: int = 5000, parts: bool = False
    ) -> None:
        """Send frames like `send`, without waiting for the result."""
        frames = {"seq": seq, "count": count, "payload_bytes": payload_bytes, "within_ms": within_ms, "parts": parts}
        self.begin(do="send", name=name, frames=frames)

    def receive(self, name: str, count: int, within_ms: int = 10_000) -> list[dict[str, Any]]:
        """Wait at most `within_ms` for `count` frames, and return a summary of each frame."""
        return list(self.execute(do="receive", name=name, count=count, within_ms=within_ms)["frames"])

    def kill(self) -> None:
        """Kill the process to simulate a crash."""
        self.is_killed = True
        self.before_end(self.process.pid)
        self.process.kill()
        self.process.wait()

    def hang_up(self) -> None:
        """Close the channel, which makes the process exit."""
        if self.lines.closed:
            return
        self.before_end(self.process.pid)
        self.lines.close()
        self.channel.close()

    def close(self) -> None:
        """Stop the process, or kill the process after a timeout."""
        self.hang_up()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.is_stuck = True
            self.kill()
