"""The interface to a machine that runs the processes of a trial: this machine, or another host through its agent."""

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
    """A running broker of a transport."""

    address: str
    environment: dict[str, str]
    """The environment variables that nodes use to find the broker."""
    exit_watch: Any
    """A descriptor that becomes readable when the broker exits."""

    def check(self) -> None:
        """Raise TrialFailedError if the broker has exited or is stopped, because the nodes then receive no more
        messages."""


class Background(Protocol):
    """The running background load of a host."""

    def await_start(self) -> None:
        """Wait until the background load is running. Raises TrialFailedError if the load does not start."""

    def begin(self) -> None:
        """Begin to measure the achieved background load."""

    def reading(self) -> Achieved:
        """Return the background load achieved since `begin`."""

    def close(self) -> None:
        """End the load."""


@dataclass(frozen=True)
class BrokerOrder:
    """A request to start a broker that a trial needs."""

    number: int
    """The index of the broker's transport in the trial's list of carriers."""
    settings: Mapping[str, Any]
    log: Path
    core: int | None = None
    address: str = LOOPBACK
    """The address on which the broker listens."""


@dataclass(frozen=True)
class Usage:
    """The resources that a trial's processes used on one host, from the `go` message until all nodes were done."""

    steal_share: float
    stopped_s: Mapping[int, float] = field(default_factory=dict)
    """The number of seconds that each process was stopped, by process id. Processes that were never stopped are
    omitted."""
    pss_bytes: Mapping[int, int] = field(default_factory=dict)
    """The proportional set size of each process, by process id: the larger of the values before and after the
    measurement."""
    brokers: Sequence[dict[str, Any]] = ()
    """One row for each broker, in start order."""


class TrialHost(Protocol):
    """The part of one trial that runs on one host: its directory, its processes, and their resource use."""

    @property
    def folder(self) -> Path:
        """Return the directory of the raw samples as a path that is valid on the host."""

    @property
    def sites(self) -> Sequence[TransportContext]:
        """For each transport of the trial, in order, return the environment of the transport's nodes."""

    def start_broker(self, order: BrokerOrder) -> Broker | None:
        """Start a transport's broker. Return None if the transport has no broker. Raises TrialFailedError if the broker
        does not start."""

    def start_node(self, start: Start) -> Node:
        """Start a node. Raises TrialFailedError if the node does not start."""

    def watch(self) -> None:
        """Begin to detect stopped processes. Call this method only after the processes of all concurrent trials have
        started."""

    def note_usage(self) -> None:
        """Record the resources that the brokers have used so far, and the memory use of all processes."""

    def begin(self, cores: Iterable[int], samples_cpu: bool) -> None:
        """Begin the measured window, on the given cores or, if no cores are given, on all cores."""

    def sample_cpu(self) -> None:
        """Sample the CPU use of each process, unless the host samples CPU use by itself."""

    def request(self, step: Step, since_ns: int = 0) -> None:
        """Request that another host begins a step early, so that all hosts execute the step concurrently. Errors of the
        step are raised when the method of the step is called."""

    def usage(self, since_ns: int) -> Usage:
        """Return the resources that were used since `since_ns`, a time on this machine's clock. Raises TrialFailedError
        if a broker has exited."""

    def cpu_rows(self) -> list[dict[str, Any]]:
        """Return the CPU samples."""

    def collect(self) -> list[Path]:
        """Return the sample files in raw or Parquet format, after copying them to this machine if necessary. The files
        exist until `remove_files` is called."""

    def close(self) -> None:
        """End all processes of the trial that are still running."""

    def remove_files(self) -> None:
        """Remove all files of the trial, including the samples."""


class Host(Protocol):
    """A machine that runs nodes."""

    @property
    def lead_ns(self) -> int:
        """Return how long before the start of the schedule the host must receive the `go` message."""

    def trial(
        self, run: str, manifests: Sequence[Manifest], credentials: Sequence[Mapping[str, bytes]] = ()
    ) -> TrialHost:
        """Prepare a trial on the host; `manifests` contains one manifest for each carrier. `run` is the trial's id.

        `credentials` contains the files of `make_credentials` for each carrier.
        """

    def start_background(self, load: Load, log: Path, /) -> Background:
        """Start a background load on the host. Raises TrialFailedError if the load does not start."""

    def note_alive(self) -> None:
        """Record the leftovers that the next hopmeter command must remove if this process is killed."""
