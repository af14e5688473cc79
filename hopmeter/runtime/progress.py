"""Show the progress of a run on stderr, only between trials, because hopmeter writes nothing during a measurement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hopmeter.plan.make import scheduled_s
from hopmeter.runtime.order import Turn
from hopmeter.system import humanize
from hopmeter.system.terminal import Console

START_S = 0.25
"""The assumed time to start and end the nodes of a trial, until it is measured."""


class Notes:
    """Prints lines that stay on the screen."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def note(self, text: str) -> None:
        """Print a line that stays on the screen."""
        self._console.print(text, style="yellow", highlight=False, markup=False)


class Budget(Protocol):
    """A budget, the time that is left of it, and the questions that it decides."""

    budget_s: float

    @property
    def left_s(self) -> float:
        """Return how much of the budget is left."""

    @property
    def status(self) -> str:
        """Return what is being decided: `7 of 105 pairs open, 22 s left`."""


class BudgetProgress(Notes):
    """A progress bar that fills with the used time of the budget."""

    def __init__(self, console: Console, budget: Budget) -> None:
        super().__init__(console)
        self._budget = budget
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("", total=budget.budget_s, left="")

    def __enter__(self) -> Self:
        """Print the budget once if the output is not a terminal."""
        if not self._console.is_terminal:
            self._console.print(f"at most {humanize.time(self._budget.left_s)}", highlight=False)
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if not self._console.is_terminal:
            self._console.print(self._budget.status, highlight=False)

    def begin(self, turn: Turn) -> None:
        """Note that a trial begins."""
        used_s = self._budget.budget_s - self._budget.left_s
        self._bar.update(self._task, description=_words(turn), completed=used_s, left=self._budget.status, refresh=True)


def _words(turn: Turn) -> str:
    axes = turn.cell.axes
    return f"{axes.transport} {axes.language}, {axes.payload}"


class RunProgress(Notes):
    """A progress bar with the remaining time, estimated from the schedule and the overhead of the trials so far."""

    def __init__(self, console: Console, todo: Sequence[Turn]) -> None:
        super().__init__(console)
        self._left = list(todo)
        self._overhead_s, self._done = START_S, 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=len(self._left), left="")

    def __enter__(self) -> Self:
        """Print the expected duration once if the output is no terminal."""
        if self._left and not self._console.is_terminal:
            trials = f"{len(self._left)} trial{'' if len(self._left) == 1 else 's'}"
            self._console.print(f"{trials}, about {humanize.time(self._left_s())}", highlight=False)
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, turn: Turn) -> None:
        """Note that a trial begins."""
        left = f"about {humanize.time(self._left_s())} left"
        self._bar.update(self._task, description=_words(turn), left=left, refresh=True)
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
