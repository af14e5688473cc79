"""The options that name the hosts of a command: a file, or a cluster of Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopmeter.errors import UsageError

if TYPE_CHECKING:
    from hopmeter.hosts.cluster import Cluster
    from hopmeter.hosts.session import HostSession

OF_HOSTS = ("--hosts", "--cluster", "--cluster-ca", "--cluster-cert", "--cluster-key")
PANEL = "Hosts"


def _option(metavar: str, help_text: str) -> Any:
    return typer.Option(metavar=metavar, help=help_text, rich_help_panel=PANEL)


File = Annotated[Path | None, _option("FILE.toml", "The file that names the hosts and how to reach each.")]
Address = Annotated[str | None, _option("tls://HOST:PORT", "The scheduler of Dask whose workers are the hosts.")]
CA = Annotated[Path | None, _option("FILE.pem", "With --cluster: the certificate authority of the cluster.")]
Certificate = Annotated[Path | None, _option("FILE.pem", "With --cluster: your certificate.")]
Key = Annotated[Path | None, _option("FILE.pem", "With --cluster: the key of your certificate.")]


def named_cluster(file: Path | None, address: str | None, *certificates: Path | None) -> Cluster | None:
    """Return the cluster that the options name. Raises UsageError if they contradict each other."""
    if address is None:
        if any(certificates):
            raise UsageError("E-OPTION-CONFLICT", "certificates are for --cluster", "add --cluster tls://HOST:8786")
        return None
    if file is not None:
        raise UsageError("E-OPTION-CONFLICT", "--hosts and --cluster both name the hosts", "give one of them")
    from hopmeter.hosts.cluster import Cluster  # Dask's client is asynchronous, and asyncio takes long to import

    return Cluster(address, *certificates)


@contextmanager
def open_session(file: Path | None, address: str | None, *certificates: Path | None) -> Iterator[HostSession | None]:
    """Connect the hosts that the options name; None without any. Raises UsageError and HostError."""
    if cluster := named_cluster(file, address, *certificates):
        from hopmeter.hosts.cluster import open_cluster

        with open_cluster(cluster) as found:
            yield found
    elif file is not None:
        from hopmeter.hosts.session import open_hosts

        with open_hosts(file) as found:
            yield found
    else:
        yield None
