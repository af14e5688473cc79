"""The broker that the conformance tests of a worker share: a broker may need seconds of CPU time to start, and most
settings of a transport do not change its broker."""

from __future__ import annotations

import contextlib
import fcntl
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.broker import HostBroker
from conformance.credentials import ensure_credentials
from conformance.leak_watch import LeakWatch
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.broker import fill
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess
from tests.hosts.network import Host

RunningBroker = BrokerProcess | HostBroker


class SharedBroker:
    """At most one running broker, which is replaced when a test needs another one."""

    def __init__(self, host: Host | None = None) -> None:
        self._host = host
        self._configuration = ""
        self._running = contextlib.ExitStack()
        self.process: RunningBroker | None = None
        self.log: Path | None = None

    def has(self, manifest: Manifest, settings: Mapping[str, Any]) -> bool:
        """Return whether the transport needs no broker, or the running one."""
        return manifest.broker is None or self._configuration == configuration(manifest, settings)

    def start(self, manifest: Manifest, settings: Mapping[str, Any]) -> None:
        """Stop the running broker and start the transport's own, unless the two are the same."""
        if self.has(manifest, settings):
            return
        self.close()
        self.process, self.log = self._running.enter_context(_run(manifest, settings, self._host))
        self._configuration = configuration(manifest, settings)

    def close(self) -> None:
        """Stop the broker; an AssertionError if it leaves a file or a process behind."""
        self.process, self.log, self._configuration = None, None, ""
        self._running.close()


def configuration(manifest: Manifest, settings: Mapping[str, Any]) -> str:
    """Return a transport's name and its broker table with all settings filled in; empty without a broker."""
    if manifest.broker is None:
        return ""
    words = {name: str(value) for name, value in settings.items()}
    return f"{manifest.reference} {fill(manifest.broker.model_dump_json(), words)}"


@contextlib.contextmanager
def turn(manifest: Manifest) -> Iterator[None]:
    """Wait until no other test uses the transport's broker, if a machine can run only one such broker."""
    if manifest.broker is None or not manifest.broker.single:
        yield
        return
    with Path(tempfile.gettempdir(), f"hopmeter-{manifest.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _run(manifest: Manifest, settings: Mapping[str, Any], host: Host | None) -> Iterator[tuple[RunningBroker, Path]]:
    """Run a broker in a folder of its own, and check that it leaves nothing outside the folder."""
    assert manifest.broker is not None
    run, folder = secrets.token_hex(8), Path(tempfile.mkdtemp(prefix="hmc"))
    watch = LeakWatch(run, folder)
    context = BrokerContext(run, folder / "broker", settings, folder / "broker.log")
    made = HostBroker(manifest, context, host) if host else BrokerProcess(manifest.broker, context)
    ensure_credentials(folder, settings)
    try:
        with turn(manifest), contextlib.closing(made.__enter__()) as broker:
            yield broker, context.log
            watch.record(broker.pid)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    leaks = watch.leaks()
    assert not leaks, f"the broker left outside its folder: {leaks}"
