"""Starts, watches and stops the brokers that some transports need, and checks that each broker is ready."""

from __future__ import annotations

import base64
import contextlib
import grp
import hashlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hopmeter.manifest.readiness import environment
from hopmeter.manifest.tables.broker import BrokerTable, fill, find_program, without_secret
from hopmeter.node.contract import LOOPBACK
from hopmeter.runtime.failures import TrialFailedError
from hopmeter.runtime.processes.credentials import FOLDER as CREDENTIALS
from hopmeter.runtime.processes.stops import is_stopped
from hopmeter.system.processes import Reading, die_with_launcher, has_ended, kill_group, reading
from hopmeter.system.scratch_dir import remove_path

PATIENCE_S = 120.0
"""How long a broker may take to become ready. RabbitMQ needs 4 s of CPU time, and a busy machine is slow."""
LOOK_S = 0.02
QUICK_LOOK_S = 0.005
"""The pause between two checks of whether a restarted broker is ready, in seconds. The pause is short because the time
until the broker is ready is a result."""
GRACE_S = 8.0
"""How long, in seconds, a broker may take to exit after SIGTERM. The time is generous because only the broker itself
can release its shared memory."""
TRIES = 3
"""The maximum number of attempts to start a broker. An attempt fails if another process takes the chosen port first."""
TAIL_CHARACTERS = 400


@dataclass(frozen=True)
class BrokerContext:
    """The values that start a broker: the directory, settings, log, core and address."""

    run: str
    directory: Path
    """A private directory for the broker's files."""
    settings: Mapping[str, Any]
    log: Path
    core: int | None = None
    host: str = LOOPBACK
    """The address on which the broker listens."""
    anonymous: bool = False
    """Whether the broker also accepts clients without its password. Such clients are not hopmeter nodes."""

    @property
    def credentials(self) -> Path:
        """Return the folder with the broker's keys, which is next to the folder of the broker's files."""
        return self.directory.parent / CREDENTIALS


