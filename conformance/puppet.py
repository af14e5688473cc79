"""A node as a puppet: the suite tells it which ends to open and which frames to move, and hears what it saw."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.remains import Watch
from hopmeter.launch.daemon import Daemon, Ground
from hopmeter.launch.ground import remove_leftovers
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import environment, node_command
from hopmeter.scenario import amounts

PATIENCE_S = 60


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
        return {**link, "address": address or link.get("address", "")}

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

    def close(self) -> None:
        """Ends the process through its channel; one that does not end is killed."""
        self.look(self.process.pid)
        self.lines.close()
        self.channel.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


def _patient(manifest: Manifest) -> dict[str, str]:
    """Settings by which a sender waits where it would drop by default, when a machine is too busy to take a frame: what
    arrives is asked here, and loss is measured elsewhere."""
    drops = (name for name, each in manifest.settings.items() if each.default == "drop")
    return {name: "block" for name in drops if "block" in (manifest.settings[name].choices or ())}


class Theatre:
    """The place where the puppets of one test play: a private folder, a run id, and certain closing."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hmc"))
        self.run = secrets.token_hex(8)
        self.puppets: list[Puppet] = []
        self._links = 0
        self._daemon: Daemon | None = None
        self._leftovers: set[str] = set()
        self._watch = Watch(self.run, self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        crashed = any(puppet.is_killed for puppet in self.puppets)
        self.end()
        remains = [] if crashed else self._watch.remains()
        remove_leftovers(self._leftovers, self.run)
        remains = self._watch.remains() if crashed else remains
        shutil.rmtree(self.folder, ignore_errors=True)
        assert error is not None or not remains, f"left behind, outside the test's folder: {remains}"

    def end(self) -> None:
        """Ends all puppets, and the transport's daemon."""
        for puppet in reversed(self.puppets):
            puppet.close()
        self.puppets.clear()
        if self._daemon is not None:
            self._watch.look(self._daemon.pid)
            self._daemon.close()
            self._daemon = None

    def said(self) -> list[tuple[str, str]]:
        """The last lines of every log there is, with its name."""
        logs = [path for path in sorted(self.folder.glob("*log*")) if path.is_file() and path.stat().st_size]
        return [(f"what {log.name} says", log.read_text(errors="replace")[-3000:]) for log in logs]

    def link(self, receivers: int = 1) -> dict[str, Any]:
        """A link with a name of its own."""
        self._links += 1
        return {"name": f"hm_{self.run}_l{self._links}", "receivers": receivers}

    def puppet(
        self,
        manifest: Manifest,
        language: str,
        wait: str,
        frame_bytes: int = 64 + (1 << 20),
        payload: str = "bytes:0",
        patient: bool = True,
        **given: Any,
    ) -> Puppet:
        """Starts a node of the transport in a language and opens its adapter; `payload` is what frames are said to
        carry, `given` are settings. A `patient` one waits where the default is to drop."""
        self._leftovers.update(manifest.leftovers)
        settings = manifest.settled({**(_patient(manifest) if patient else {}), **given})
        daemon = self._served(manifest, settings)
        puppet = self._start(manifest, language, daemon.environment if daemon else {})
        self.puppets.append(puppet)
        opening: dict[str, Any] = {"run": self.run, "directory": str(self.folder), "wait": wait, "settings": settings}
        opening["payload"] = amounts.payload(payload)
        puppet.tell(**opening, frame_bytes=frame_bytes, daemon=daemon.address if daemon else "")
        return puppet

    def _served(self, manifest: Manifest, settings: dict[str, Any]) -> Daemon | None:
        """The transport's daemon, one for all puppets of the test."""
        if manifest.daemon is not None and self._daemon is None:
            ground = Ground(self.run, self.folder / "daemon", settings, self.folder / "daemon.log")
            self._daemon = Daemon(manifest.daemon, ground).__enter__()
        return self._daemon

    def _start(self, manifest: Manifest, language: str, given: Mapping[str, str]) -> Puppet:
        command = node_command(manifest, language)
        assert command is not None, f"{manifest.name} ({language}) is not built: run `hopmeter build {manifest.name}`"
        adapter = ["--adapter", str(manifest.folder / "python")] if language == "python" else []
        ours, theirs = socket.socketpair()
        log = self.folder / f"log{len(self.puppets)}"
        with log.open("wb") as out, theirs:
            arguments = [*command, "--puppet", "--control-fd", str(theirs.fileno()), *adapter]
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                pass_fds=[theirs.fileno()],
                env={**environment(), **given},
            )
        ours.settimeout(PATIENCE_S)
        return Puppet(process, ours, ours.makefile("rb"), log, self._watch.look)
