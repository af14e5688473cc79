"""The part of a trial that runs on another host."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopmeter.hosts.coordinator.connection import PATIENCE_S
from hopmeter.hosts.coordinator.questions import Question, answers
from hopmeter.hosts.coordinator.remote_node import RemoteNode
from hopmeter.hosts.coordinator.remote_processes import RemoteBroker, names_damage
from hopmeter.hosts.protocol import spec_paths, value_checks
from hopmeter.hosts.protocol.content_store import PIECE_BYTES, decode, encode
from hopmeter.manifest import Manifest
from hopmeter.plan.spec import TransportContext
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.broker import PATIENCE_S as BROKER_S
from hopmeter.runtime.processes.broker import TRIES
from hopmeter.runtime.processes.host import BrokerOrder, Step, Usage
from hopmeter.runtime.processes.node import Start
from hopmeter.store.causes import causes_path
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

if TYPE_CHECKING:
    from hopmeter.hosts.coordinator.remote_host import RemoteHost

ENDING_S = 60.0
"""The timeout for an agent to end all processes of a trial."""
SAMPLES_S = 300.0
"""The timeout for an agent to write the samples of a trial."""
MOST_SAMPLE_BYTES = 64 << 30
SAMPLE_FILES = ("samples", "causes")
FIRST_BYTES = 64 << 10
"""The number of bytes of a sample file that are requested before the size of the file is known. The sample file of a
short trial is smaller than this."""
LONGEST_LOG = 1 << 20


class RemoteTrial:
    """The part of a trial that runs on another host."""

    folder = spec_paths.TRIAL

    def __init__(
        self,
        host: RemoteHost,
        run: str,
        manifests: Sequence[Manifest],
        fetched: Path,
        credentials: Sequence[Mapping[str, bytes]] = (),
    ) -> None:
        self._host, self._run, self._manifests, self._fetched = host, run, manifests, fetched
        self._credentials = [{name: encode(content) for name, content in files.items()} for files in credentials]
        self.host_name = host.host_name
        self.sites = [TransportContext(spec_paths.site(number), {}) for number in range(len(manifests))]
        self.nodes: dict[int, RemoteNode] = {}
        self._brokers: dict[int, RemoteBroker] = {}
        self._logs: dict[str, Path] = {}
        self._cpu: list[dict[str, Any]] = []
        self._earlier: list[Question] = []
        """Requests whose answers have not been awaited yet."""
        self._requested: dict[Step, list[Question]] = {}
        self._is_begun = self._is_closed = False

    def _post(self, do: str, patience_s: float = PATIENCE_S, **more: Any) -> Question:
        connection = self._host.connection
        if not self._is_begun:
            self._is_begun = True
            connection.listen(self._run, self._hear)
            names = [each.name for each in self._manifests]
            keys: dict[str, Any] = {"credentials": self._credentials} if any(self._credentials) else {}
            self._earlier.append(connection.post("start-trial", trial=self._run, transports=names, **keys))
        return connection.post(do, patience_s, trial=self._run, **more)

    def _await_earlier(self) -> None:
        """Wait for the answers to all requests that were sent in earlier steps of the trial. Raises TrialFailedError if
        a request failed."""
        while self._earlier:
            self._earlier.pop(0).answer()

    def request(self, step: Step, since_ns: int = 0) -> None:
        """Send the requests of a later trial step now, without waiting for their answers."""
        with suppress(TrialFailedError):  # if the agent is lost, the step itself raises the error
            self._requested[step] = self._begin_step(step, since_ns)

    def _begin_step(self, step: Step, since_ns: int = 0) -> list[Question]:
        if step == "note_usage":
            return [self._post("note-usage")]
        if step == "usage":
            return [self._post("usage", since_ns=self._host.clock.translate(since_ns)[0])]
        if step == "close":
            return [] if self._is_closed or not self._is_begun else [self._post("close-trial", ENDING_S)]
        return [self._post("samples", SAMPLES_S), *(self._post_piece(name, 0, SAMPLES_S) for name in SAMPLE_FILES)]

    def _take_step(self, step: Step, since_ns: int = 0) -> list[Question]:
        """Return the pending requests of a trial step, and send them first if `request` has not sent them."""
        return self._requested.pop(step, None) or self._begin_step(step, since_ns)

    @names_damage
    def start_broker(self, order: BrokerOrder) -> RemoteBroker | None:
        """Start a transport's broker. Return None if the transport has no broker."""
        told = self._manifests[order.number].broker
        if told is None:
            return None
        settings, core = dict(order.settings), order.core
        more = {"number": order.number, "settings": settings, "core": core, "address": order.address}
        started = self._post("start-broker", 2 * TRIES * BROKER_S, **more)
        self._await_earlier()
        answer = started.answer()
        self._logs[f"broker{order.number}"] = order.log
        environment = value_checks.texts(answer, "environment")
        if not set(environment) <= set(told.environment):
            raise ValueError("the broker's variables differ from those in its manifest")
        broker = RemoteBroker(self._host.connection, value_checks.text(answer, "address"), environment)
        self._brokers[order.number] = broker
        return broker

    @names_damage
    def start_node(self, start: Start) -> RemoteNode:
        """Request the start of a node. The method `watch` later waits until the node has started."""
        spec, number = spec_paths.send_files(start.spec, self._host.send_file), int(start.spec["node"])
        places = [str(site.directory) for site in self.sites]
        node = self.nodes[number] = RemoteNode(start, self._host.connection, self._run, self._host.clock)
        self._logs[f"node{number}"] = start.log
        started = self._post(
            "start-node",
            node=number,
            number=places.index(spec["directory"]),
            name=start.name,
            language=start.language,
            codecs=list(start.codecs),
            spec=spec,
            environment=dict(start.environment),
        )
        self._earlier.append(started)
        return node

    def watch(self) -> None:
        """Wait until all nodes have started, and make the agent watch for processes that are stopped."""
        self._await_earlier()
        self._earlier.append(self._post("watch-stops"))

    def note_usage(self) -> None:
        """Record the resources that the trial's brokers have used so far."""
        (asked,) = self._take_step("note_usage")
        self._await_earlier()
        asked.answer()

    def begin(self, cores: Iterable[int], samples_cpu: bool) -> None:
        """Begin the measured window. The agent samples the CPU use of the trial's processes on its own."""
        told = {"cores": sorted(cores), "samples_cpu": samples_cpu}
        self._host.connection.tell({"say": "begin", "trial": self._run, **told})

    def sample_cpu(self) -> None:
        """Do nothing, because the agent samples the CPU use on its own."""

    @names_damage
    def usage(self, since_ns: int) -> Usage:
        """Return the resources that the trial's processes have used since a given time on this machine's clock."""
        (asked,) = self._take_step("usage", since_ns)
        self._await_earlier()
        found = asked.answer()
        brokers = [_broker_row(row) for row in value_checks.items(found, "brokers", len(self._brokers))]
        stopped = {int(pid): float(length_s) for pid, length_s in value_checks.items(found, "stopped_s")}
        pss = {int(pid): int(size) for pid, size in value_checks.items({"pss_bytes": [], **found}, "pss_bytes")}
        self._cpu = [_cpu_row(row) for row in value_checks.items(found, "cpu")]
        return Usage(min(1.0, value_checks.decimal(found, "steal_share")), stopped, pss, brokers)

    def cpu_rows(self) -> list[dict[str, Any]]:
        """Return the CPU samples."""
        return self._cpu

    @names_damage
    def collect(self) -> list[Path]:
        """Fetch the samples and causes of all endpoints as Parquet files. Return a list that contains the path of the
        sample file, or an empty list if the trial has no samples."""
        written, *firsts = self._take_step("collect")
        files = value_checks.table(written.answer(), "files")
        self._fetched.mkdir(mode=0o700)
        samples = self._fetched / "samples.parquet"
        for name, path, first in zip(SAMPLE_FILES, (samples, causes_path(samples)), firsts, strict=True):
            answer = first.answer()
            if name in files:
                self._fetch(name, value_checks.number(files, name, MOST_SAMPLE_BYTES), path, answer)
        if "samples" not in files:
            return []
        self._check_endpoints(samples)
        return [samples]

    def _fetch(self, name: str, size: int, into: Path, first: dict[str, Any]) -> None:
        """Write the first piece of a file, which has already been requested, then fetch and write the other pieces."""
        offsets = range(FIRST_BYTES, size, PIECE_BYTES)
        rest = answers(self._post_piece(name, offset) for offset in offsets)
        with into.open("wb") as file:
            for answer in chain([first], rest):
                file.write(decode(value_checks.text(answer, "data", 2 * PIECE_BYTES)))
            if file.tell() != size:
                raise ValueError(f"the file {name} has a length other than {size}")

    def _post_piece(self, name: str, offset: int, patience_s: float = PATIENCE_S) -> Question:
        size = PIECE_BYTES if offset else FIRST_BYTES
        return self._post("piece", patience_s, file=name, offset=offset, bytes=size)

    def _check_endpoints(self, samples: Path) -> None:
        try:
            found = set(Samples(samples).endpoints)
        except StoreError as cause:
            raise ValueError(cause.what) from cause
        if foreign := found - {each for node in self.nodes.values() for each in node.endpoints}:
            raise ValueError(f"it has samples of endpoint {min(foreign)}, which is on another host")

    def close(self) -> None:
        """Stop those processes of the trial that are still running, and store the last lines of each process's log."""
        if self._is_closed or not self._is_begun:
            return
        with suppress(TrialFailedError, ValueError):  # a lost agent has no processes to end
            (asked,) = self._take_step("close")
            self._is_closed = True
            logs = value_checks.table(asked.answer(), "logs")
            for name, path in self._logs.items():
                if text := value_checks.text({name: logs.get(name, "")}, name, LONGEST_LOG):
                    path.write_text(text, encoding="utf-8")

    def remove_files(self) -> None:
        """Remove all files of the trial, both on this machine and on the remote host."""
        self._host.connection.listen(self._run, None)
        shutil.rmtree(self._fetched, ignore_errors=True)
        if self._is_begun:
            with suppress(TrialFailedError):
                self._post("remove-trial").forget()
        for question in (*self._earlier, *(each for step in self._requested.values() for each in step)):
            question.forget()

    def _hear(self, message: dict[str, Any]) -> None:
        """Process a report that the agent sent about this trial. Raises ValueError for a malformed report."""
        if message["say"] == "broker":
            broker = self._brokers.get(value_checks.number(message, "number"))
            if broker is not None:
                code, what, remedy = (value_checks.printable(message, key) for key in ("code", "what", "remedy"))
                broker.failed = TrialFailedError(code, f"on {self.host_name}: {what}", remedy, crash=True)
        elif node := self.nodes.get(value_checks.number(message, "node")):
            node.hear(message)


def _broker_row(row: Any) -> dict[str, Any]:
    """Return the row that describes a broker, reduced to the expected keys. Raises ValueError if a value in the
    broker's row is invalid."""
    used, facts = value_checks.table(row, "resources"), value_checks.table(row, "facts")
    return {
        "endpoints": [],
        "resources": {name: value_checks.number(used, name) for name in used},
        "facts": {"broker": value_checks.printable(facts, "broker")},
        "version": value_checks.printable(row, "version"),
        "pid": value_checks.number(row, "pid"),
    }


def _cpu_row(row: Any) -> dict[str, Any]:
    return {
        "time": value_checks.decimal(row, "time"),
        "pid": value_checks.number(row, "pid"),
        "role": value_checks.printable(row, "role"),
        "percent": value_checks.decimal(row, "percent"),
    }
