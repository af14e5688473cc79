"""What limits pairs that echo at once, copies, TCP or cores: where a run has one echo for several numbers of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.report import formatting
from hopmeter.report.grouping import CONDITIONS
from hopmeter.report.source import Row, Run

FULL = 0.9
"""From this share of the cores on, they are what there is too little of."""
NEARLY_FULL = 0.75
"""And from this one on where pairs want more than there are: what other programs had of them is not counted here."""
TCP, WITHOUT_TCP = "tcp", "unix"
"""Two transports that differ in nothing but TCP."""
REST = "calls and waking"
"""What the CPU does that is neither: system calls, wake-ups, the language."""


@dataclass(frozen=True)
class Echo:
    """So many pairs of one transport and language."""

    row: Row
    cores: int
    memory_mb_s: float
    """What one core copies, as the instrument measured it before the run."""
    without_tcp: Row | None
    alone: Row | None
    """One such pair by itself, in the same run."""

    @property
    def name(self) -> str:
        """`tcp (rust)`."""
        return f"{self.row['transport']} ({self.row['language']})"

    @property
    def pairs(self) -> int:
        """At once."""
        return int(self.row["pairs"])

    @property
    def mb_s(self) -> float:
        """Of all pairs together, each way."""
        return float(self.row["achieved_mb_s"])

    @property
    def busy(self) -> float:
        """How many cores' worth of CPU all nodes used."""
        return _busy(self.row)

    @property
    def wanted(self) -> float | None:
        """How many cores all pairs would keep busy if each had what it uses when it is alone."""
        return None if self.alone is None else self.pairs * _busy(self.alone)

    @property
    def is_short_of_cores(self) -> bool:
        """All of them are busy, or nearly all while more are wanted than there are."""
        least = NEARLY_FULL if (self.wanted or 0.0) > self.cores else FULL
        return self.busy >= least * self.cores

    @property
    def copying(self) -> float | None:
        """The share of the CPU that the system's copies of a request and its reply take, at the speed of memory."""
        copies = self.row.cell.carriage.system_copies
        if copies is None:
            return None
        copied_us = 2 * copies * self.row["frame_bytes"] / self.memory_mb_s
        return min(1.0, float(copied_us / self.row["cpu_us_per_message"]))

    @property
    def tcp(self) -> float | None:
        """The share of the CPU that the same takes less where nothing differs but TCP."""
        if self.without_tcp is None:
            return None
        own, other = (float(row["cpu_us_per_message"]) for row in (self.row, self.without_tcp))
        return max(0.0, 1 - other / own)

    @property
    def limit(self) -> str:
        """The cores, or else what most of the work is: one pair's ends take turns and fill little more than a core."""
        if self.is_short_of_cores:
            return "cores"
        known = {"copies": self.copying or 0.0, "TCP": self.tcp or 0.0}
        known[REST] = 1 - sum(known.values())
        return max(known, key=lambda each: known[each])

    @property
    def sentence(self) -> str:
        """Everything that decides it."""
        shares = {"copying": self.copying, "TCP": self.tcp}
        told = formatting.listed(
            [f"{formatting.percent(share)} {name}" for name, share in shares.items() if share is not None]
        )
        return (
            f"{self.name}, {formatting.plural(self.pairs, 'pair')}: {formatting.number(self.mb_s)} MB/s each way "
            f"({formatting.times(self.mb_s / self.memory_mb_s)} what one core copies); limited by {self.limit}, with "
            f"{formatting.number(self.busy)} of {formatting.plural(self.cores, 'core')} busy{self._want}"
            + (f", {told}." if told else ".")
        )

    @property
    def _want(self) -> str:
        return f" ({formatting.number(self.wanted)} wanted)" if self.wanted and self.pairs > 1 else ""


def _busy(row: Row) -> float:
    """How many cores' worth of CPU the nodes of a row used."""
    round_trips = row["achieved_mb_s"] * 1e6 / row["frame_bytes"]
    return float(row["cpu_us_per_message"] * round_trips / 1e6)


def echoes(runs: Sequence[Run]) -> list[Echo]:
    """All of them, pairs after pairs; empty where no run has one for several numbers of pairs."""
    return [echo for run in runs for echo in _of(run)]


def _of(run: Run) -> Iterator[Echo]:
    memory = run.part("instrument").get("copy_bytes_per_ns")
    usable = run.part("machine").get("usable_cores")
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in run.measured:
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
    told = row["achieved_mb_s"] and row["cpu_us_per_message"]
    return bool(
        told and row.ok and row.candidate and row["pattern"] == "rpc" and row["reply"] == "echo" and not row["relays"]
    )


def _key(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in (*names, *CONDITIONS) if name != "pairs")


def _without_tcp(row: Row, run: Run) -> Row | None:
    if row["transport"] != TCP:
        return None
    alike = (other for other in run.measured if other["transport"] == WITHOUT_TCP and _is_echo(other))
    same = (
        other for other in alike if other["pairs"] == row["pairs"] and _key(other, "language") == _key(row, "language")
    )
    return next(same, None)


def most_pairs(runs: Sequence[Run]) -> list[Echo]:
    """Of each transport and language the most pairs, which is where something runs out."""
    return list({(id(echo.row.run), echo.name, echo.row["profile"]): echo for echo in echoes(runs)}.values())
