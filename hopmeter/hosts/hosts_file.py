"""The file of `--hosts`: the name of each host, and how its agent is reached."""

from __future__ import annotations

import ipaddress
import re
import shlex
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.node.contract import LOOPBACK
from hopmeter.scenario.workload import Name
from hopmeter.system.toml_files import read_with_text, validate

SSH = ("ssh", "-o", "ServerAliveInterval=2", "-o", "BatchMode=yes")
MOST_HOSTS = 1000
TARGET = re.compile(r"[A-Za-z0-9_.@:\[\]%/-]+")


def _check_target(target: str) -> str:
    if not TARGET.fullmatch(target) or target.startswith("-"):
        raise RefusedValueError("E-VALUE-FORM", f'"{target}" is no ssh target; write the same as after `ssh`')
    return target


def _check_address(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise RefusedValueError("E-VALUE-FORM", f'"{address}" is no IP address') from None


class HostEntry(BaseModel):
    """How one host is reached."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ssh: Annotated[str, AfterValidator(_check_target)] | None = Field(
        None, description="The target of `ssh`, such as jetson or user@10.0.0.2; the agent is started there."
    )
    command: list[str] = Field(["hopmeter"], min_length=1, description="With ssh: the command hopmeter on that host.")
    options: list[str] = Field([], description="With ssh: more options of `ssh`, such as ['-p', '2222'].")
    agent: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Instead of ssh: a command that is an agent on its stdin and stdout."
    )
    here: bool = Field(False, description="Whether this is the machine on which you start `hopmeter run`.")
    address: Annotated[str, AfterValidator(_check_address)] = Field(
        LOOPBACK, description="The IP address by which the other hosts reach it."
    )

    @model_validator(mode="after")
    def _has_one_way(self) -> HostEntry:
        if (self.ssh is not None) + (self.agent is not None) + self.here != 1:
            raise RefusedValueError("E-HOST-ENTRY", "a host has one of ssh, agent and here")
        return self

    @property
    def start(self) -> list[str]:
        """Return the command that starts the agent, and whose stdin and stdout reach it."""
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
            raise RefusedValueError("E-HOST-ENTRY", f"only one host is here, and these are: {', '.join(here)}")
        return self


def read_hosts(path: Path) -> HostsFile:
    """Return the hosts of a file. Raises UsageError that names the key and its line."""
    table, text = read_with_text(path)
    return validate(HostsFile, table, str(path), text)
