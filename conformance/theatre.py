"""Starts the nodes of tests, lends them to one test after another, and makes sure that they end and leave nothing."""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.puppet import Puppet
from conformance.remains import Watch
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import environment, node_command
from hopmeter.model import units
from hopmeter.runtime.daemon import BrokerContext, Daemon
from hopmeter.system.scratch_dir import remove_leftovers

PATIENCE_S = 60


def _patient(manifest: Manifest) -> dict[str, str]:
    """Settings by which a sender waits where it would drop by default, when a machine is too busy to take a frame: what
    arrives is asked here, and loss is measured elsewhere."""
    drops = (name for name, each in manifest.settings.items() if each.default == "drop")
    return {name: "block" for name in drops if "block" in (manifest.settings[name].choices or ())}


class Theatre:
    """The nodes of one transport that tests share: a private folder, a run id, one daemon, and certain closing.

    A test that asks for a node gets an idle one that was opened in the same way, or else a new one."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hmc"))
        self.run = secrets.token_hex(8)
        self.puppets: list[Puppet] = []
        """The nodes of this test."""
        self._idle: defaultdict[str, list[Puppet]] = defaultdict(list)
        self._openings: dict[int, str] = {}
        """By process, how its adapter was opened."""
        self._links, self._logs = count(1), count()
        self._crashed = False
        self._daemon: Daemon | None = None
        self._daemon_settings: Mapping[str, Any] = {}
        self._leftovers: set[str] = set()
        self._watch = Watch(self.run, self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        remains = [] if self._crashed else self._watch.remains()
        remove_leftovers(self._leftovers, self.run)
        remains = self._watch.remains() if self._crashed else remains
        shutil.rmtree(self.folder, ignore_errors=True)
        assert error is not None or not remains, f"left behind, outside the test's folder: {remains}"

    def end(self) -> None:
        """Ends all nodes, and the transport's daemon."""
        puppets = [*reversed(self.puppets), *(each for idle in self._idle.values() for each in idle)]
        self._crashed |= any(puppet.is_killed for puppet in puppets)
        for step in (Puppet.hang_up, Puppet.close):  # so that all of them end at the same time
            for puppet in puppets:
                step(puppet)
        self.puppets.clear()
        self._idle.clear()
        if self._daemon is not None:
            self._watch.look(self._daemon.pid)
            self._daemon.close()
            self._daemon = None

    def rest(self) -> None:
        """Closes what a test has opened, and keeps its nodes for the next one. Those that were killed are gone."""
        for puppet in reversed(self.puppets):
            if not puppet.is_killed:
                puppet.close_ends()
        for puppet in self.puppets:
            if puppet.is_killed:
                self._crashed = True
                puppet.close()
            else:
                self._idle[self._openings[puppet.process.pid]].append(puppet)
        self.puppets.clear()

    def said(self) -> list[tuple[str, str]]:
        """The last lines of every log there is, with its name."""
        logs = [path for path in sorted(self.folder.glob("*log*")) if path.is_file() and path.stat().st_size]
        return [(f"what {log.name} says", log.read_text(errors="replace")[-3000:]) for log in logs]

    def link(self, receivers: int = 1) -> dict[str, Any]:
        """A link with a name of its own."""
        return {"name": f"hm_{self.run}_l{next(self._links)}", "receivers": receivers}

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
        """A node of the transport in a language with its adapter open; `payload` is what frames are said to carry,
        `given` are settings. A `patient` one waits where the default is to drop."""
        self._leftovers.update(manifest.leftovers)
        settings = manifest.settled({**(_patient(manifest) if patient else {}), **given})
        self._serve(manifest, settings)
        opening = {"wait": wait, "settings": settings, "payload": units.payload(payload), "frame_bytes": frame_bytes}
        known = json.dumps([manifest.name, language, opening], sort_keys=True, default=str)
        idle = self._idle[known]
        puppet = idle.pop(0) if idle else self._started(manifest, language)
        self.puppets.append(puppet)
        if puppet.process.pid not in self._openings:
            address = self._daemon.address if self._daemon else ""
            puppet.tell(run=self.run, directory=str(self.folder), **opening, daemon=address)
            self._openings[puppet.process.pid] = known
        return puppet

    def _serve(self, manifest: Manifest, settings: dict[str, Any]) -> None:
        """Starts the transport's daemon, one for all nodes of a test; other settings in another test want another."""
        if manifest.daemon is None:
            return
        if not self.puppets and settings != self._daemon_settings:
            self.end()
        if self._daemon is None:
            ground = BrokerContext(self.run, self.folder / "daemon", settings, self.folder / "daemon.log")
            self._daemon = Daemon(manifest.daemon, ground).__enter__()
            self._daemon_settings = settings

    def _started(self, manifest: Manifest, language: str) -> Puppet:
        command = node_command(manifest, language)
        assert command is not None, f"{manifest.name} ({language}) is not built: run `hopmeter build {manifest.name}`"
        adapter = ["--adapter", str(manifest.folder / "python")] if language == "python" else []
        given = self._daemon.environment if self._daemon else {}
        ours, theirs = socket.socketpair()
        log = self.folder / f"log{next(self._logs)}"
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
