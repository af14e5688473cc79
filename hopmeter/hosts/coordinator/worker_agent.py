"""What a worker of Dask does for a coordinator: it runs an agent as a process of its own, and passes its lines on.

The coordinator calls these functions on the worker, in the thread of its event loop. An agent ends with the worker,
and when no coordinator has asked for its lines for a while.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import ExitStack, suppress
from typing import Any

from hopmeter.hosts.protocol.agent_process import ENDING_S, MOST_BYTES, explain

PIECE = 1 << 18
READING_S = 5.0
"""How long `read` waits for lines before it returns without any."""
SILENCE_S = 10.0
"""How long a coordinator may not ask for lines before the agent ends."""
NEEDED = ("heartbeat", "keep-alive")
"""The periodic work of a worker without which the scheduler would give it up."""


class WorkerAgent:
    """An agent on this worker."""

    def __init__(self, key: str, process: asyncio.subprocess.Process, errors: int) -> None:
        assert process.stdin is not None and process.stdout is not None, "they are pipes"
        self._key, self._process, self._errors = key, process, errors
        self._stdin, self._stdout = process.stdin, process.stdout
        self._read_bytes = self._written_bytes = 0
        self._ending: asyncio.Task[str] | None = None
        self._expect_coordinator()

    def _expect_coordinator(self) -> None:
        """End the agent unless the coordinator asks for lines in time."""
        self._silence = asyncio.get_running_loop().call_later(SILENCE_S, self._give_up)

    def expect_nobody(self) -> None:
        """Wait for no coordinator any more."""
        self._silence.cancel()

    def _give_up(self) -> None:
        self._abandoning = asyncio.create_task(self._abandon())

    async def _abandon(self) -> None:
        self.close()
        while await self._stdout.read(PIECE):
            pass
        await end(self._key)

    async def read(self, begin: int) -> bytes | None:
        """Return bytes from this position on; None if there are none yet, and no bytes after the last one."""
        if begin != self._read_bytes:
            raise ValueError(f"byte {begin} is not the next one to read")
        self._silence.cancel()
        try:
            found = await asyncio.wait_for(self._stdout.read(PIECE), READING_S)
        except TimeoutError:
            return None
        finally:
            self._expect_coordinator()
        self._read_bytes += len(found)
        return found

    async def write(self, begin: int, lines: bytes) -> None:
        """Pass bytes on to the agent."""
        if begin != self._written_bytes:
            raise ValueError(f"byte {begin} is not the next one to write")
        self._written_bytes += len(lines)
        with suppress(ConnectionError):  # the agent has ended, which `read` notices
            self._stdin.write(lines)
            await self._stdin.drain()

    def close(self) -> asyncio.Task[str]:
        """Close the input of the agent, so that it ends; return the task that waits for its end and returns why."""
        self._ending = self._ending or asyncio.create_task(self._end())
        return self._ending

    async def _end(self) -> str:
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), ENDING_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        size = os.lseek(self._errors, 0, os.SEEK_END)
        printed = os.pread(self._errors, MOST_BYTES, max(0, size - MOST_BYTES))
        os.close(self._errors)
        return explain(printed.decode(errors="replace"), self._process.returncode or 0)


_agents: dict[str, WorkerAgent] = {}
_resuming = ExitStack()
"""What the worker resumes after its last agent."""


async def start(key: str, dask_worker: Any) -> None:
    """Start an agent on this worker, and stop what would disturb its nodes."""
    errors = os.memfd_create("agent", os.MFD_CLOEXEC)
    command = [sys.executable, "-m", "hopmeter", "agent", "--stdio"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True
    )
    _agents[key] = WorkerAgent(key, process, errors)
    if len(_agents) == 1:
        _stop_work(dask_worker)


def _stop_work(worker: Any) -> None:
    """Stop the periodic work, and the line in the log for each call, until the last agent has ended."""
    for name, work in worker.periodic_callbacks.items():
        if name not in NEEDED and work.is_running():
            work.stop()
            _resuming.callback(work.start)
    log = logging.getLogger("distributed.worker")
    _resuming.callback(log.setLevel, log.level)
    log.setLevel(logging.WARNING)


async def read(key: str, begin: int) -> bytes | None:
    """Return what an agent says, from this byte on; None if it has said nothing yet, and no bytes after its end."""
    return await _agents[key].read(begin)


async def write(key: str, begin: int, lines: bytes) -> None:
    """Pass on lines to an agent; they begin at this byte of all that it was sent."""
    await _agents[key].write(begin, lines)


async def close(key: str) -> None:
    """Let an agent end; `read` returns what it still says."""
    _agents[key].close()


async def end(key: str) -> str:
    """Wait until an agent has ended, and return why it did."""
    agent = _agents.pop(key)
    agent.expect_nobody()
    why = await asyncio.shield(agent.close())
    if not _agents:
        _resuming.close()
    return why
