"""The subprocess that connects to an agent: `ssh`, or any command that runs an agent on its stdin and stdout."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.hosts.protocol.line_channel import LineChannel
from hopmeter.system.input_files import read_tail
from hopmeter.system.processes import end_with_launcher, kill_group

ENDING_S = 20.0
"""The timeout in seconds for an agent to stop all processes that it has started."""
LAST_WORDS_S = 2.0
"""How long, in seconds, to wait for the command's exit after the channel has closed."""
MOST_CHARACTERS = 400
MOST_BYTES = 10_000
PLAIN = (
    (r"connect to the Docker daemon|unable to connect to Podman", "the daemon of its container engine does not run"),
    (r"permission denied .*Docker daemon", "you do not have permission to use its container engine"),
    (r"No such image|image not known|Unable to find image", "there is no such image; build it, or pull it"),
    (r"Could not resolve hostname", "its name is unknown to ssh"),
    (r"Host key verification failed", "ssh does not trust its host key; log in once with `ssh` and accept the key"),
    (r"Permission denied \(", "it refuses your key; ssh must log in without a password (`ssh-copy-id` sets that up)"),
    (r"Connection refused", "no ssh server listens there"),
    (r"Connection timed out|No route to host|Network is unreachable", "no connection reaches it"),
    (r"command not found|hopmeter: not found|No such file or directory", "there is no hopmeter; set `command`"),
    (
        r"Timeout, server .* not responding|Broken pipe|Connection (?:to \S+ )?(?:reset|closed)",
        "the connection was cut",
    ),
)
"""Patterns in the output of ssh, shells and container engines, and their meanings."""


class AgentProcess:
    """A running command that provides the channel to an agent on stdin and stdout."""

    is_killed_with_launcher = True
    """Whether the kernel kills the command when this process is killed. Even without this, the command's stdin closes
    if this process is killed."""

    def __init__(self, name: str, command: Sequence[str], errors: Path) -> None:
        """Start the command, and redirect its stderr to a file. Raises HostError if the command does not exist."""
        self._errors = errors
        try:
            with errors.open("wb") as file:
                self._process = subprocess.Popen(
                    **(end_with_launcher(command) if self.is_killed_with_launcher else {"args": command}),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    # The command runs in its own session, so that it does not receive Ctrl-C and this process can stop
                    # the agents in order.
                    start_new_session=True,
                )
        except OSError as cause:
            what = f"the command of the host {name} does not start: {command[0]}: {cause.strerror}"
            raise HostError("E-HOST-UNREACHABLE", what, "correct its entry in the --hosts file") from cause
        assert self._process.stdin is not None and self._process.stdout is not None, "they are pipes"
        self._pipes = (self._process.stdin, self._process.stdout)
        self.channel = LineChannel(self._process.stdout.fileno(), self._process.stdin.fileno())

    def why_gone(self) -> str:
        """Return why the command exited, or an empty string if the command is still running."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(LAST_WORDS_S)
            return explain(read_tail(self._errors, MOST_BYTES), code)
        return ""

    def hang_up(self) -> None:
        """Close the channel to the agent, so that the agent stops all processes that it has started."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()

    def close(self) -> None:
        """Close the channel to the agent, and wait until the agent has exited."""
        self.hang_up()
        try:
            self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            self._process.wait()


def explain(printed: str, code: int) -> str:
    """Return why a command that connects to an agent has exited, judged by its output and exit code."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    last = "".join(each if each.isprintable() else " " for each in " | ".join(lines[-3:]))[-MOST_CHARACTERS:]
    meaning = next((plain for pattern, plain in PLAIN if re.search(pattern, printed)), "")
    ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    said = f"its command {ended}{f', and printed: {last}' if last else ''}"
    return f"{meaning} ({said})" if meaning else said
