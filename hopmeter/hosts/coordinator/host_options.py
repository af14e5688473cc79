"""Options that select the hosts of a command or program: a hosts file, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopmeter.errors import UsageError

if TYPE_CHECKING:
    from hopmeter.hosts.coordinator.cluster import Cluster
    from hopmeter.hosts.coordinator.session import HostSession

OPTIONS = {
    "file": "--hosts",
    "cluster": "--cluster",
    "ca": "--cluster-ca",
    "cert": "--cluster-cert",
    "key": "--cluster-key",
}


@dataclass(frozen=True)
class HostOptions:
    """Options that select the hosts. By default, only this machine is used."""

    file: Path | None = None
    cluster: str | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def words(self) -> list[str]:
        """Return the options as command-line arguments."""
        given = {option: getattr(self, name) for name, option in OPTIONS.items()}
        return [word for option, value in given.items() if value is not None for word in (option, str(value))]

    def named_cluster(self) -> Cluster | None:
        """Return the Dask cluster that the options select, or None if they select no cluster. Raises UsageError if the
        options conflict."""
        if self.cluster is None:
            if any((self.ca, self.cert, self.key)):
                raise UsageError("E-OPTION-CONFLICT", "certificates are for --cluster", "add --cluster tls://HOST:8786")
            return None
        if self.file is not None:
            raise UsageError("E-OPTION-CONFLICT", "--hosts and --cluster both name the hosts", "give one of them")
        from hopmeter.hosts.coordinator.cluster import (
            Cluster,  # this module imports asyncio, which is slow
        )

        return Cluster(self.cluster, self.ca, self.cert, self.key)

    @contextmanager
    def open(self) -> Iterator[HostSession | None]:
        """Connect to the selected hosts, and yield their session until the `with` block ends, or yield None if no hosts
        are selected. Raises UsageError if an option is unusable, and HostError if a host is unusable."""
        if cluster := self.named_cluster():
            from hopmeter.hosts.coordinator.cluster import open_cluster

            with open_cluster(cluster) as found:
                yield found
        elif self.file is not None:
            from hopmeter.hosts.coordinator.session import open_hosts

            with open_hosts(self.file) as found:
                yield found
        else:
            yield None
