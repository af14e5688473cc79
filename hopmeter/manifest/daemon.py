"""The broker, master or other daemon that a transport needs: how to start it, and how to prove that it serves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Annotated

from pydantic import Field, PrivateAttr, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.strict import Strict

LINE = "line: "
PYTHON = "{python}"
"""As the first word of a command: the Python of the transport's own nodes."""
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders of daemons that are not on every user's PATH."""


class Daemon(Strict):
    """`[daemon]` of a manifest. Its texts may contain `{port}` (a free one), `{directory}` (private), `{run}`,
    `{host}` (the address it listens on), `{here}` (the address of the reader's machine, in `environment`), and any
    setting's name in braces."""

    title: str
    """The name in messages and results."""
    command: Annotated[list[str], Field(min_length=1)]
    """Its first word may name a variable of the environment, `$YARP_ROOT/bin/yarpserver`, or be `{python}`."""
    apt: list[str] = []
    version: list[str] = []
    """A command that prints the version in its first line."""
    ready: str
    """The proof that it serves: `port` (it accepts a connection) or `line: TEXT` (it printed the line)."""
    address: str = ""
    """The address for the adapters."""
    single: bool = False
    """Whether only one may run on a machine, so that nothing else that needs it runs at the same time."""
    files: dict[str, str] = {}
    """Files that are written into its folder before it starts, by name."""
    leftover_files: list[str] = []
    """Files outside its folder that belong to it alone and remain after a crash. `{group}` is the user's group."""
    environment: dict[str, str] = {}
    """Environment variables for the daemon and for the nodes."""

    _python: Callable[[], str | None] | None = PrivateAttr(default=None)
    """Returns the path of that Python when it is needed: hopmeter may have to build it first."""

    @model_validator(mode="after")
    def _ready_is_known(self) -> Daemon:
        if self.ready != "port" and not self.line.strip():
            raise RefusedValueError("E-VALUE-FORM", f'ready = "{self.ready}" is neither "port" nor "line: TEXT"')
        return self

    @property
    def line(self) -> str:
        """Return the line that proves the daemon; empty if a port proves it."""
        return self.ready.removeprefix(LINE) if self.ready.startswith(LINE) else ""

    @property
    def program(self) -> str | None:
        """Return the path of the program, or None if it is not installed."""
        if self.command[0] == PYTHON:
            return self._python() if self._python else None
        return find_program(self.command[0])


def find_program(program: str) -> str | None:
    """Return the path of a program, also in the usual folders of daemons; its name may begin with an environment
    variable."""
    program = os.path.expandvars(program)
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]))
