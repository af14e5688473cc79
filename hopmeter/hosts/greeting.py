"""The first message of both ends: the versions, which have to agree, and the machine of the agent."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hopmeter
from hopmeter.errors import HopmeterError
from hopmeter.manifest.readiness import SPEC_FORMAT
from hopmeter.system.processes import boot_id

TEXT = re.compile(r"[\x20-\x7e]{0,100}")
"""A word of a peer that is printed: a short line without control characters."""


class HostError(HopmeterError):
    """A host cannot be used; nothing was measured on it."""

    exit_code = 2


@dataclass(frozen=True)
class Greeting:
    """What one end says of itself."""

    hopmeter: str
    spec_format: int
    machine: str = ""
    """The name that the host has itself."""
    clock: str = ""
    """An id of CLOCK_MONOTONIC: two processes with the same id read the same clock."""
    pid: int = 0

    @classmethod
    def own(cls) -> Greeting:
        """Return the greeting of this process."""
        return cls(hopmeter.__version__, SPEC_FORMAT, os.uname().nodename, own_clock(), os.getpid())

    @classmethod
    def of(cls, message: dict[str, Any]) -> Greeting:
        """Read the greeting of a peer. Raises ValueError for anything else."""
        numbers = [message.get(name) for name in ("spec_format", "pid")]
        words = [message.get(name) for name in ("hopmeter", "machine", "clock")]
        if message.get("say") != "hello" or not all(type(each) is int for each in numbers):
            raise ValueError("no greeting")
        if not all(isinstance(each, str) and TEXT.fullmatch(each) for each in words):
            raise ValueError("a word of the greeting is no short text")
        return cls(str(words[0]), int(numbers[0] or 0), str(words[1]), str(words[2]), int(numbers[1] or 0))

    def as_message(self) -> dict[str, Any]:
        """Return the greeting as a message."""
        return {"say": "hello", **vars(self)}

    def check(self, name: str) -> None:
        """Raise HostError if this peer has another version than this process."""
        own = Greeting.own()
        if (self.hopmeter, self.spec_format) == (own.hopmeter, own.spec_format):
            return
        versions = [f"hopmeter {each.hopmeter} (spec format {each.spec_format})" for each in (self, own)]
        raise HostError(
            "E-HOST-VERSION",
            f"{name} has {versions[0]}, and this is {versions[1]}",
            "install the same version on all hosts",
        )


def own_clock() -> str:
    """Return the id of this process's CLOCK_MONOTONIC: that of the boot and of the time namespace."""
    try:
        return f"{boot_id()} {Path('/proc/self/ns/time').readlink()}"
    except OSError:
        return boot_id()
