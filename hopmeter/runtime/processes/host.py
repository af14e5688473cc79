"""Where the processes of a trial run: on this machine, or on another host through its agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hopmeter.manifest import Manifest
from hopmeter.node.contract import LOOPBACK
from hopmeter.plan.placement.background_load import Load
from hopmeter.plan.spec import TransportContext
from hopmeter.runtime.processes.background_load import Achieved
from hopmeter.runtime.processes.node import Node, Start

Step = Literal["note_usage", "usage", "collect", "close"]


class Broker(Protocol):
    """The broker of a transport, while it runs."""

    address: str
    environment: dict[str, str]
    """The environment variables with which its nodes find it."""
    exit_watch: Any
    """A descriptor that becomes readable when the broker ends."""

    def check(self) -> None:
        """Raise TrialFailedError if the broker has ended or is stopped, because then no message arrives."""


class Background(Protocol):
    """The load of a host beside the nodes of a trial, while it runs."""

    def await_start(self) -> None:
        """Wait until the load runs. Raises TrialFailedError if it does not start."""

    def begin(self) -> None:
        """Begin the measured window."""

    def reading(self) -> Achieved:
        """Return what the load has achieved since `begin`."""

    def close(self) -> None:
        """End the load."""


@dataclass(frozen=True)
class BrokerOrder:
    """The broker that a trial needs."""

    number: int
    """The number of its transport among the carriers of the trial."""
    settings: Mapping[str, Any]
    log: Path
    core: int | None = None
    address: str = LOOPBACK
    """The address on which it listens."""


@dataclass(frozen=True)
class Usage:
    """What a trial's processes used on one host, from `go` until all nodes were done."""

    steal_share: float
    stopped_s: Mapping[int, float] = field(default_factory=dict)
    """How long each process was stopped, by process id; only those that were."""
    pss_bytes: Mapping[int, int] = field(default_factory=dict)
    """The proportional set size of each process, by process id: the larger one of before and after the measurement."""
    brokers: Sequence[dict[str, Any]] = ()
    """A row for each broker, in the order of their start."""


class TrialHost(Protocol):
    """The part of one trial that runs on one host: its folder, its processes, and what they used."""

    @property
    def folder(self) -> Path:
        """Return the folder of the raw samples, a path of the host."""

    @property
    def sites(self) -> Sequence[TransportContext]:
        """Return the environment of the nodes of each transport, in the order of the trial's transports."""

    def start_broker(self, order: BrokerOrder) -> Broker | None:
        """Start the broker of a transport, if it has one. Raises TrialFailedError if it does not start."""

    def start_node(self, start: Start) -> Node:
        """Start a node. Raises TrialFailedError if it does not start."""

    def watch(self) -> None:
        """Detect stops from now on. Start the processes of all trials first."""

    def note_usage(self) -> None:
        """Note what the brokers have used so far, and the memory of all processes."""

    def begin(self, cores: Iterable[int], samples_cpu: bool) -> None:
        """Begin the measured window on these cores; on all cores if there are none."""

    def sample_cpu(self) -> None:
        """Take a sample of the CPU that each process uses, if this host does not do so itself."""

    def request(self, step: Step, since_ns: int = 0) -> None:
        """Let another host begin with a step, so that all hosts take it at once. Errors follow when it is taken."""

    def usage(self, since_ns: int) -> Usage:
        """Return what the processes used since a time on this machine's clock. Raises TrialFailedError if a broker has
        ended."""

    def cpu_rows(self) -> list[dict[str, Any]]:
        """Return the samples of the CPU."""

    def collect(self) -> list[Path]:
        """Return files of samples on this machine, raw or Parquet; they exist until `remove_files`."""

    def close(self) -> None:
        """End the processes that are left."""

    def remove_files(self) -> None:
        """Remove all files of the trial, its samples included."""


class Host(Protocol):
    """A machine on which nodes run."""

    @property
    def lead_ns(self) -> int:
        """Return how long before the schedule starts the host has to hear `go`."""

    def trial(self, run: str, manifests: Sequence[Manifest]) -> TrialHost:
        """Prepare a trial with the transports of these manifests, one for each carrier; `run` is the id of its run."""

    def start_background(self, load: Load, log: Path, /) -> Background:
        """Start to load the host. Raises TrialFailedError if the load does not start."""

    def note_alive(self) -> None:
        """Note what the next command must remove if this process is killed."""
