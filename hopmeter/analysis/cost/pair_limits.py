"""The limit of several pairs that echo at once: copies, TCP, the cores, or the rest of the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.analysis.results.groups import CONDITIONS
from hopmeter.analysis.results.run_results import Row, Run

FULL = 0.9
"""If this share of the cores is busy, the cores are the limit."""
NEARLY_FULL = 0.75
"""This share suffices if the pairs want more cores than exist, since the CPU of other programs is not counted."""
TCP, WITHOUT_TCP = "tcp", "unix"
"""Two transports that differ only in TCP."""
REST = "calls and waking"
"""The CPU's other work: system calls, wake-ups, the language."""


@dataclass(frozen=True)
class Echo:
    """A row of several pairs of one transport and language."""

    row: Row
    cores: int
    memory_mb_s: float
    """How fast one core copies memory, as the instrument measured it before the run."""
    without_tcp: Row | None
    alone: Row | None
    """The row of a single pair in the same run."""

    @property
    def name(self) -> str:
        """`tcp (rust)`."""
        return f"{self.row['transport']} ({self.row['language']})"

    @property
    def pairs(self) -> int:
        """How many pairs echo at once."""
        return int(self.row["pairs"])

    @property
    def mb_s(self) -> float:
        """Throughput of all pairs together, each way."""
        return self.row.number("achieved_mb_s")

    @property
    def busy(self) -> float:
        """How many cores all nodes used."""
        return _busy(self.row)

    @property
    def wanted_cores(self) -> float | None:
        """How many cores all pairs would use if each used as much as one pair alone."""
        return None if self.alone is None else self.pairs * _busy(self.alone)

    @property
    def is_short_of_cores(self) -> bool:
        """Whether 90 % of the cores are busy, or 75 % with more wanted than exist."""
        least = NEARLY_FULL if (self.wanted_cores or 0.0) > self.cores else FULL
        return self.busy >= least * self.cores

    @property
    def copying(self) -> float | None:
        """The share of the CPU that the system's copies of a request and its reply take, at memory speed."""
        copies = self.row.cell.carriage.system_copies
        if copies is None:
            return None
        copied_us = 2 * copies * self.row["frame_bytes"] / self.memory_mb_s
        return min(1.0, copied_us / self.row.number("cpu_us_per_message"))

    @property
    def tcp(self) -> float | None:
        """The share of the CPU that the same row saves without TCP."""
        if self.without_tcp is None:
            return None
        own, other = (row.number("cpu_us_per_message") for row in (self.row, self.without_tcp))
        return max(0.0, 1 - other / own)

    @property
    def limit(self) -> str:
        """The cores, or otherwise the largest part of the work: one pair uses about one core."""
        if self.is_short_of_cores:
            return "cores"
        known = {"copies": self.copying or 0.0, "TCP": self.tcp or 0.0}
        known[REST] = 1 - sum(known.values())
        return max(known, key=lambda each: known[each])


def _busy(row: Row) -> float:
    """Return how many cores the nodes of a row used."""
    round_trips = row.number("achieved_mb_s") * 1e6 / row["frame_bytes"]
    return row.number("cpu_us_per_message") * round_trips / 1e6


def echoes(runs: Sequence[Run]) -> list[Echo]:
    """Return all echoes by number of pairs; empty unless a run has some with several numbers of pairs."""
    return [echo for run in runs for echo in _of(run)]


def _of(run: Run) -> Iterator[Echo]:
    memory = run.part("instrument").get("copy_bytes_per_ns")
    usable = run.part("machine").get("usable_cores")
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in run.measured_rows:
        if _is_echo(row):
            alike.setdefault(_key(row, "transport", "language", "profile"), []).append(row)
    if not memory or not usable:
        return
    for rows in alike.values():
        if len({row["pairs"] for row in rows}) > 1:
            for row in sorted(rows, key=lambda each: int(each["pairs"])):
                cores = len(set(row.cell.nodes.core_list) or set(usable))
                alone = next((each for each in rows if each["pairs"] == 1), None)
                yield Echo(row, cores, memory * 1000, _without_tcp(row, run), alone)


def _is_echo(row: Row) -> bool:
    known = row["achieved_mb_s"] and row["cpu_us_per_message"]
    return bool(
        known
        and row.ok
        and row.candidate
        and row["pattern"] == "rpc"
        and row.cell.get("reply") == "echo"
        and not row["relays"]
    )


def _key(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in (*names, *CONDITIONS) if name != "pairs")


def _without_tcp(row: Row, run: Run) -> Row | None:
    if row["transport"] != TCP:
        return None
    alike = (other for other in run.measured_rows if other["transport"] == WITHOUT_TCP and _is_echo(other))
    same = (
        other for other in alike if other["pairs"] == row["pairs"] and _key(other, "language") == _key(row, "language")
    )
    return next(same, None)


def most_pairs(runs: Sequence[Run]) -> list[Echo]:
    """Return the echo with the most pairs, for each transport and language: the most limited one."""
    return list({(id(echo.row.run), echo.name, echo.row["profile"]): echo for echo in echoes(runs)}.values())
