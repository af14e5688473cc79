"""The functions that run an agent on a Dask worker. The Dask worker runs the agent as a subprocess, and forwards lines
between the agent and the coordinator.

The coordinator calls the functions of this module in the event-loop thread of the worker. An agent exits when its
worker exits, or if no coordinator reads its lines for `SILENCE_S` seconds.
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
"""How long, in seconds, `read` waits for lines before it returns None."""
SILENCE_S = 10.0
"""How long, in seconds, the agent keeps running if no coordinator reads its lines."""
NEEDED = ("heartbeat", "keep-alive")
"""The worker's periodic tasks that tell the scheduler that the worker is alive."""


class WorkerAgent:
    """An agent process that runs on this Dask worker."""

    def __init__(self, key: str, process: asyncio.subprocess.Process, errors: int) -> None:
        assert process.stdin is not None and process.stdout is not None, "they are pipes"
        self._key, self._process, self._errors = key, process, errors
        self._stdin, self._stdout = process.stdin, process.stdout
        self._read_bytes = self._written_bytes = 0
        self._ending: asyncio.Task[str] | None = None
        self._expect_coordinator()

    def _expect_coordinator(self) -> None:
        """End the agent if the coordinator reads no lines for `SILENCE_S` seconds."""
        self._silence = asyncio.get_running_loop().call_later(SILENCE_S, self._give_up)

    def expect_nobody(self) -> None:
        """Cancel the time limit within which the coordinator has to read lines again."""
        self._silence.cancel()

    def _give_up(self) -> None:
        self._abandoning = asyncio.create_task(self._abandon())

    async def _abandon(self) -> None:
        self.close()
        while await self._stdout.read(PIECE):
            pass
        await end(self._key)

    async def read(self, begin: int) -> bytes | None:
        """Return the bytes of the agent's output from offset `begin` on. Return None if the agent has printed nothing
        new, and empty `bytes` at the end of the output."""
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
        """Pass bytes to the agent. `begin` is the offset of the passed bytes in the whole input of the agent."""
        if begin != self._written_bytes:
            raise ValueError(f"byte {begin} is not the next one to write")
        self._written_bytes += len(lines)
        with suppress(ConnectionError):  # the agent has exited, which `read` detects
            self._stdin.write(lines)
            await self._stdin.drain()

    def close(self) -> asyncio.Task[str]:
        """Close the agent's input, so that the agent exits. Return a task that waits until the agent has exited, and
        whose result is the reason for the exit."""
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
"""Callbacks that resume the worker's paused tasks after the worker's last agent has exited."""


async def start(key: str, dask_worker: Any) -> None:
    """Start an agent on this worker, and pause worker tasks that would disturb the nodes."""
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
    """Pause the worker's periodic tasks and its call log until no agent runs on this worker."""
    for name, work in worker.periodic_callbacks.items():
        if name not in NEEDED and work.is_running():
            work.stop()
            _resuming.callback(work.start)
    log = logging.getLogger("distributed.worker")
    _resuming.callback(log.setLevel, log.level)
    log.setLevel(logging.WARNING)


async def read(key: str, begin: int) -> bytes | None:
    """Return the bytes of the agent's output from offset `begin` on. Return None if the agent has printed nothing new,
    and empty `bytes` at the end of the output."""
    return await _agents[key].read(begin)


async def write(key: str, begin: int, lines: bytes) -> None:
    """Pass bytes to an agent. `begin` is the offset of the passed bytes in the whole input of the agent."""
    await _agents[key].write(begin, lines)


async def close(key: str) -> None:
    """Close the agent's input, so that the agent exits. `read` still returns what the agent prints before it exits."""
    _agents[key].close()


async def end(key: str) -> str:
    """Wait until an agent has exited, and return the reason why it exited."""
    agent = _agents.pop(key)
    agent.expect_nobody()
    why = await asyncio.shield(agent.close())
    if not _agents:
        _resuming.close()
    return why
