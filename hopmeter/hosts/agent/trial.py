"""The part of a trial that runs on the agent's host."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.hosts.protocol import spec_paths, value_checks
from hopmeter.manifest import Manifest, Readiness
from hopmeter.runtime.control import await_exits
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.host import BrokerOrder, Usage
from hopmeter.runtime.processes.node import LocalNode, Start
from hopmeter.runtime.processes.this_host import LocalTrial
from hopmeter.store.causes import causes_path, write_causes
from hopmeter.store.samples import is_whole, write_parquet
from hopmeter.system.input_files import read_tail

MOST_NODES = 1024
LEAST_LEAD_NS = 2_000_000
"""The minimum time between the arrival of `go` at a node and the start of the schedule."""
LOG_BYTES = 128 << 10
"""The maximum total size of the logs that an agent sends for a trial."""
LINK = re.compile(r"[0-9a-f]{16}_[A-Za-z0-9_]{1,60}")

FindProgram = Callable[[Manifest, str, tuple[str, ...]], Readiness]


@dataclass
class AgentTrial:
    """A trial that an agent runs for its coordinator. Messages about the trial refer to nodes and brokers by number,
    and contain no file paths of the agent's host."""

    part: LocalTrial
    run: str
    manifests: list[Manifest]
    find_program: FindProgram
    file: Callable[[str], Path]
    """A function that returns the path of a file by its hash. Raises ValueError if this host does not have the file."""
    nodes: dict[int, LocalNode] = field(default_factory=dict)
    logs: dict[str, Path] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    """The numbers of the nodes that were reported as exited."""
    samples_cpu: bool = False
    has_begun: bool = False
    """Whether the coordinator has sent the schedule's start time to the nodes."""
    is_closed: bool = False

    def start_broker(self, ask: Mapping[str, Any]) -> dict[str, Any]:
        """Start the broker of a transport, and return its address and environment variables."""
        number, core = value_checks.number(ask, "number", len(self.manifests) - 1), ask.get("core")
        settings = check_settings(self.manifests[number], value_checks.table(ask, "settings"))
        log = self.logs[f"broker{number}"] = self.part.folder / f"broker{number}.log"
        place = None if core is None else value_checks.number(ask, "core", 1 << 20)
        broker = self.part.start_broker(BrokerOrder(number, settings, log, place, value_checks.address(ask, "address")))
        if broker is None:
            raise ValueError(f"{self.manifests[number].name} has no broker")
        return {"address": broker.address, "environment": broker.environment}

    def start_node(self, ask: Mapping[str, Any]) -> LocalNode:
        """Start a node with this host's programs, adapters and directories."""
        number = value_checks.number(ask, "node", 1 << 20)
        if number in self.nodes or len(self.nodes) >= MOST_NODES:
            raise ValueError(f"node {number} already exists, or there are already {MOST_NODES} nodes")
        manifest = self.manifests[value_checks.number(ask, "number", len(self.manifests) - 1)]
        language = value_checks.word(ask, "language", manifest.offers)
        settings = check_settings(manifest, value_checks.table(value_checks.table(ask, "spec"), "settings"))
        chosen = manifest.for_settings(settings)
        program = self.find_program(chosen, language, tuple(map(str, value_checks.items(ask, "codecs", 100))))
        if not program.ready:
            raise TrialFailedError("E-HOST-LACKS", f"{manifest.name} ({language}): {program.missing}", program.get)
        log = self.logs[f"node{number}"] = self.part.folder / f"node{number}.log"
        self.nodes[number] = self.part.start_node(
            Start(
                name=value_checks.text(ask, "name"),
                language=language,
                command=program.command,
                spec=self._resolve(value_checks.table(ask, "spec"), manifest, language),
                spec_file=self.part.folder / f"node{number}.json",
                log=log,
                environment={**program.environment, **_own_variables(chosen, value_checks.texts(ask, "environment"))},
            )
        )
        return self.nodes[number]

    def _resolve(self, spec: dict[str, Any], manifest: Manifest, language: str) -> dict[str, Any]:
        """Return a node's spec with the file paths and settings of this host. Raises ValueError if the node's spec is
        not valid on this host."""
        own = {"run": self.run, "transport": manifest.name}
        if any(spec.get(key) != value for key, value in own.items()):
            raise ValueError("the spec belongs to another run or transport")
        for link in value_checks.table(spec, "links").values():
            if not value_checks.matching(link, "name", LINK).startswith(self.run):
                raise ValueError("a link has the name of another run")
        for key in ("bind", "advertised"):
            value_checks.address(spec, key)
        adapter = str(manifest.folder / "python") if language == "python" else None
        settings = check_settings(manifest, value_checks.table(spec, "settings"))
        resolved = spec_paths.resolve(spec, self.part.folder, self.file)
        return {**resolved, "adapter": adapter, "settings": settings}

    def say(self, number: int, message: dict[str, Any]) -> int:
        """Forward a message to a node, and return 0 if the message is on time. A `go` message that is too late is not
        forwarded, and its delay in nanoseconds is returned."""
        if message.get("say") == "go":
            late_ns = time.monotonic_ns() + LEAST_LEAD_NS - value_checks.number(message, "start_ns")
            if late_ns > 0:
                return late_ns
            self.has_begun = True
        if number in self.nodes:
            self.nodes[number].say(message)
        return 0

    def usage(self, since_ns: int) -> dict[str, Any]:
        """Return the resources that the processes of the trial have used since a given time."""
        used: Usage = self.part.usage(since_ns)
        stopped, self.samples_cpu = list(used.stopped_s.items()), False
        return {
            "steal_share": used.steal_share,
            "stopped_s": stopped,
            "pss_bytes": list(used.pss_bytes.items()),
            "brokers": list(used.brokers),
            "cpu": self.part.cpu_rows(),
        }

    def write_samples(self) -> dict[str, int]:
        """Write the samples and causes of all endpoints to two Parquet files. Return the size of each written file in
        bytes, keyed by file name."""
        files, path = self.part.collect(), self.sample_files["samples"]
        if not files:
            return {}
        write_parquet(files, path)
        write_causes(files, path)
        return {name: each.stat().st_size for name, each in self.sample_files.items() if each.exists()}

    def raw_files(self, patience_s: float) -> list[Path]:
        """Return the raw sample files that are complete. Nodes that are still measuring get `patience_s` seconds to
        finish their files."""
        if self.has_begun and not self.is_closed:
            for node in self.nodes.values():
                node.say({"say": "end"})
            await_exits(self.nodes.values(), patience_s)
        return [each for each in self.part.collect() if is_whole(each)]

    @property
    def sample_files(self) -> dict[str, Path]:
        """Return the paths of the files that `write_samples` writes, keyed by the names that the coordinator uses."""
        samples = self.part.folder / "samples.parquet"
        return {"samples": samples, "causes": causes_path(samples)}

    def close(self) -> dict[str, str]:
        """Stop the trial's processes, and return the last lines of each process's log, keyed by process name."""
        self.is_closed = True
        self.part.close()
        share = LOG_BYTES // max(1, len(self.logs))
        return {name: read_tail(path, share) for name, path in self.logs.items() if path.exists()}


def check_settings(manifest: Manifest, given: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the settings that the coordinator sent for a transport, and return them. Raises ValueError if the names
    of the settings differ from those in the manifest, or if a setting is a file path on another host."""
    if set(given) != set(manifest.settings):
        raise ValueError(f"the settings of {manifest.name} are {', '.join(manifest.settings) or 'none'}")
    for name, value in given.items():
        if manifest.settings[name].file and value != manifest.settings[name].default:
            raise ValueError(f"the setting {name} of {manifest.name} names a file on another machine")
    return {name: manifest.settings[name].check(value) for name, value in given.items()}


def _own_variables(manifest: Manifest, given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment variables that the coordinator sent for one node. Raises ValueError if the coordinator
    sent variables that the transport's broker does not provide."""
    known = manifest.broker.environment if manifest.broker else {}
    if unknown := set(given) - set(known):
        raise ValueError(f"{manifest.name} has no variable {', '.join(sorted(unknown))}")
    return given
