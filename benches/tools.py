"""Run the peers' own tools and bare programs once per measurement."""

from __future__ import annotations

import re
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ending import Run
from programs import PATIENCE_S, Crate, Program, Script, ToolFailedError, number_of

from hopmeter import manifest
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess

DOMAINS = 99
TRIES = 20
"""How often to restart a client while its server is not ready."""
LOOK_S = 0.1

Words = tuple[str, ...]


def _places(directory: str, cores: str, frame_bytes: int, rounds: int) -> dict[str, object]:
    """Return the values of a command's placeholders, with a free port and a random domain."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    domain = 1 + secrets.randbelow(DOMAINS)
    fixed = {"directory": directory, "port": port, "domain": domain, "cores": cores}
    return {**fixed, "bytes": frame_bytes, "rounds": rounds}


def _first(cores: str) -> int:
    return int(cores.partition(",")[0])


def _last(cores: str) -> int:
    return int(cores.rpartition(",")[2])


def _pin(core: int, words: Words, places: Mapping[str, object]) -> list[str]:
    return ["taskset", "--cpu-list", str(core), *(word.format(**places) for word in words)]


@dataclass(frozen=True)
class Bare:
    """A bare program and its optional broker, pinned to the same cores as hopmeter's nodes and brokers."""

    program: Program | Crate | Script
    words: Words
    broker: str = ""
    """The transport whose broker is started; `{broker}` in the command stands for the broker's address."""
    nanoseconds: float = 1.0
    """The unit of the program's output, in nanoseconds."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings with which hopmeter starts the broker. A setting that is not listed has its default value."""

    @property
    def missing(self) -> str:
        """The unset environment variable that must name the program's library; usually empty."""
        is_missing = isinstance(self.program, Program) and not self.program.is_possible
        return self.program.root if is_missing else ""

    def median_us(self, cores: str, frame_bytes: int, rounds: int) -> float:
        """Run the program once and return its result in microseconds. The two processes share one core, or have one
        core each."""
        with Run() as run:
            places = _places(run.directory, cores, frame_bytes, rounds)
            broker = self._start_broker(Path(run.directory), cores) if self.broker else nullcontext()
            with broker as serving:
                address, env = (serving.address.partition(" ")[0], serving.environment) if serving else ("", None)
                words = [word.format(**places, broker=address) for word in self.words]
                return number_of(run, self.program, *words, env=env) * self.nanoseconds / 1000

    def _start_broker(self, directory: Path, cores: str) -> AbstractContextManager[BrokerProcess]:
        return _broker(self.broker, self.settings, directory, _last(cores))


@contextmanager
def _broker(transport: str, given: Mapping[str, Any], directory: Path, core: int) -> Iterator[BrokerProcess]:
    """Start a new broker with the given settings of the transport, and stop it after the `with` block."""
    known = manifest.every()[transport]
    assert known.broker is not None
    settings, log = known.resolve_settings(given), directory / "broker.log"
    ground = BrokerContext(secrets.token_hex(8), directory / "broker", settings, log, core, anonymous=True)
    with ExitStack() as ends:
        try:
            broker = ends.enter_context(BrokerProcess(known.broker, ground))
        except TrialFailedError as failed:
            raise ToolFailedError(": ".join(filter(None, (failed.reason, failed.remedy)))) from failed
        yield broker


@dataclass(frozen=True)
class Tool:
    """The peer's own tool, with a server and a client in separate sessions; the client prints the result."""

    missing: ClassVar[str] = ""
    server: Words
    client: Words
    figure: str
    """A regular expression that captures the result in microseconds; the last match in the output counts."""
    times: float = 1.0
    """The factor that converts the printed value to a round trip."""
    environment: Mapping[str, str] | None = None

    def median_us(self, cores: str, frame_bytes: int, rounds: int) -> float:
        """Run the tool once and return its result in microseconds. The tool chooses its number of rounds."""
        with Run() as run:
            places = _places(run.directory, cores, frame_bytes, rounds)
            server = _pin(_last(cores), self.server, places)
            client = _pin(_first(cores), self.client, places)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            serving = run.start(server, env=self.environment, **quiet)
            return self.times * self._ask(run, client, serving)

    def _ask(self, run: Run, client: list[str], serving: subprocess.Popen[str]) -> float:
        said = ""
        for _ in range(TRIES):
            try:
                serving.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                done = run.capture(client, PATIENCE_S, env=self.environment)
                said = done.stdout + done.stderr
                if found := re.findall(self.figure, said):
                    return float(found[-1])
        raise ToolFailedError(f"{' '.join(client)} gave no figure; it said: {said.strip()[-400:]}")
