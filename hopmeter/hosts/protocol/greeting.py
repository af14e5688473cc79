"""The first message that agent and coordinator exchange: their versions, which must match, and facts about their
machines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hopmeter
from hopmeter.errors import HopmeterError
from hopmeter.manifest.readiness import SPEC_FORMAT
from hopmeter.system.paths import short_folder
from hopmeter.system.processes import boot_id

TEXT = re.compile(r"[\x20-\x7e]{0,100}")
"""Printable text from a peer: at most 100 characters, without control characters."""


class HostError(HopmeterError):
    """A host cannot be used, and nothing was measured on it."""

    exit_code = 2


def join_errors(failures: Sequence[HopmeterError]) -> HopmeterError:
    """Return one error that combines the texts and remedies of all `failures`."""
    if len(failures) == 1:
        return failures[0]
    texts, remedies = ("; ".join(dict.fromkeys(getattr(each, key) for each in failures)) for key in ("what", "remedy"))
    return type(failures[0])(failures[0].code, texts, remedies)


@dataclass(frozen=True)
class Greeting:
    """The facts that an agent or a coordinator reports about itself."""

    hopmeter: str
    spec_format: int
    machine: str = ""
    """The machine's own name."""
    clock: str = ""
    """An id of CLOCK_MONOTONIC. Processes with the same id read the same clock."""
    network: str = ""
    """An id of the network stack. Processes with the same id can connect over any socket."""
    files: str = ""
    """Ids of the file system and of the directory for sockets. Two processes with a common id can access the same
    files."""
    pid: int = 0
    role: str = "coordinator"
    """`agent` or `coordinator`. A program that merely echoes its input thus answers with the wrong role."""

    @classmethod
    def own(cls, role: str = "coordinator") -> Greeting:
        """Return the greeting that describes this process."""
        machine, files = os.uname().nodename, f"{folder_id(Path('/'))} {folder_id(short_folder())}"
        own = (machine, own_id("time"), own_id("net"), files)
        return cls(hopmeter.__version__, SPEC_FORMAT, *own, os.getpid(), role)

    @classmethod
    def of(cls, message: dict[str, Any], role: str) -> Greeting:
        """Parse the greeting that a peer with this role has sent. Raises ValueError if the message is not a valid
        greeting of a peer with this role."""
        numbers = {name: message.get(name) for name in ("spec_format", "pid")}
        words = {name: message.get(name) for name in ("hopmeter", "machine", "clock", "network", "role")}
        words["files"] = message.get("files", "")
        if message.get("say") != "hello" or not all(type(each) is int for each in numbers.values()):
            raise ValueError("no greeting")
        if not all(isinstance(each, str) and TEXT.fullmatch(each) for each in words.values()):
            raise ValueError("a field of the greeting is not a short text")
        if words["role"] != role:
            raise ValueError(f"no {role} sends it")
        return cls(**{**words, **numbers})  # type: ignore[arg-type]

    def as_message(self) -> dict[str, Any]:
        """Convert the greeting to a message for the peer."""
        return {"say": "hello", **vars(self)}

    def check(self, name: str) -> None:
        """Raise HostError if the peer and this process run different versions of hopmeter."""
        own = Greeting.own()
        if (self.hopmeter, self.spec_format) == (own.hopmeter, own.spec_format):
            return
        versions = [f"hopmeter {each.hopmeter} (spec format {each.spec_format})" for each in (self, own)]
        raise HostError(
            "E-HOST-VERSION",
            f"{name} has {versions[0]}, and this is {versions[1]}",
            "install the same version of hopmeter on all hosts",
        )


def folder_id(folder: Path) -> str:
    """Return the device and inode of a directory. A path has one id inside a container, and a different id outside."""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def own_id(kind: str) -> str:
    """Return an id that all processes share that run in this boot of the machine and in the same namespace of the given
    kind."""
    try:
        return f"{boot_id()} {Path(f'/proc/self/ns/{kind}').readlink()}"
    except OSError:
        return boot_id()
