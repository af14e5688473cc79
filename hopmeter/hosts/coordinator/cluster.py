"""Hosts that are workers of a Dask cluster. Dask carries the messages between the coordinator and the agents on the
workers."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator import worker_agent
from hopmeter.hosts.coordinator.agent_link import closing_links
from hopmeter.hosts.coordinator.hosts_file import check_address
from hopmeter.hosts.coordinator.session import HostSession, connect_all
from hopmeter.hosts.protocol.agent_process import ENDING_S
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.line_channel import LineChannel
from hopmeter.scenario.workload import NAME
from hopmeter.system.scratch_dir import ScratchDir

RESOURCE = "agent"
WORKER = f"dask worker SCHEDULER --name NAME --resources {RESOURCE}=1 --no-nanny --nthreads 1"
ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-f:.%]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}")
CONNECTING_S = 10.0
PIECE = 1 << 16
MOST_CHARACTERS = 300


@dataclass(frozen=True)
class Cluster:
    """The address of a Dask scheduler, and the TLS files of this client. If a TLS file is None, the file named in
    Dask's configuration is used."""

    address: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Raise UsageError if the address is malformed, and HostError if the address is on another machine and not
        encrypted."""
        found = ADDRESS.fullmatch(self.address)
        if found is None:
            what = f'--cluster: "{self.address}" is not the address of a scheduler'
            raise UsageError("E-VALUE-FORM", what, "--cluster tls://HOST:8786, or tcp://127.0.0.1:8786 on this machine")
        if found[1] == "tcp":
            check_encrypted(f"the scheduler {self.address}", self.address)


def check_encrypted(name: str, address: str) -> None:
    """Raise HostError if the scheduler is on another machine and its address is not encrypted. Encryption is required
    because Dask executes any code that it receives."""
    scheme, _, rest = address.partition("://")
    host = rest.rpartition(":")[0].strip("[]")
    if scheme == "tls" or _is_loopback(host):
        return
    what = f"{name} is on another machine and not encrypted; Dask executes any code that it receives"
    remedy = (
        "start scheduler and workers with --tls-ca-file, --tls-cert and --tls-key, and give "
        "--cluster tls://HOST:8786 --cluster-ca CA.pem --cluster-cert CERT.pem --cluster-key KEY.pem"
    )
    raise HostError("E-CLUSTER-TLS", what, remedy)


def _is_loopback(host: str) -> bool:
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except OSError as cause:
        raise HostError("E-HOST-UNREACHABLE", f"--cluster: {host}: {cause.strerror}", "correct the address") from cause
    return all(each.startswith("127.") or each == "::1" for each in found)


@contextmanager
def connect_cluster(cluster: Cluster) -> Iterator[Any]:
    """Yield a Dask client that stays connected until the `with` block ends. Raises UsageError if the options for Dask
    are unusable, and HostError if no scheduler answers."""
    cluster.check()
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as cause:
        what = "--cluster needs the Python package distributed, which is not installed"
        raise UsageError("E-CLUSTER-MISSING", what, "pip install 'hopmeter[cluster]'") from cause
    for name in ("distributed", "distributed.client"):  # Dask logs errors in addition to raising them
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = _security(distributed.Security, cluster)
    try:
        client = distributed.Client(
            cluster.address,
            security=security,
            timeout=CONNECTING_S,
            set_as_default=False,
            direct_to_workers=False,
            name="hopmeter",
        )
    except (OSError, ValueError, TypeError) as cause:
        what = f"no Dask scheduler answers at {cluster.address}: {describe(cause)}"
        raise HostError("E-HOST-UNREACHABLE", what, "start `dask scheduler`, or correct --cluster") from cause
    try:
        yield client
    finally:
        client.close()


def _security(make: Callable[..., Any], cluster: Cluster) -> Any:
    """Return Dask's `Security` object with the TLS files of this client. Raises UsageError if the address requires
    certificates that are missing."""
    given = {"tls_ca_file": cluster.ca, "tls_client_cert": cluster.cert, "tls_client_key": cluster.key}
    for path in given.values():
        if path is not None and not path.is_file():
            raise UsageError("E-FILE-UNREADABLE", f"{path} cannot be read: no such file", "correct the path")
    files = {name: str(path) for name, path in given.items() if path is not None}
    is_encrypted = cluster.address.startswith("tls:")
    security = make(require_encryption=is_encrypted, **files)
    for option, name in (("--cluster-ca", "tls_ca_file"), ("--cluster-cert", "tls_client_cert")):
        if is_encrypted and not getattr(security, name):
            what = f"{cluster.address} needs {option}, which is not in Dask's configuration either"
            raise UsageError("E-CLUSTER-TLS", what, f"{option} FILE.pem")
    return security


def find_workers(client: Any) -> dict[str, Mapping[str, Any]]:
    """Return the Dask workers that have the resource `agent`, keyed by worker name. Raises HostError if no Dask worker
    has the resource `agent`, or if such a worker cannot be a host."""
    every = client.scheduler_info(n_workers=-1)["workers"]
    offered = [{**worker, "contact": contact} for contact, worker in every.items() if RESOURCE in worker["resources"]]
    if not offered:
        what = f"none of the {len(every)} workers of the cluster has the resource {RESOURCE}"
        raise HostError("E-CLUSTER-WORKER", what, WORKER)
    for worker in offered:
        _check_worker(worker)
    return {worker["name"]: worker for worker in sorted(offered, key=lambda worker: str(worker["name"]))}


def _check_worker(worker: Mapping[str, Any]) -> None:
    name, contact = str(worker["name"]), str(worker["contact"])
    if not re.fullmatch(NAME, name):
        raise HostError("E-CLUSTER-WORKER", f"the worker {name} has a name that is not allowed in a scenario", WORKER)
    if worker.get("nanny"):
        what = f"the worker {name} has a nanny, which changes how its processes use memory"
        raise HostError("E-CLUSTER-WORKER", what, WORKER)
    check_encrypted(f"the worker {name} at {contact}", contact)
    try:
        check_address(worker["host"])
    except ValueError as cause:
        what = f"the worker {name} has the address {worker['host']}, which is not an IP address"
        raise HostError("E-CLUSTER-WORKER", what, f"{WORKER} --contact-address tls://IP:PORT") from cause


@contextmanager
def open_cluster(cluster: Cluster) -> Iterator[HostSession]:
    """Start an agent on each worker of a cluster. The agents run until the `with` block ends. Raises UsageError if the
    options for Dask are unusable, and HostError if an agent cannot be started or reached."""
    with ExitStack() as ends:
        client = ends.enter_context(connect_cluster(cluster))
        folder = ends.enter_context(ScratchDir()).directory
        workers, links = find_workers(client), ends.enter_context(closing_links())
        for name, worker in workers.items():
            links[name] = WorkerLink(client, name, worker["contact"])
        reached = connect_all(links, folder)
        yield HostSession({name: worker["host"] for name, worker in workers.items()}, reached)


class WorkerLink:
    """The link to an agent on a Dask worker, and the tasks that forward the agent's messages through Dask."""

    def __init__(self, client: Any, name: str, contact: str) -> None:
        """Start the agent. Raises HostError if the worker cannot start the agent."""
        self._client, self._contact, self._key = client, contact, secrets.token_hex(8)
        self._why = ""
        try:
            client.run(worker_agent.start, self._key, workers=[contact])
        except Exception as cause:
            what = f"the worker {name} starts no agent: {describe(cause)}"
            raise HostError("E-HOST-UNREACHABLE", what, "install the same version of hopmeter on all hosts") from cause
        self._own, self._far = socket.socketpair()
        self._far.setblocking(False)
        self.channel = LineChannel(self._own.fileno(), self._own.fileno())
        self._carrying = asyncio.run_coroutine_threadsafe(self._carry(), client.loop.asyncio_loop)

    def why_gone(self) -> str:
        """Return why the channel was closed, or an empty string if the reason is unknown."""
        return self._why

    def hang_up(self) -> None:
        """Close the channel, so that the agent stops all processes that it has started."""
        self._own.close()

    def close(self) -> None:
        """Close the channel, and wait until the agent has exited."""
        self.hang_up()
        with suppress(TimeoutError):
            self._carrying.result(ENDING_S * 1.5)
        self._carrying.cancel()

    async def _run(self, function: Callable[..., Awaitable[Any]], *words: Any) -> Any:
        answers = await self._client.run(function, self._key, *words, workers=[self._contact])
        return answers[self._contact]

    async def _carry(self) -> None:
        """Forward lines between the coordinator and the agent until the agent has exited or the worker is lost."""
        down = asyncio.create_task(self._carry_down())
        try:
            await self._carry_up()
            self._why = await self._run(worker_agent.end)
        except Exception as cause:  # noqa: BLE001  (Dask may raise any error for a lost worker)
            self._why = f"its worker {self._contact} does not answer: {describe(cause)}"
        finally:
            down.cancel()
            await asyncio.gather(down, return_exceptions=True)
            self._far.close()

    async def _carry_up(self) -> None:
        loop, begin = asyncio.get_running_loop(), 0
        while (lines := await self._run(worker_agent.read, begin)) != b"":
            begin += len(lines or b"")
            with suppress(OSError):  # the coordinator has stopped reading, so the agent will exit
                await loop.sock_sendall(self._far, lines or b"")

    async def _carry_down(self) -> None:
        loop, begin = asyncio.get_running_loop(), 0
        with suppress(OSError):
            while lines := await loop.sock_recv(self._far, PIECE):
                await self._run(worker_agent.write, begin, lines)
                begin += len(lines)
        await self._run(worker_agent.close)


def describe(cause: BaseException) -> str:
    """Return a Dask error as one short printable line."""
    words = " ".join(f"{type(cause).__name__}: {cause}".split())
    return "".join(each if each.isprintable() else " " for each in words)[:MOST_CHARACTERS]
