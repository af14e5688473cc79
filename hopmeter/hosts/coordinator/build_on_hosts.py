"""`hopmeter build` on several hosts at once. Each host builds its own programs and reports the outcomes to this
process, which yields them."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hopmeter.errors import HopmeterError
from hopmeter.hosts.coordinator.remote_host import RemoteHost
from hopmeter.hosts.coordinator.session import HostSession, naming
from hopmeter.hosts.protocol import value_checks
from hopmeter.hosts.protocol.host_build import BuildOrder, HostBuild
from hopmeter.hosts.protocol.schema_files import gather_files
from hopmeter.schemas.payload import KIND
from hopmeter.system.scratch_dir import ScratchDir
from hopmeter.system.untrusted_json import parse

LOOK_S = 0.3


@dataclass(frozen=True)
class HostOutcome:
    """The outcome of building one target on one host. An empty `target` stands for the whole build."""

    host: str
    target: str = ""
    ready: bool = False
    version: str = ""
    seconds: float = 0.0
    code: str = ""
    error: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, host: str, row: Mapping[str, Any]) -> HostOutcome:
        """Convert a line that `hopmeter build --json` printed on a host to an outcome. Raises ValueError if the line is
        malformed."""
        texts = {key: value_checks.printable({key: row.get(key) or ""}, key) for key in (*NAMES, *WORDS)}
        target = " ".join(filter(None, (texts.pop(key) for key in NAMES)))
        return cls(host, target, row.get("ready") is True, seconds=value_checks.decimal(row, "seconds"), **texts)


NAMES = ("transport", "codec", "language")
WORDS = ("version", "code", "error", "remedy")
ORDERED = ("transports", "languages", "codecs", "settings")
"""The fields of a build order that are lists of strings."""


class Builder(Protocol):
    """The interface of a builder, which starts a build on one host and reads the output of the build."""

    def start(self, order: BuildOrder) -> None:
        """Start the requested build. The paths in `order.messages` refer to schema files on this machine."""

    def read(self, offset: int) -> dict[str, Any]:
        """Return everything that the build has printed after a byte offset. If the build has ended, the answer contains
        its exit code."""


class BuilderHere:
    """The builder for this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._build: HostBuild | None = None

    def start(self, order: BuildOrder) -> None:
        """Start a build."""
        self._build = HostBuild(order, self._folder)

    def read(self, offset: int) -> dict[str, Any]:
        """Return everything that the build has printed after a byte offset. If the build has ended, the answer contains
        its exit code."""
        assert self._build is not None, "it was started"
        return self._build.report(offset)

    def close(self) -> None:
        """Stop the build."""
        if self._build is not None:
            self._build.close()


class BuilderThere:
    """The builder for a remote host, on which an agent runs the build."""

    def __init__(self, host: RemoteHost) -> None:
        self._host = host

    def start(self, order: BuildOrder) -> None:
        """Send the schema files of the messages to the host, and start the build there."""
        words: dict[str, Any] = {key: list(getattr(order, key)) for key in ORDERED}
        gathered = [gather_files(f"{KIND}{each}", order.codecs) for each in order.messages]
        sent = [each.send(self._host.send_file) for each in gathered]
        self._host.connection.ask("start-build", **words, messages=sent, system_packages=order.system_packages)

    def read(self, offset: int) -> dict[str, Any]:
        """Request everything that the build has printed after a byte offset."""
        return self._host.connection.ask("read-build", offset=offset)


class Building:
    """A running build on one host."""

    def __init__(self, host: str, builder: Builder) -> None:
        self.host, self._builder, self._offset = host, builder, 0
        self.is_over = False

    def read(self) -> Iterator[HostOutcome]:
        """Yield the outcomes that the host has reported since the previous call. If the host becomes unreachable, the
        builds on the other hosts continue."""
        try:
            with naming(self.host):
                yield from self._read()
        except HopmeterError as failed:
            self.is_over = True
            yield HostOutcome(self.host, code=failed.code, error=failed.what, remedy=failed.remedy)

    def _read(self) -> Iterator[HostOutcome]:
        answer = self._builder.read(self._offset)
        self._offset = value_checks.number(answer, "offset")
        for line in value_checks.text(answer, "text", 1 << 20).splitlines():
            yield HostOutcome.of(self.host, value_checks.table({"row": parse(line)}, "row"))
        if answer.get("code") is not None:
            self.is_over = True
            yield self._whole(answer)

    def _whole(self, answer: Mapping[str, Any]) -> HostOutcome:
        code, said = value_checks.number(answer, "code", 255), value_checks.printable(answer, "errors", 1 << 16)
        return HostOutcome(self.host, ready=code == 0, error=f"exit code {code}: {said[-300:]}" if code else "")


def build_on_hosts(session: HostSession, order: BuildOrder) -> Generator[HostOutcome]:
    """Build on all hosts of a session at once, and yield the outcomes as they are reported.

    When the iterator ends, the build on this machine is stopped. A build on another host stops when the agent of that
    host exits. Raises HostError if a build cannot be started.
    """
    with ScratchDir() as ground, closing(BuilderHere(ground.directory / "build")) as here:
        builders = {
            name: BuilderThere(session.remote[name]) if name in session.remote else here for name in session.names
        }
        for name, each in builders.items():
            with naming(name):
                each.start(order)
        left = [Building(name, each) for name, each in builders.items()]
        while left:
            for building in left:
                yield from building.read()
            left = [building for building in left if not building.is_over]
            time.sleep(LOOK_S if left else 0)
