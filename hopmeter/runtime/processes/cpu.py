"""Samples the CPU use of each process from /proc once a second. The samples include the launcher, because sampling
itself uses CPU time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hopmeter.runtime.processes.broker import BrokerProcess
from hopmeter.runtime.processes.node import LocalNode
from hopmeter.system.processes import stat_fields

SCHEMA = pa.schema([("time", pa.float64()), ("pid", pa.int64()), ("role", pa.string()), ("percent", pa.float64())])
STAT = Path("/proc/stat")
TICKS = os.sysconf("SC_CLK_TCK")


class CpuSampler:
    """Samples all nodes and brokers of a trial. Call `sample` repeatedly from the start of the trial, and call `rows`
    at the end of the trial."""

    def __init__(self, nodes: Sequence[LocalNode], brokers: Sequence[BrokerProcess] = ()) -> None:
        self._roles = {node.pid: "+".join(dict.fromkeys(node.roles)) for node in nodes} | {os.getpid(): "launcher"}
        self._roles |= {each.pid: "broker" for each in brokers}
        self._last: dict[int, tuple[float, int]] = {}
        self._rows: list[dict[str, Any]] = []

    def sample(self) -> None:
        """Sample the CPU use of each process since the previous call. The first call yields no sample, and only stores
        the values that the second call needs."""
        for pid, role in self._roles.items():
            now, ticks = time.monotonic(), _ticks(pid)
            if ticks is None:
                continue
            if pid in self._last:
                before, had = self._last[pid]
                percent = 100 * (ticks - had) / TICKS / (now - before)
                self._rows.append({"time": now, "pid": pid, "role": role, "percent": percent})
            self._last[pid] = (now, ticks)

    def rows(self) -> list[dict[str, Any]]:
        """Return the samples. A trial that is shorter than the sampling interval gets a single sample for the whole
        trial."""
        if not self._rows:
            self.sample()
        return self._rows


def write_cpu_samples(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the CPU samples of a trial to a Parquet file."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)


def _ticks(pid: int) -> int | None:
    words = stat_fields(pid)
    return int(words[11]) + int(words[12]) if words else None


def stolen_us() -> float:
    """Return the CPU time in microseconds that the hypervisor has stolen since boot, summed over all cores."""
    return _stolen_s_of_cores().get("cpu", 0.0) * 1e6


class Steal:
    """Measures the share of CPU time that the hypervisor has stolen on some cores since this object was created."""

    def __init__(self, cores: Iterable[int] = ()) -> None:
        """Watch the given cores, or all cores if no cores are given."""
        self._names = {f"cpu{core}" for core in cores}
        self._before, self._began = _stolen_s_of_cores(), time.monotonic()

    def share(self) -> float:
        """Return the share of CPU time that was stolen so far, from 0 to 1."""
        now, lasted_s = _stolen_s_of_cores(), time.monotonic() - self._began
        names = (self._names or set(now) - {"cpu"}) & set(now)
        stolen_s = sum(now[name] - self._before.get(name, now[name]) for name in names)
        # The kernel counts stolen time in ticks, so in a short interval, the stolen time may appear longer than the
        # interval.
        return min(1.0, max(0.0, stolen_s / (lasted_s * len(names)))) if names and lasted_s else 0.0


def _stolen_s_of_cores() -> dict[str, float]:
    """Return the stolen seconds since boot of each core (`cpu0`, `cpu1`, …) and of all cores together (`cpu`)."""
    try:
        lines = [line.split() for line in STAT.read_text().splitlines() if line.startswith("cpu")]
        return {words[0]: int(words[8]) / TICKS for words in lines}
    except (OSError, IndexError, ValueError):
        return {}
