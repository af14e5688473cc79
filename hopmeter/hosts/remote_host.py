"""A host that an agent serves: its trials, brokers and background load, as the runtime uses those of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hopmeter.hosts import checks, spec_paths
from hopmeter.hosts.clock import HostClock
from hopmeter.hosts.connection import Connection
from hopmeter.hosts.content_store import PIECE_BYTES, content_hash, decode, pieces
from hopmeter.hosts.remote_node import RemoteNode
from hopmeter.hosts.remote_processes import RemoteBackground, RemoteBroker, names_damage
from hopmeter.manifest import Manifest
from hopmeter.plan.background import Load
from hopmeter.plan.spec import Site
from hopmeter.runtime.daemon import PATIENCE_S as BROKER_S
from hopmeter.runtime.daemon import TRIES
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.host import BrokerOrder, Usage
from hopmeter.runtime.node import Start
from hopmeter.runtime.this_host import LEAD_NS
from hopmeter.store.causes import causes_path
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

LEAST_LEAD_NS = 30_000_000
ROUND_TRIPS = 10
"""How many of the least round trips `go` may take to arrive."""
ENDING_S = 60.0
"""How long an agent may take to end all processes of a trial."""
SAMPLES_S = 300.0
"""How long an agent may take to write the samples of a trial."""
MOST_SAMPLE_BYTES = 64 << 30
LONGEST_LOG = 1 << 20


class RemoteHost:
    """A host behind a connection. Each failure says which host it is about."""

    def __init__(self, connection: Connection, clock: HostClock, round_trip_ns: int, folder: Path) -> None:
        """Use a private folder of this machine for what the host sends."""
        self.connection, self.clock = connection, clock
        self.lead_ns = max(LEAST_LEAD_NS, LEAD_NS + ROUND_TRIPS * round_trip_ns + clock.uncertainty_ns)
        self._folder = folder
        self._sent: dict[tuple[Path, int, int], str] = {}

    @property
    def host_name(self) -> str:
        """Return the name of the host."""
        return self.connection.name

    def trial(self, run: str, manifests: Sequence[Manifest]) -> RemoteTrial:
        """Prepare a trial; its agent hears of it with the first process."""
        return RemoteTrial(self, run, manifests, self._folder / run)

    def start_background(self, load: Load, _log: Path) -> RemoteBackground:
        """Load the host; its errors have the end of its log."""
        loaded = {"cpu_percent": load.cpu_percent, "memory_gb_s": load.memory_gb_s}
        self.connection.ask("start-background", cores=list(load.cores), **loaded)
        return RemoteBackground(self.connection)

    def note_alive(self) -> None:
        """Do nothing: the agent notes what it has started."""

    @names_damage
    def send_file(self, path: Path) -> str:
        """Send a file that the host does not have yet, and return its hash."""
        stat = path.stat()
        key = (path, stat.st_size, stat.st_mtime_ns)
        if key not in self._sent:
            name = content_hash(path)
            if not self.connection.ask("has-file", hash=name)["has"]:
                for piece in pieces(path):
                    self.connection.ask("add-file", hash=name, data=piece, last=False)
                self.connection.ask("add-file", hash=name, data="", last=True)
            self._sent[key] = name
        return self._sent[key]


class RemoteTrial:
    """The part of a trial that runs on a host."""

    folder = spec_paths.TRIAL

    def __init__(self, host: RemoteHost, run: str, manifests: Sequence[Manifest], fetched: Path) -> None:
        self._host, self._run, self._manifests, self._fetched = host, run, manifests, fetched
        self.host_name = host.host_name
        self.sites = [Site(spec_paths.site(number), {}) for number in range(len(manifests))]
        self.nodes: dict[int, RemoteNode] = {}
        self._brokers: dict[int, RemoteBroker] = {}
        self._logs: dict[str, Path] = {}
        self._cpu: list[dict[str, Any]] = []
        self._is_begun = self._is_closed = False

    def _ask(self, do: str, patience_s: float | None = None, **more: Any) -> dict[str, Any]:
        if not self._is_begun:
            self._is_begun = True
            self._host.connection.listen(self._run, self._hear)
            names = [each.name for each in self._manifests]
            self._host.connection.ask("start-trial", trial=self._run, transports=names)
        patience = {} if patience_s is None else {"patience_s": patience_s}
        return self._host.connection.ask(do, **patience, trial=self._run, **more)

    @names_damage
    def start_broker(self, order: BrokerOrder) -> RemoteBroker | None:
        """Start the broker of a transport, if it has one."""
        told = self._manifests[order.number].daemon
        if told is None:
            return None
        settings, core = dict(order.settings), order.core
        answer = self._ask(
            "start-broker",
            2 * TRIES * BROKER_S,
            number=order.number,
            settings=settings,
            core=core,
            address=order.address,
        )
        self._logs[f"broker{order.number}"] = order.log
        environment = checks.texts(answer, "environment")
        if not set(environment) <= set(told.environment):
            raise ValueError("the broker provides other variables than its manifest says")
        broker = RemoteBroker(self._host.connection, checks.text(answer, "address"), environment)
        self._brokers[order.number] = broker
        return broker

    @names_damage
    def start_node(self, start: Start) -> RemoteNode:
        """Start a node."""
        spec, number = spec_paths.send_files(start.spec, self._host.send_file), int(start.spec["node"])
        places = [str(site.directory) for site in self.sites]
        node = self.nodes[number] = RemoteNode(start, self._host.connection, self._run, self._host.clock)
        self._logs[f"node{number}"] = start.log
        answer = self._ask(
            "start-node",
            node=number,
            number=places.index(spec["directory"]),
            name=start.name,
            language=start.language,
            codecs=list(start.codecs),
            spec=spec,
            environment=dict(start.environment),
        )
        node.pid = checks.number(answer, "pid")
        return node

    def watch(self) -> None:
        """Detect stops from now on."""
        self._ask("watch-stops")

    def note_usage(self) -> None:
        """Note what the brokers have used so far."""
        self._ask("note-usage")

    def begin(self, cores: Iterable[int], samples_cpu: bool) -> None:
        """Begin the measured window; the agent itself samples the CPU."""
        told = {"cores": sorted(cores), "samples_cpu": samples_cpu}
        self._host.connection.tell({"say": "begin", "trial": self._run, **told})

    def sample_cpu(self) -> None:
        """Do nothing: the agent does so."""

    @names_damage
    def usage(self, since_ns: int) -> Usage:
        """Return what the processes used since a time on this machine's clock."""
        found = self._ask("usage", since_ns=self._host.clock.to_host(since_ns))
        brokers = [_broker_row(row) for row in checks.items(found, "brokers", len(self._brokers))]
        stopped = {int(pid): float(length_s) for pid, length_s in checks.items(found, "stopped_s")}
        self._cpu = [_cpu_row(row) for row in checks.items(found, "cpu")]
        return Usage(min(1.0, checks.decimal(found, "steal_share")), stopped, brokers)

    def cpu_rows(self) -> list[dict[str, Any]]:
        """Return the samples of the CPU."""
        return self._cpu

    @names_damage
    def collect(self) -> list[Path]:
        """Fetch the samples of all endpoints, as a Parquet file and one with their causes."""
        files = checks.table(self._ask("samples", SAMPLES_S), "files")
        self._fetched.mkdir(mode=0o700)
        samples = self._fetched / "samples.parquet"
        paths = {"samples": samples, "causes": causes_path(samples)}
        for name in paths.keys() & files.keys():
            self._fetch(name, checks.number(files, name, MOST_SAMPLE_BYTES), paths[name])
        if "samples" not in files:
            return []
        self._check_endpoints(samples)
        return [samples]

    def _fetch(self, name: str, size: int, into: Path) -> None:
        with into.open("wb") as file:
            while (offset := file.tell()) < size:
                piece = decode(checks.text(self._ask("piece", file=name, offset=offset), "data", 2 * PIECE_BYTES))
                if not piece or offset + len(piece) > size:
                    raise ValueError(f"the file {name} has another length than {size}")
                file.write(piece)

    def _check_endpoints(self, samples: Path) -> None:
        try:
            found = set(Samples(samples).endpoints)
        except StoreError as cause:
            raise ValueError(cause.what) from cause
        if foreign := found - {each for node in self.nodes.values() for each in node.endpoints}:
            raise ValueError(f"it has samples of endpoint {min(foreign)}, which is on another host")

    def close(self) -> None:
        """End the processes that are left, and keep the ends of their logs."""
        if self._is_closed or not self._is_begun:
            return
        self._is_closed = True
        with suppress(TrialFailedError, ValueError):  # of an agent that is gone, nothing is left
            logs = checks.table(self._ask("close-trial", ENDING_S), "logs")
            for name, path in self._logs.items():
                if text := checks.text({name: logs.get(name, "")}, name, LONGEST_LOG):
                    path.write_text(text, encoding="utf-8")

    def remove_files(self) -> None:
        """Remove all files of the trial."""
        self._host.connection.listen(self._run, None)
        shutil.rmtree(self._fetched, ignore_errors=True)
        if self._is_begun:
            with suppress(TrialFailedError):
                self._host.connection.ask("remove-trial", ENDING_S, trial=self._run)

    def _hear(self, message: dict[str, Any]) -> None:
        """Take a report of the agent. Raises ValueError for one that no agent sends."""
        if message["say"] == "broker":
            broker = self._brokers.get(checks.number(message, "number"))
            if broker is not None:
                code, what, remedy = (checks.printable(message, key) for key in ("code", "what", "remedy"))
                broker.failed = TrialFailedError(code, f"on {self.host_name}: {what}", remedy, crash=True)
        elif node := self.nodes.get(checks.number(message, "node")):
            node.hear(message)


def _broker_row(row: Any) -> dict[str, Any]:
    """Return the row of a broker with what such a row has."""
    used, facts = checks.table(row, "resources"), checks.table(row, "facts")
    return {
        "endpoints": [],
        "resources": {name: checks.number(used, name) for name in used},
        "facts": {"daemon": checks.printable(facts, "daemon")},
        "version": checks.printable(row, "version"),
        "pid": checks.number(row, "pid"),
    }


def _cpu_row(row: Any) -> dict[str, Any]:
    return {
        "time": checks.decimal(row, "time"),
        "pid": checks.number(row, "pid"),
        "role": checks.printable(row, "role"),
        "percent": checks.decimal(row, "percent"),
    }
