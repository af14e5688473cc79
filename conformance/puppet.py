"""A node as a puppet: the suite tells it which ends to open and which frames to move, and hears what it saw."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class PuppetError(Exception):
    """What a puppet answered instead of `ok`."""


class NodeDiedError(Exception):
    """A node ended before it answered. No test may take this for an answer, so it is no `PuppetError`."""


@dataclass
class Puppet:
    """One process with one adapter open. Closing it closes everything, whatever state it is in."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    lines: Any
    log: Path
    look: Callable[[int], None]
    """Told its process before that ends."""
    is_killed: bool = False
    ends: list[str] = field(default_factory=list)
    """The names of the ends that are open."""

    def tell(self, **command: Any) -> Any:
        """Gives one command and answers what came of it; `do` names the command."""
        self.begin(**command)
        return self.finish()

    def begin(self, **command: Any) -> None:
        """Gives one command and does not wait, so that another puppet can act meanwhile."""
        with contextlib.suppress(ConnectionError):
            self.channel.sendall(json.dumps(command).encode() + b"\n")

    def finish(self) -> Any:
        """What came of the command that was begun."""
        try:
            line = self.lines.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise NodeDiedError(f"the node died; its log says: {self.log.read_text(errors='replace')[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise PuppetError(f"{answer['error']} ({answer['remedy']})")
        return answer["ok"]

    def open(self, end: str, name: str, link: dict[str, Any]) -> dict[str, Any]:
        """Opens an end; answers the link as the other ends need it, with the address of the end that bound it."""
        address = self.tell(do="open", end=end, name=name, link=link)["address"]
        self.ends.append(name)
        return {**link, "address": address or link.get("address", "")}

    def close_end(self, name: str) -> None:
        """Closes an end; the node stays."""
        self.ends.remove(name)
        self.tell(do="close", name=name)

    def close_ends(self) -> None:
        """Closes all ends, the last one first: the node is then ready for another test."""
        for name in reversed(self.ends.copy()):
            self.close_end(name)

    def send(
        self, name: str, seq: int, count: int, payload_bytes: int, within_ms: int = 5000, parts: bool = False
    ) -> Any:
        """Sends `count` frames from `seq` on; answers `accepted` and `busy`."""
        self.begin_sending(name, seq, count, payload_bytes, within_ms, parts)
        return self.finish()

    def begin_sending(
        self, name: str, seq: int, count: int, payload_bytes: int, within_ms: int = 5000, parts: bool = False
    ) -> None:
        """The same without waiting for the end."""
        frames = {"seq": seq, "count": count, "payload_bytes": payload_bytes, "within_ms": within_ms, "parts": parts}
        self.begin(do="send", name=name, frames=frames)

    def receive(self, name: str, count: int, within_ms: int = 10_000) -> list[dict[str, Any]]:
        """Waits for `count` frames, or until the time is over; answers what was seen of each."""
        return list(self.tell(do="receive", name=name, count=count, within_ms=within_ms)["frames"])

    def kill(self) -> None:
        """Ends the process without a word, as a crash would."""
        self.is_killed = True
        self.look(self.process.pid)
        self.process.kill()
        self.process.wait()

    def hang_up(self) -> None:
        """Tells the process through its channel to end."""
        if self.lines.closed:
            return
        self.look(self.process.pid)
        self.lines.close()
        self.channel.close()

    def close(self) -> None:
        """Ends the process; one that does not end is killed."""
        self.hang_up()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
