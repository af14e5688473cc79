"""The `--hosts` file: the name of each host, and how to reach its agent."""

from __future__ import annotations

import ipaddress
import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.hosts.protocol.agent_address import AgentAddress
from hopmeter.hosts.protocol.tls import TlsFiles
from hopmeter.node.contract import LOOPBACK
from hopmeter.scenario.workload import Name
from hopmeter.system.toml_files import complete_name, read_with_text, validate

SSH = ("ssh", "-o", "ServerAliveInterval=2", "-o", "BatchMode=yes")
MOST_HOSTS = 1000
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]*")
TARGET = re.compile(r"[A-Za-z0-9_.@:\[\]%/-]+")


def _check_target(target: str) -> str:
    if not TARGET.fullmatch(target) or target.startswith("-"):
        raise RefusedValueError("E-VALUE-FORM", f'"{target}" is not an ssh target; write it as after `ssh`')
    return target


def _check_image(image: str) -> str:
    if not IMAGE.fullmatch(image):
        raise RefusedValueError("E-VALUE-FORM", f'"{image}" is not an image name; write it as after `docker run`')
    return image


def check_address(address: str) -> str:
    """Return an IP address in canonical form. Raises RefusedValueError if the text is not an IP address."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise RefusedValueError("E-VALUE-FORM", f'"{address}" is not an IP address') from None


def _check_listens(text: str) -> str:
    address = AgentAddress.parse(text)
    if not address.path and not address.port:
        raise RefusedValueError("E-VALUE-FORM", f'"{text}" has no port; write the address that the agent prints')
    return text


class HostEntry(BaseModel):
    """How to reach one host."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ssh: Annotated[str, AfterValidator(_check_target)] | None = Field(
        None, description="The target of `ssh`, such as jetson or user@10.0.0.2, on which hopmeter starts the agent."
    )
    command: list[str] = Field(
        ["hopmeter"], min_length=1, description="With ssh or container: the command that runs hopmeter on that host."
    )
    options: list[str] = Field(
        [], description="With ssh or container: additional options for `ssh` or `docker run`, such as ['-p', '2222']."
    )
    agent: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Instead of ssh: a command that runs an agent on its stdin and stdout."
    )
    listens: Annotated[str, AfterValidator(_check_listens)] | None = Field(
        None, description="Instead of ssh: the address of an agent that you started by hand, HOST:PORT or unix:PATH."
    )
    container: Annotated[str, AfterValidator(_check_image)] | None = Field(
        None,
        description="Instead of ssh: a container image with hopmeter, in which hopmeter starts the agent.",
    )
    engine: Literal["docker", "podman"] | None = Field(
        None,
        description="With container: the container engine; by default docker, or podman if docker is not installed.",
    )
    network: Literal["bridge", "host"] | None = Field(
        None,
        description="With container: its own network (bridge, the default), or the network of this machine (host).",
    )
    shared_memory: bool | None = Field(
        None,
        description="With container: whether it shares memory and a folder with other containers that set this key.",
    )
    secret_file: Path | None = Field(
        None, strict=False, description="With listens: the file that contains the agent's secret."
    )
    cert: Path | None = Field(None, strict=False, description="With listens: your own certificate, a PEM file.")
    key: Path | None = Field(None, strict=False, description="With listens: the private key of cert, a PEM file.")
    ca: Path | None = Field(None, strict=False, description="With listens: the certificate authority of the agent.")
    here: bool = Field(False, description="Whether this is the machine on which you start `hopmeter run`.")
    address: Annotated[str, AfterValidator(check_address)] = Field(
        LOOPBACK, description="The IP address at which the other hosts reach this host."
    )

    @model_validator(mode="after")
    def _has_one_way(self) -> HostEntry:
        ways = (self.ssh, self.agent, self.listens, self.container)
        if sum(each is not None for each in ways) + self.here != 1:
            raise RefusedValueError(
                "E-HOST-ENTRY", "a host needs exactly one of ssh, agent, listens, container and here"
            )
        if self.container is None and any(each is not None for each in (self.engine, self.network, self.shared_memory)):
            raise RefusedValueError("E-HOST-ENTRY", "engine, network and shared_memory need container")
        return self

    @model_validator(mode="after")
    def _is_guarded(self) -> HostEntry:
        files = [self.cert, self.key, self.ca]
        if self.listens is None and any(each is not None for each in (self.secret_file, *files)):
            raise RefusedValueError("E-HOST-ENTRY", "secret_file, cert, key and ca need listens")
        if any(files) and not all(files):
            raise RefusedValueError("E-HOST-ENTRY", "TLS needs all of cert, key and ca")
        if self.listens is None:
            return self
        address = AgentAddress.parse(self.listens)
        if address.path and any(files):
            raise RefusedValueError("E-HOST-ENTRY", "a Unix socket has no TLS: omit cert, key and ca")
        if not address.stays_here and self.secret_file is None and not any(files):
            what = f"listens = {self.listens} is on another machine: it needs secret_file, or cert, key and ca"
            raise RefusedValueError("E-HOST-ENTRY", what)
        if address.ip and "address" not in self.model_fields_set:
            self.address = address.ip
        return self

    @property
    def tls(self) -> TlsFiles | None:
        """Return the TLS files, or None if the agent does not use TLS."""
        if self.cert is None or self.key is None or self.ca is None:
            return None
        return TlsFiles(self.cert, self.key, self.ca)

    def beside(self, folder: Path) -> HostEntry:
        """Return a copy of the host entry in which relative paths are resolved against `folder`."""
        paths = {name: getattr(self, name) for name in ("secret_file", "cert", "key", "ca")}
        found = {name: folder / path.expanduser() for name, path in paths.items() if path is not None}
        return self.model_copy(update=found)

    @property
    def start(self) -> list[str]:
        """Return the command that starts the agent, and whose stdin and stdout are the channel to the agent."""
        if self.ssh is None:
            return self.agent or []
        return [*SSH, *self.options, "--", self.ssh, shlex.join([*self.command, "agent", "--stdio"])]


class HostsFile(BaseModel):
    """The hosts by name, in the order in which endpoints are placed on them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    host: Annotated[dict[Name, HostEntry], Field(min_length=1, max_length=MOST_HOSTS)]

    @model_validator(mode="after")
    def _is_here_once(self) -> HostsFile:
        here = [name for name, each in self.host.items() if each.here]
        if len(here) > 1:
            raise RefusedValueError(
                "E-HOST-ENTRY", f"only one host may have here = true, but these have it: {', '.join(here)}"
            )
        return self


def read_hosts(path: Path) -> HostsFile:
    """Return the hosts in a file. Raises UsageError with the key and line of any error."""
    path = complete_name(path)
    table, text = read_with_text(path)
    found = validate(HostsFile, table, str(path), text)
    return HostsFile(host={name: each.beside(path.parent) for name, each in found.host.items()})
