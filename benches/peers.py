"""Compare each middleware in hopmeter with the middleware's own tool, or with a bare program over the same library.

`peers.py [TRANSPORT ...]` measures all rows, or only those of the given transports.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ending import orderly
from ours import NothingMeasuredError, hopmeter
from pairs import ROUNDS, Comparison, pair_rounds, print_comparisons, sequential
from programs import TOGETHER, ToolFailedError
from rows import ROWS, Row


@dataclass
class Task:
    """A row at one frame size, measured pair by pair; `trouble` says why measuring has stopped."""

    row: Row
    frame_bytes: int
    found: Comparison
    trouble: str = ""

    @property
    def wants_more(self) -> bool:
        """Whether another pair is needed and possible."""
        return not self.trouble and self.found.wants_more

    def pair(self, index: int) -> None:
        """Measure one pair, if it is needed and possible."""
        if not self.wants_more:
            return
        try:
            self.found.add(*sequential(index, self._ours, self._theirs))
        except (NothingMeasuredError, ToolFailedError, OSError, subprocess.SubprocessError) as error:
            self.trouble = str(error)

    def _ours(self) -> float:
        return float(hopmeter(self.row.scenario(self.frame_bytes))[0][self.row.figure])

    def _theirs(self) -> float:
        return self.row.peer.median_us(self.row.cores, self.frame_bytes, ROUNDS[self.frame_bytes])


def task(row: Row, frame_bytes: int) -> Task:
    """Return a task that has no measurements yet. Limits in microseconds apply only to small frames on one core."""
    most = row.most_us if row.cores == TOGETHER and frame_bytes == min(ROUNDS) else None
    return Task(row, frame_bytes, Comparison(row.name(frame_bytes), row.limit, most=most))


def main(asked: Sequence[str]) -> int:
    """Measure the rows. Return 1 if a limit is missed or a row could not be measured."""
    rows = [row for row in ROWS if not asked or row.transport in asked]
    for needed, name in sorted({(row.peer.missing, row.transport) for row in rows if row.peer.missing}):
        print(f"{name}: rows are left out, because {needed} is not set")
    rows = [row for row in rows if not row.peer.missing]
    tasks = [task(row, each) for row in rows for each in row.sizes]
    for index in pair_rounds(tasks):
        for each in tasks:
            each.pair(index)
    code = print_comparisons(each.found for each in tasks if each.found.ours)
    for each in (each for each in tasks if each.trouble):
        print(f"{each.found.name}: not measured to the end: {each.trouble}")
        code = 1
    return code


if __name__ == "__main__":
    raise SystemExit(orderly(lambda: main(sys.argv[1:])))
