"""Runs the peers' own tools and bare programs, once for each result."""

from __future__ import annotations

import re
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ending import Run
from programs import PATIENCE_S, Crate, Program, Script, ToolFailedError, number_of

from hopmeter import manifest
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.broker import BrokerContext, BrokerProcess

DOMAINS = 99
TRIES = 20
"""How often to start a client again if its server is not ready yet."""
LOOK_S = 0.1

Words = tuple[str, ...]


def _places(directory: str, cores: str, frame_bytes: int, rounds: int) -> dict[str, object]:
    """Return the command, with each word in braces replaced by its value."""
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
    """A bare program, and the broker of its transport if that needs one, pinned as hopmeter pins them."""

    program: Program | Crate | Script
    words: Words
    broker: str = ""
    """`{broker}` in the command stands for the address of the broker; the program gets the environment that the broker
    requires."""
    nanoseconds: float = 1.0
    """The number of nanoseconds in one unit of the program's output."""

    def median_us(self, cores: str, frame_bytes: int, rounds: int) -> float:
        """Run the program once, with both sides on one core or each side on its own core."""
        with Run() as run:
            places = _places(run.directory, cores, frame_bytes, rounds)
            broker = _broker(self.broker, Path(run.directory), _last(cores)) if self.broker else nullcontext()
            with broker as serving:
                address, env = (serving.address.partition(" ")[0], serving.environment) if serving else ("", None)
                words = [word.format(**places, broker=address) for word in self.words]
                return number_of(run, self.program, *words, env=env) * self.nanoseconds / 1000


@contextmanager
def _broker(transport: str, directory: Path, core: int) -> Iterator[BrokerProcess]:
    """Start a fresh broker with the transport's default settings."""
    known = manifest.every()[transport]
    assert known.broker is not None
    settings, log = known.resolve_settings({}), directory / "broker.log"
    ground = BrokerContext(secrets.token_hex(8), directory / "broker", settings, log, core, anonymous=True)
    with ExitStack() as ends:
        try:
            broker = ends.enter_context(BrokerProcess(known.broker, ground))
        except TrialFailedError as failed:
            raise ToolFailedError(": ".join(filter(None, (failed.reason, failed.remedy)))) from failed
        yield broker


@dataclass(frozen=True)
class Tool:
    """The peer's own tool, as a server and a client, each in its own session; the client prints a result."""

    server: Words
    client: Words
    figure: str
    """A regular expression that captures the result in microseconds; the last match counts."""
    times: float = 1.0
    """How many results add up to one round trip."""
    environment: Mapping[str, str] | None = None

    def median_us(self, cores: str, frame_bytes: int, rounds: int) -> float:
        """Run the tool once; the tool decides how many rounds it measures."""
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
