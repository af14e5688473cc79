"""Find the resource that limits several concurrent echo pairs: copying, TCP, the cores or other CPU work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.analysis.results.groups import CONDITIONS
from hopmeter.analysis.results.run_results import Row, Run

FULL = 0.9
"""The cores limit the throughput if at least this fraction of the cores is busy."""
NEARLY_FULL = 0.75
"""The threshold for busy cores if the pairs want more cores than exist. This threshold is lower because other programs
also need CPU time."""
TCP, WITHOUT_TCP = "tcp", "unix"
"""Two transports that differ only in their use of TCP."""
REST = "calls and waking"
"""The CPU work other than copying and TCP: system calls, wake-ups and the language runtime."""


@dataclass(frozen=True)
class Echo:
    """A row with several echo pairs that run at once, over one transport and in one language."""

    row: Row
    cores: int
    memory_mb_s: float
    """The speed at which one core copies memory, measured by the instrument before the run."""
    without_tcp: Row | None
    alone: Row | None
    """The row of the same run with a single pair."""

    @property
    def name(self) -> str:
        """The transport and language, such as `tcp (rust)`."""
        return f"{self.row['transport']} ({self.row['language']})"

    @property
    def pairs(self) -> int:
        """The number of pairs that echo at once."""
        return int(self.row["pairs"])

    @property
    def mb_s(self) -> float:
        """The total throughput of all pairs in each direction."""
        return self.row.number("achieved_mb_s")

    @property
    def busy(self) -> float:
        """The number of cores that all nodes together kept busy."""
        return _busy(self.row)

    @property
    def wanted_cores(self) -> float | None:
        """The number of cores that the pairs would use without contention, or None if the number is unknown. The
        estimate is based on the row with a single pair."""
        return None if self.alone is None else self.pairs * _busy(self.alone)

    @property
    def is_short_of_cores(self) -> bool:
        """Whether the cores limit the pairs: at least 90 % of the cores are busy, or at least 75 % if the pairs could
        use more cores than exist."""
        least = NEARLY_FULL if (self.wanted_cores or 0.0) > self.cores else FULL
        return self.busy >= least * self.cores

    @property
    def copying(self) -> float | None:
        """The fraction of CPU time that the kernel spends on copying requests and replies, or None if the fraction is
        unknown."""
        copies = self.row.cell.carriage.system_copies
        if copies is None:
            return None
        copied_us = 2 * copies * self.row["frame_bytes"] / self.memory_mb_s
        return min(1.0, copied_us / self.row.number("cpu_us_per_message"))

    @property
    def tcp(self) -> float | None:
        """The fraction of CPU time that TCP takes, computed from a row without TCP, or None if the run has no row
        without TCP."""
        if self.without_tcp is None:
            return None
        own, other = (row.number("cpu_us_per_message") for row in (self.row, self.without_tcp))
        return max(0.0, 1 - other / own)

    @property
    def limit(self) -> str:
        """What limits the pairs: the cores if they are fully busy, otherwise the work that takes the most CPU time."""
        if self.is_short_of_cores:
            return "cores"
        known = {"copies": self.copying or 0.0, "TCP": self.tcp or 0.0}
        known[REST] = 1 - sum(known.values())
        return max(known, key=lambda each: known[each])


def _busy(row: Row) -> float:
    round_trips = row.number("achieved_mb_s") * 1e6 / row["frame_bytes"]
    return row.number("cpu_us_per_message") * round_trips / 1e6


def echoes(runs: Sequence[Run]) -> list[Echo]:
    """Return all echo rows, ordered by their numbers of pairs. The rows of a run are included only if the run varies
    the number of pairs."""
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
    """Return the row with the most pairs for each transport and language."""
    return list({(id(echo.row.run), echo.name, echo.row["profile"]): echo for echo in echoes(runs)}.values())
