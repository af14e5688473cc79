"""Start nodes that tests share, stop all nodes at the end, and check that no file or process remains."""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections import defaultdict
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.credentials import ensure_credentials
from conformance.leak_watch import LeakWatch
from conformance.scripted_node import ScriptedNode
from conformance.shared_broker import SharedBroker
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import environment, node_command, node_variables
from hopmeter.model import units
from hopmeter.system.open_files import OpenFiles, remove_unused
from hopmeter.system.scratch_dir import remove_leftovers
from tests.hosts.network import Host

PATIENCE_S = 60


def _blocking_settings(manifest: Manifest) -> dict[str, str]:
    """Return the settings that make a sender wait instead of dropping frames, because the conformance tests check the
    content of every frame."""
    drops = (name for name, each in manifest.settings.items() if each.default == "drop")
    return {name: "block" for name in drops if "block" in (manifest.settings[name].choices or ())}


class NodePool:
    """The nodes of one transport that tests share, with a private folder and a run id.

    A test gets an idle node with the requested settings, or a new node if no such node is idle.
    """

    def __init__(self, broker: SharedBroker) -> None:
        self._broker = broker
        self.folder = Path(tempfile.mkdtemp(prefix="hmc"))
        self.run = secrets.token_hex(8)
        self.nodes: list[ScriptedNode] = []
        """The nodes that the current test uses."""
        self._idle: defaultdict[str, list[ScriptedNode]] = defaultdict(list)
        self._openings: dict[int, str] = {}
        """The adapter settings of each process, used as its reuse key."""
        self._links, self._logs = count(1), count()
        self._crashed = False
        self._can_grow = True
        """Whether further processes can join the running nodes."""
        self.stuck: list[str] = []
        """The logs of nodes that had to be killed."""
        self._leftovers: set[str] = set()
        self._open_files: dict[str, OpenFiles] = {}
        """The leftover files of killed nodes, by transport."""
        self.watch = LeakWatch(self.run, self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        leaks = [] if self._crashed else self.watch.leaks()
        remove_leftovers(self._leftovers, self.run)
        for open_files in self._open_files.values():
            remove_unused(open_files.files)
        leaks = self.watch.leaks() if self._crashed else leaks
        shutil.rmtree(self.folder, ignore_errors=True)
        assert error is not None or not self.stuck, f"nodes did not end after their channel was closed: {self.stuck}"
        assert error is not None or not leaks, f"left outside the test's folder: {leaks}"

    def end(self) -> None:
        """Stop all nodes."""
        nodes = [*reversed(self.nodes), *(each for idle in self._idle.values() for each in idle)]
        self._crashed |= any(node.is_killed for node in nodes)
        for step in (ScriptedNode.hang_up, ScriptedNode.close):  # in two steps, so that all nodes stop concurrently
            for node in nodes:
                step(node)
        self.stuck += [node.log.name for node in nodes if node.is_stuck]
        self._crashed |= bool(self.stuck)
        self.nodes.clear()
        self._idle.clear()

    def release(self) -> None:
        """Close the test's link ends so that its nodes are idle, and remove killed nodes from the pool. If no process
        can join these nodes later, stop them, because the next test may need more nodes."""
        if not self._can_grow:
            self.end()
        for node in reversed(self.nodes):
            if not node.is_killed:
                node.close_ends()
        for node in self.nodes:
            if node.is_killed:
                self._crashed = True
                node.close()
            elif node.process.pid not in self._openings:  # its adapter could not be opened
                node.hang_up()
                node.close()
            else:
                self._idle[self._openings[node.process.pid]].append(node)
        self.nodes.clear()

    def log_tails(self) -> list[tuple[str, str]]:
        """Return the last lines of every log, each with a title."""
        found = [*sorted(self.folder.glob("*log*")), *([self._broker.log] if self._broker.log else [])]
        logs = [path for path in found if path.is_file() and path.stat().st_size]
        return [(f"end of {log.name}", log.read_text(errors="replace")[-3000:]) for log in logs]

    def link(self, receivers: int = 1) -> dict[str, Any]:
        """Return a link with a new name."""
        return {"name": f"hm_{self.run}_l{next(self._links)}", "receivers": receivers}

    def node(
        self,
        manifest: Manifest,
        language: str,
        wait: str,
        frame_bytes: int = 64 + (1 << 20),
        payload: str = "bytes:0",
        blocking: bool = True,
        host: Host | None = None,
        keys: str = "",
        **given: Any,
    ) -> ScriptedNode:
        """Return a node of the transport with an open adapter.

        The node's links use `wait`, `payload` and frames of at most `frame_bytes`, unless a link overrides them.
        `given` contains the adapter's settings. A `blocking` node waits for its receivers, even if its transport drops
        frames by default. Without a `host`, the node runs on this machine. A node trusts only peers that were opened
        with the same `keys`, which is the name of a set of keys.
        """
        self._leftovers.update(manifest.leftovers)
        self._can_grow &= manifest.late_processes
        if manifest.name not in self._open_files:
            self._open_files[manifest.name] = OpenFiles(manifest.open_leftovers)
        settings = manifest.resolve_settings({**(_blocking_settings(manifest) if blocking else {}), **given})
        manifest = manifest.for_settings(settings)
        self._ensure_broker(manifest, settings)
        at = {"bind": host.address, "advertised": host.address} if host else {}
        folder = self.folder / keys
        opening = {"settings": settings, "largest_frame_bytes": frame_bytes, "directory": str(folder), **at}
        known = json.dumps([manifest.name, language, opening], sort_keys=True, default=str)
        idle = self._idle[known]
        node = idle.pop(0) if idle else self._start(manifest, language, host)
        self.nodes.append(node)
        node.link_values = {"wait": wait, "payload": units.payload(payload), "frame_bytes": frame_bytes}
        if node.process.pid not in self._openings:
            opening["daemon"] = self._broker.process.address if self._broker.process and manifest.broker else ""
            ensure_credentials(folder, settings, keys)
            node.execute(run=self.run, **opening)
            self._openings[node.process.pid] = known
        return node

    def _ensure_broker(self, manifest: Manifest, settings: dict[str, Any]) -> None:
        """Start the transport's broker for the first node of a test; the test's other nodes use the same broker."""
        if not self.nodes and not self._broker.has(manifest, settings):
            self.end()
            self._broker.start(manifest, settings)
        if self._broker.log:
            self.watch.permit(self._broker.log.parent)

    def _start(self, manifest: Manifest, language: str, host: Host | None) -> ScriptedNode:
        command = node_command(manifest, language)
        assert command is not None, (
            f"{manifest.name} ({language}) is not built: run `hopmeter build {manifest.reference}`"
        )
        adapter = ["--adapter", str(manifest.folder / "python")] if language == "python" else []
        given = {**node_variables(manifest, language), **self._environment(manifest, host)}
        ours, theirs = socket.socketpair()
        log = self.folder / f"log{next(self._logs)}"
        with log.open("wb") as out, theirs:
            arguments = [
                *(host.before if host else ()),
                *command,
                "--puppet",
                "--control-fd",
                str(theirs.fileno()),
                *adapter,
            ]
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                pass_fds=[theirs.fileno()],
                env={**environment(), **given},
            )
        ours.settimeout(PATIENCE_S)
        return ScriptedNode(process, ours, ours.makefile("rb"), log, self._record)

    def _record(self, pid: int) -> None:
        """Record the open files of a node; must be called before the node exits."""
        self.watch.record(pid)
        for open_files in self._open_files.values():
            open_files.note(pid)

    def _environment(self, manifest: Manifest, host: Host | None) -> dict[str, str]:
        """Return the environment variables by which a node finds the broker."""
        broker = self._broker.process
        if broker is None or manifest.broker is None:
            return {}
        if host is None:
            return broker.environment
        here = {"here": host.address, "directory": str(self.folder / host.name)}
        return manifest.broker.environment_on(broker.environment, here)
