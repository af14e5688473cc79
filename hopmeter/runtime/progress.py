"""Show the progress of a run on stderr, only between trials, because hopmeter writes nothing during a measurement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from hopmeter.plan.make import scheduled_s
from hopmeter.runtime.order import Turn
from hopmeter.system import humanize
from hopmeter.system.terminal import Console

START_S = 0.25
"""The assumed time to start and end the nodes of a trial, until it is measured."""


class RunBar:
    """A progress bar, and lines that stay on the screen. Without a terminal it prints one line before the run, and one
    after it."""

    def __init__(self, console: Console, total: float, *columns: ProgressColumn) -> None:
        """`columns` are those between the bar and the time that is left."""
        self._console = console
        shown = (TextColumn("{task.description}"), BarColumn(), *columns, TextColumn("{task.fields[left]}"))
        self._bar = Progress(*shown, console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("", total=total, left="")

    def __enter__(self) -> Self:
        """Print the expected duration once if the output is not a terminal."""
        self._print_line(self.expected)
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        self._print_line(self.outcome)

    @property
    def expected(self) -> str:
        """Return how long the run will take; empty if there is nothing to say."""
        return ""

    @property
    def outcome(self) -> str:
        """Return what the run achieved; empty if there is nothing to say."""
        return ""

    def note(self, text: str) -> None:
        """Print a line that stays on the screen."""
        self._console.print(text, style="yellow", highlight=False, markup=False)

    def _print_line(self, text: str) -> None:
        if text and not self._console.is_terminal:
            self._console.print(text, highlight=False)

    def _show(self, turn: Turn, left: str, completed: float | None = None) -> None:
        axes = turn.cell.axes
        trial = f"{axes.transport} {axes.language}, {axes.payload}"
        self._bar.update(self._task, description=trial, completed=completed, left=left, refresh=True)


class Budget(Protocol):
    """A budget, the time that is left of it, and the questions that it decides."""

    budget_s: float

    @property
    def left_s(self) -> float:
        """Return how much of the budget is left."""

    @property
    def status(self) -> str:
        """Return what is being decided: `7 of 105 pairs open, 22 s left`."""


class BudgetProgress(RunBar):
    """A progress bar that fills with the used time of the budget."""

    def __init__(self, console: Console, budget: Budget) -> None:
        super().__init__(console, budget.budget_s)
        self._budget = budget

    @property
    def expected(self) -> str:
        """Return the budget that is left."""
        return f"at most {humanize.time(self._budget.left_s)}"

    @property
    def outcome(self) -> str:
        """Return what is decided."""
        return self._budget.status

    def begin(self, turn: Turn) -> None:
        """Note that a trial begins."""
        self._show(turn, self._budget.status, completed=self._budget.budget_s - self._budget.left_s)


class RunProgress(RunBar):
    """A progress bar with the remaining time, estimated from the schedule and the overhead of the trials so far."""

    def __init__(self, console: Console, todo: Sequence[Turn]) -> None:
        super().__init__(console, len(todo), MofNCompleteColumn())
        self._left = list(todo)
        self._overhead_s, self._done = START_S, 0

    @property
    def expected(self) -> str:
        """Return how many trials there are and how long they will take."""
        trials = f"{len(self._left)} trial{'' if len(self._left) == 1 else 's'}"
        return f"{trials}, about {humanize.time(self._left_s())}" if self._left else ""

    def begin(self, turn: Turn) -> None:
        """Note that a trial begins."""
        self._show(turn, f"about {humanize.time(self._left_s())} left")
        self._began = time.monotonic()

    def end(self, together: Sequence[Turn]) -> None:
        """Note that one trial or both sides of a cell ended, successfully or not."""
        took_s = time.monotonic() - self._began - sum(scheduled_s(turn.cell) for turn in together)
        for turn in together:
            self._done += 1
            self._overhead_s += (max(0.0, took_s / len(together)) - self._overhead_s) / self._done
            self._left.remove(turn)
        self._bar.update(self._task, completed=self._done)

    def _left_s(self) -> float:
        return sum(scheduled_s(turn.cell) + self._overhead_s for turn in self._left)