class BrokerProcess:
    """A broker that runs inside the `with` block. The broker exits no later than the launcher."""

    def __init__(self, told: BrokerTable, ground: BrokerContext) -> None:
        self.title = told.title
        self._told, self._ground = told, ground
        self.address = ""
        self.environment: dict[str, str] = {}
        self._is_down = False
        self._log_start = 0
        """The size of the log, in bytes, when the current process was started."""

    def __enter__(self) -> Self:
        for _ in range(TRIES - 1):
            try:
                return self._serving()
            except TrialFailedError as failed:
                if not failed.crash:
                    raise
        return self._serving()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serving(self) -> Self:
        self._secret = secrets.token_hex(16)
        self._port, self._port2 = _free_ports(self._ground.host)
        self._start()
        try:
            self._prove()
        except BaseException:
            self.close()
            raise
        return self

    def kill(self) -> int:
        """Kill the broker and its children at once, without letting the broker close anything. Return a time on
        CLOCK_MONOTONIC at which the broker had ended. Afterwards, call either `start_again` or `close`."""
        kill_group(self.pid)
        self._process.wait()
        killed_ns = time.monotonic_ns()
        os.close(self.exit_watch)
        self._is_down = True
        return killed_ns

    def start_again(self) -> tuple[int, int]:
        """Start a killed broker with the same port, password, settings and directory. Return when the process was
        started and when it was ready, on CLOCK_MONOTONIC. Raises TrialFailedError if the broker does not become
        ready."""
        started_ns = time.monotonic_ns()
        self._start()
        self._is_down = False
        self._prove(QUICK_LOOK_S)
        return started_ns, time.monotonic_ns()

    def _start(self) -> None:
        self._ground.directory.mkdir(parents=True, exist_ok=True)
        for name, text in self._told.files.items():
            file = self._ground.directory / self._fill_placeholders(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._fill_placeholders(text), encoding="utf-8")
            file.chmod(0o600)
        self.address = self._fill_placeholders(self._told.address)
        self.environment = self._fill_all(self._told.environment)
        own = self._fill_all(self._told.own_environment)
        command = [self._told.program or self._told.command[0], *map(self._fill_placeholders, self._told.command[1:])]
        self._log_start = self._ground.log.stat().st_size if self._is_down else 0
        with self._ground.log.open("ab" if self._is_down else "wb") as log:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._ground.directory,
                    env={**environment(), **self.environment, **own},
                    start_new_session=True,
                    preexec_fn=self._prepare,
                )
            except OSError as cause:
                raise TrialFailedError(
                    "E-BROKER-MISSING",
                    f"{self.title} does not start: {cause.strerror}",
                    f"install {self._told.command[0]}",
                ) from cause
        self.pid = self._process.pid
        self.exit_watch = os.pidfd_open(self.pid)

    def _prepare(self) -> None:
        die_with_launcher()
        if self._ground.core is not None:
            os.sched_setaffinity(0, {self._ground.core})

    def _fill_all(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: self._fill_placeholders(text) for name, text in texts.items()}

    def _fill_placeholders(self, text: str) -> str:
        places = {"port": self._port, "port2": self._port2, "directory": self._ground.directory, "group": _group()}
        places |= {"host": self._ground.host, "here": self._ground.host}
        places |= {"secret": self._secret, "secret_hash": _hash(self._secret), "anonymous": self._ground.anonymous}
        places |= {"jars": self._told.jars} if self._told.maven else {}
        text = without_secret(text) if self._ground.anonymous else text
        access = {name: word.choose(self._ground.anonymous) for name, word in self._told.access.items()}
        settings = {name: _in_words(value) for name, value in self._ground.settings.items()}
        texts = {name: by.get(settings.get(name, ""), "") for name, by in self._told.setting_texts.items()}
        places |= {"credentials": self._ground.credentials}
        words = {**settings, **texts, **places, **access, "run": self._ground.run}
        return fill(text, {name: _in_words(value) for name, value in words.items()})

    def _prove(self, look_s: float = LOOK_S) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._serves():
            self.check()
            if time.monotonic() > deadline:
                raise TrialFailedError(
                    "E-BROKER-SILENT", f"{self.title} was not ready within {PATIENCE_S:.0f} s{self._last_log_lines()}"
                )
            time.sleep(look_s)

    def _serves(self) -> bool:
        if self._told.line:
            return self._told.line in self._log_text(self._log_start)
        with contextlib.suppress(OSError), socket.create_connection((self._ground.host, self._port), timeout=1):
            return True
        return False

    def check(self) -> None:
        """Raise TrialFailedError if the broker has exited or is stopped, because the nodes then receive no more
        messages."""
        if has_ended(self.pid):
            raise TrialFailedError(
                "E-BROKER-DIED",
                f"{self.title} has ended{self._last_log_lines()}",
                f"read logs/{self._ground.log.name}",
                crash=True,
            )

        if is_stopped(self.pid):
            raise TrialFailedError(
                "E-BROKER-STOPPED",
                f"the broker does not answer: the process of {self.title} is stopped",
                "continue the process, and measure again",
            )

    def _last_log_lines(self) -> str:
        lines = [line.strip() for line in self._log_text().splitlines() if line.strip()]
        return f"; its log ends: {' | '.join(lines[-3:])[-TAIL_CHARACTERS:]}" if lines else ""

    def _log_text(self, start: int = 0) -> str:
        return self._ground.log.read_bytes()[start:].decode(errors="replace")

    def reading(self) -> Reading:
        """Return the resources that the broker has used so far."""
        return reading(self.pid)

    def version(self) -> str:
        """Return the version that the broker reports, as one line. If the broker reports no version, return the
        broker's title and the version that the manifest pins."""
        if not self._told.version:
            return self._told.pinned_version
        program, *options = self._told.version
        command = [find_program(program) or self._told.program or program, *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=False)
        return next(iter((done.stdout or done.stderr).splitlines()), self.title).strip()

    def close(self) -> None:
        """Terminate the broker so that it can release its resources, then kill the broker and its children."""
        if not self._is_down:
            self._end()
        for path in self._told.leftover_files:
            with contextlib.suppress(OSError):
                remove_path(Path(self._fill_placeholders(path)))
        with contextlib.suppress(OSError):
            if self._ground.log.stat().st_size == 0:
                self._ground.log.unlink()

    def _end(self) -> None:
        # Popen's methods are not used, because they would reap the process. The process id and the process group stay
        # reserved only until the process has been reaped.
        os.kill(self.pid, signal.SIGTERM)
        os.kill(self.pid, signal.SIGCONT)  # a stopped broker would not handle SIGTERM
        self._wait()
        kill_group(self.pid)
        self._process.wait()
        os.close(self.exit_watch)

    def _wait(self) -> None:
        deadline = time.monotonic() + GRACE_S
        while not has_ended(self.pid) and time.monotonic() < deadline:
            time.sleep(LOOK_S)


def _group() -> str:
    """Return the name of the user's group, or the group's number if the group has no name. Some brokers use the group
    name for shared objects."""
    try:
        return grp.getgrgid(os.getgid()).gr_name
    except KeyError:
        return str(os.getgid())


def _hash(secret: str) -> str:
    """Return a password hash in mosquitto's format `$7$`: PBKDF2 with SHA-512. A few iterations suffice, because the
    password has 128 random bits."""
    salt, rounds = os.urandom(12), 101
    made = hashlib.pbkdf2_hmac("sha512", secret.encode(), salt, rounds)
    return f"$7${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(made).decode()}"


def _in_words(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _free_ports(host: str) -> tuple[int, int]:
    """Return two different ports that are both free."""
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind((host, 0))
        return one.getsockname()[1], other.getsockname()[1]
