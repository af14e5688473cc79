"""`hopmeter build` on several hosts at once: each builds for itself, and this process shows what it reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from hopmeter.errors import HopmeterError
from hopmeter.hosts import checks
from hopmeter.hosts.host_build import BuildOrder
from hopmeter.hosts.session import HostSession, naming
from hopmeter.hosts.upkeep_requests import Upkeep
from hopmeter.system.scratch_dir import ScratchDir
from hopmeter.system.untrusted_json import parse

LOOK_S = 0.3


@dataclass(frozen=True)
class HostOutcome:
    """What became of one adapter on one host; `adapter` is empty for what became of the whole build."""

    host: str
    adapter: str = ""
    ready: bool = False
    version: str = ""
    seconds: float = 0.0
    code: str = ""
    error: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, host: str, row: Mapping[str, Any]) -> HostOutcome:
        """Read a line of `hopmeter build --json` on a host. Raises ValueError for anything else."""
        words = ("transport", "language", "version", "code", "error", "remedy")
        told = {key: checks.printable({key: row.get(key) or ""}, key) for key in words}
        adapter = f"{told.pop('transport')} {told.pop('language')}"
        return cls(host, adapter, row.get("ready") is True, seconds=checks.decimal(row, "seconds"), **told)


class Building:
    """A build that runs on one host."""

    def __init__(self, host: str, ask: Callable[..., dict[str, Any]], order: BuildOrder) -> None:
        """Start it. Raises HostError."""
        self.host, self._ask, self._offset = host, ask, 0
        self.is_over = False
        words = {"transports": list(order.transports), "languages": list(order.languages)}
        with naming(host):
            ask("start-build", **words, system_packages=order.system_packages)

    def read(self) -> Iterator[HostOutcome]:
        """Yield what it has reported since. A host that is gone has failed; the others go on."""
        try:
            with naming(self.host):
                yield from self._read()
        except HopmeterError as failed:
            self.is_over = True
            yield HostOutcome(self.host, code=failed.code, error=failed.what, remedy=failed.remedy)

    def _read(self) -> Iterator[HostOutcome]:
        answer = self._ask("read-build", offset=self._offset)
        self._offset = checks.number(answer, "offset")
        for line in checks.text(answer, "text", 1 << 20).splitlines():
            yield HostOutcome.of(self.host, checks.table({"row": parse(line)}, "row"))
        if answer.get("code") is not None:
            self.is_over = True
            yield self._whole(answer)

    def _whole(self, answer: Mapping[str, Any]) -> HostOutcome:
        code, said = checks.number(answer, "code", 255), checks.printable(answer, "errors", 1 << 16)
        return HostOutcome(self.host, ready=code == 0, error=f"exit code {code}: {said[-300:]}" if code else "")


def build_on_hosts(asks: Mapping[str, Callable[..., dict[str, Any]]], order: BuildOrder) -> Iterator[HostOutcome]:
    """Build on all hosts at once, and yield what they report as it comes; `asks` has what asks each host. Raises
    HostError if one does not begin."""
    left = [Building(name, ask, order) for name, ask in asks.items()]
    while left:
        for each in left:
            yield from each.read()
        left = [each for each in left if not each.is_over]
        time.sleep(LOOK_S if left else 0)


@contextmanager
def asks_of(session: HostSession) -> Iterator[dict[str, Callable[..., dict[str, Any]]]]:
    """Return what asks each host of a session to build, this machine included; builds here end with the `with` block,
    those of other hosts with their agents."""
    with ScratchDir() as ground, closing(Upkeep(ground.directory / "build")) as here:

        def ask_here(do: str, **ask: Any) -> dict[str, Any]:
            return here.start_build(ask) if do == "start-build" else here.read_build(ask)

        remote = {name: each.connection.ask for name, each in session.remote.items()}
        yield {name: remote.get(name, ask_here) for name in session.names}
