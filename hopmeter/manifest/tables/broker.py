"""The broker that a transport needs: how to start it, and how to prove that it is ready."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field, PrivateAttr, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import expand_paths

LINE = "line: "
PYTHON = "{python}"
"""`{python}` as the first word of a command stands for the Python of the transport's nodes."""
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders with brokers that are not on the PATH of every user."""


class BrokerTable(Strict):
    """`[broker]` of a manifest. Its texts may contain `{port}` and `{port2}` (free ones), `{directory}` (private),
    `{run}`, `{host}` (the address it listens on), `{here}` (the address of the reader's machine, in `environment`),
    `{secret}` (a password of this broker alone), `{secret_hash}` (the same, as mosquitto stores it), `{anonymous}`
    (whether clients need no password), and any setting's name in braces."""

    title: str
    """The name of the broker in messages and results."""
    command: Annotated[list[str], Field(min_length=1)]
    """The first word may begin with an environment variable, `$YARP_ROOT/bin/yarpserver`, or be `{python}`."""
    apt: list[str] = []
    version: list[str] = []
    """A command that prints the version in its first line."""
    ready: str
    """The proof that the broker is ready: `port` (it accepts a connection) or `line: TEXT` (it printed the line)."""
    address: str = ""
    """The address that adapters connect to."""
    single: bool = False
    """Whether a machine may run only one such broker, so that trials that need the broker run one after another."""
    files: dict[str, str] = {}
    """Files that hopmeter writes into the broker's folder before the broker starts, by name."""
    leftover_files: list[str] = []
    """Files outside the broker's folder that belong only to this broker and remain after a crash. `{group}` stands for
    the user's group."""
    environment: dict[str, str] = {}
    """Environment variables for the broker and for the nodes."""
    own_environment: dict[str, str] = {}
    """Environment variables for the broker alone."""
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The values of settings with which the transport needs the broker; it always does if this is empty."""

    _python: Callable[[], str | None] | None = PrivateAttr(default=None)
    """Returns the path of the Python for `{python}`; called when it is needed, because hopmeter may have to build it
    first."""

    @model_validator(mode="after")
    def _ready_is_known(self) -> BrokerTable:
        if self.ready != "port" and not self.line.strip():
            raise RefusedValueError("E-VALUE-FORM", f'ready = "{self.ready}" is neither "port" nor "line: TEXT"')
        return self

    def environment_on(self, environment: Mapping[str, str], here: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for nodes on another host than the broker: those that say where the broker is, from its
        own `environment`, and the rest for the host whose `here` and `directory` are given. Others are left out."""
        known = {name: text for name, text in self.environment.items() if name in environment}
        return {name: environment[name] if "{port}" in text else fill(text, here) for name, text in known.items()}

    @property
    def needed_with(self) -> str:
        """Return the settings with which a transport needs the broker: `NAME=VALUE`; empty if it always does."""
        return ", ".join(f"{name}={' or '.join(map(str, values))}" for name, values in self.where.items())

    @property
    def line(self) -> str:
        """Return the line that proves that the broker is ready; empty if a port proves that."""
        return self.ready.removeprefix(LINE) if self.ready.startswith(LINE) else ""

    @property
    def program(self) -> str | None:
        """Return the path of the program, or None if it is not installed."""
        if self.command[0] == PYTHON:
            return self._python() if self._python else None
        return find_program(self.command[0])


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text of a manifest with values instead of the names in braces."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def without_secret(text: str) -> str:
    """Return a text of a manifest for a broker without a password: the lines and parts of addresses with it are left
    out."""
    lines = re.sub(r"\w+:\{secret\}@", "", text).splitlines(keepends=True)
    return "".join(line for line in lines if "{secret" not in line)


def find_program(program: str) -> str | None:
    """Return the path of a program, also in the usual folders of brokers; its name may begin with an environment
    variable, which may have several folders."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS])
    return next(filter(None, (shutil.which(each, path=places) for each in expand_paths(program))), None)
