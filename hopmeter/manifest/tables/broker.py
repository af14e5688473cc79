"""Defines the manifest table of a broker: how hopmeter starts the broker, and how hopmeter detects that the broker is
ready."""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.manifest.tables.strict import Strict
from hopmeter.manifest.tables.user_environment import expand_paths
from hopmeter.system import paths

LINE = "line: "
PYTHON = "{python}"
"""As the first word of a command, `{python}` stands for the Python that runs the transport's nodes."""
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Directories that may contain brokers but are not in every user's PATH."""


Artifact = Annotated[str, Field(pattern=r"^[\w.-]+:[\w.-]+:[\w.-]+$")]
"""A Maven artifact, as `GROUP:ARTIFACT:VERSION`."""


class AccessWord(Strict):
    """A word in the broker's configuration that depends on whether clients need a password."""

    password: str
    """The word if clients need the password."""
    anonymous: str
    """The word if clients need no password."""

    def choose(self, is_anonymous: bool) -> str:
        """Return the word for a broker without a password if `is_anonymous` is true, otherwise the word for a broker
        with a password."""
        return self.anonymous if is_anonymous else self.password


class BrokerTable(Strict):
    """The manifest table `[broker]`. The texts in this table may contain placeholders.

    A setting's name in braces stands for the setting's value, or for the text that `setting_texts` lists for the value.
    The name of an `access` entry in braces stands for the entry's word. All other placeholders are:

    - `{port}` and `{port2}`: free ports.
    - `{directory}`: a private directory.
    - `{run}`: the run id.
    - `{host}`: the broker's listening address.
    - `{here}`: the address of the node's machine, only in `environment`.
    - `{secret}`: the password for this broker.
    - `{secret_hash}`: the password as mosquitto stores it.
    - `{anonymous}`: whether clients need no password.
    - `{credentials}`: the directory with the keys of the setting `security`.
    - `{jars}`: the directory of the jars of `maven`, only in `command`.
    """

    title: str
    """The broker's name in messages and results."""
    command: Annotated[list[str], Field(min_length=1)]
    """The command that starts the broker.

    The first word of the command may begin with an environment variable, such as `$YARP_ROOT/bin/yarpserver`, or be
    `{python}`.
    """
    needs: list[str] = []
    """Further programs that the command needs, such as programs that a script starts."""
    apt: list[str] = []
    maven: list[Artifact] = []
    """The artifacts of a broker in Java. `hopmeter build` downloads their jars, with the jars that they depend on."""
    version: list[str] = []
    """A command that prints the version as its first line. By default, the version is that of the first artifact."""
    ready: str
    """How to detect that the broker is ready: `port` (it accepts connections) or `line: TEXT` (it has printed TEXT)."""
    address: str = ""
    """The address to which adapters connect."""
    single: bool = False
    """Whether a machine can run only one such broker. If so, trials that need the broker run one after another."""
    files: dict[str, str] = {}
    """Files that hopmeter writes to the broker's directory before it starts the broker, by path.

    A path may contain folders and placeholders.
    """
    access: dict[str, AccessWord] = {}
    """Placeholders whose text depends on whether clients need the password."""
    setting_texts: dict[str, dict[str, str]] = {}
    """The texts that replace the placeholders of settings: one for each name and value of a setting. A text may contain
    other placeholders."""
    leftover_files: list[str] = []
    """Files and directories outside the broker's directory that belong only to this broker and remain after a crash.

    `{group}` stands for the user's group.
    """
    environment: dict[str, str] = {}
    """Environment variables for the broker and the nodes."""
    own_environment: dict[str, str] = {}
    """Environment variables for the broker only."""
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """The setting values that need the broker. If `where` is empty, the transport always needs the broker."""

    _python: Callable[[], str | None] | None = PrivateAttr(default=None)
    """A function that returns the path of the Python for `{python}`, or None.

    The function is called only when needed, because `hopmeter build` may have to create this Python first.
    """

    @model_validator(mode="after")
    def _ready_is_known(self) -> BrokerTable:
        if self.ready != "port" and not self.line.strip():
            raise RefusedValueError("E-VALUE-FORM", f'ready = "{self.ready}" is neither "port" nor "line: TEXT"')
        return self

    def environment_on(self, environment: Mapping[str, str], here: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables for nodes on a different host from the broker.

        A variable that contains a port gets its value from `environment`, because the variable tells nodes where the
        broker is. In the other variables, placeholders are replaced with values from `here`, which describes the host
        of the nodes. Variables that are not in `environment` are omitted.
        """
        known = {name: text for name, text in self.environment.items() if name in environment}
        return {name: environment[name] if "{port}" in text else fill(text, here) for name, text in known.items()}

    @property
    def needed_with(self) -> str:
        """Return the values of settings with which the transport needs the broker, as `NAME=VALUE`. Return an empty
        string if the transport always needs the broker."""
        return ", ".join(f"{name}={' or '.join(map(str, values))}" for name, values in self.where.items())

    @property
    def line(self) -> str:
        """Return a text that appears in the broker's log as soon as the broker is ready. Return an empty string if
        hopmeter recognizes a ready broker by its open port."""
        return self.ready.removeprefix(LINE) if self.ready.startswith(LINE) else ""

    @property
    def jars(self) -> Path:
        """Return the directory that contains the Java archives (jars) of the broker. The directory exists only if it
        contains all jars."""
        _, artifact, version = self.maven[0].split(":")
        return paths.jar_folder() / f"{artifact}-{version}-{zlib.crc32(repr(self.maven).encode()):08x}"

    @property
    def pinned_version(self) -> str:
        """Return the broker's title with the version of its first artifact, or only the title if it has none."""
        return f"{self.title} {self.maven[0].rpartition(':')[2]}" if self.maven else self.title

    @property
    def missing(self) -> str:
        """Return the name of the part of the broker that is not installed, or an empty string if all parts are
        installed."""
        if self.program is None:
            return f"{self.command[0]}, which runs {self.title}," if self.maven else self.title
        if absent := next((each for each in self.needs if find_program(each) is None), ""):
            return f"{absent}, which {self.title} needs,"
        return self.title if self.maven and not self.jars.is_dir() else ""

    @property
    def program(self) -> str | None:
        """Return the path of the broker's program, or None if the program is not installed."""
        if self.command[0] == PYTHON:
            return self._python() if self._python else None
        return find_program(self.command[0])


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a manifest's text with each name in braces replaced with its value."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def without_secret(text: str) -> str:
    """Return a text of the manifest as it applies to a broker without a password.

    Lines and parts of addresses that contain the password are omitted.
    """
    lines = re.sub(r"\w+:\{secret\}@", "", text).splitlines(keepends=True)
    return "".join(line for line in lines if "{secret" not in line)


def find_program(program: str) -> str | None:
    """Return the path of a program, or None if the program is not found. The function searches PATH and the directories
    in which brokers are usually installed.

    The name of the program may begin with an environment variable that lists several directories.
    """
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS])
    return next(filter(None, (shutil.which(each, path=places) for each in expand_paths(program))), None)
