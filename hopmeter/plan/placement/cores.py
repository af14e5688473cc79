"""Choose the cores of a cell from the value of the condition `cores`.

The chosen cores are always among those on which the launcher itself may run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system")


class NoCoresError(Exception):
    """Raised, with the reason, if the requested cores are not available on this machine."""


@dataclass(frozen=True)
class Machine:
    """The cores of a machine that can be used, and their topology as the kernel reports it."""

    allowed: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...] = ()
    """The logical cores of each physical core."""
    memories: tuple[tuple[int, ...], ...] = ()
    """The cores of each memory node."""

    @classmethod
    def here(cls) -> Machine:
        """Return the cores of this machine."""
        cores = SYSTEM.glob("cpu/cpu[0-9]*/topology/thread_siblings_list")
        return cls(
            tuple(sorted(os.sched_getaffinity(0))),
            _groups(sorted(cores)),
            _groups(sorted(SYSTEM.glob("node/node[0-9]*/cpulist"))),
        )

    def core_list(self, word: str) -> tuple[int, ...]:
        """Return the cores to which a cell's endpoints are pinned, in endpoint order.

        If the returned list is empty, the endpoints are not pinned to cores.
        """
        if word == "free":
            return ()
        if word == "same":
            return self.allowed[-1:]
        if word[0].isdigit():
            return self._listed_cores(word)
        return {"cross": self._cross, "sibling": self._sibling, "numa": self._numa}[word]()

    def _listed_cores(self, word: str) -> tuple[int, ...]:
        cores = tuple(int(core) for core in word.split(","))
        absent = sorted(set(cores) - set(self.allowed))
        if absent:
            raise NoCoresError(f"core {absent[0]} is not available here; available are {_format_cores(self.allowed)}")
        return cores

    def _cross(self) -> tuple[int, ...]:
        """Return two logical cores that belong to different physical cores.

        The function prefers the last cores, because the first cores usually handle interrupts.
        """
        for first in reversed(self.allowed):
            apart = [core for core in self.allowed if core < first and not self._one_core(core, first)]
            if apart:
                return apart[-1], first
        raise NoCoresError("only one core is available here; use `--cores same` or `free`")

    def _sibling(self) -> tuple[int, ...]:
        for group in self.siblings:
            usable = [core for core in group if core in self.allowed]
            if len(usable) > 1:
                return usable[0], usable[1]
        raise NoCoresError("the kernel reports no two threads of one physical core here")

    def _numa(self) -> tuple[int, ...]:
        ends = [[core for core in group if core in self.allowed] for group in self.memories]
        usable = [group for group in ends if group]
        if len(usable) < 2:
            raise NoCoresError("this machine has only one memory node")
        return usable[0][0], usable[-1][0]

    def _one_core(self, one: int, other: int) -> bool:
        return any(one in group and other in group for group in self.siblings)


def _groups(paths: list[Path]) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(parse_core_list(path.read_text()) for path in paths))


def parse_core_list(text: str) -> tuple[int, ...]:
    """Parse a core list in the kernel's format, such as `0-2,5`."""
    cores: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            cores.extend(range(int(first), int(last or first) + 1))
    return tuple(cores)


def _format_cores(cores: tuple[int, ...]) -> str:
    return ", ".join(map(str, cores))
