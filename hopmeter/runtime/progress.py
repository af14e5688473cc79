"""Shows the progress of a run on stderr between trials. hopmeter prints nothing during a measurement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from hopmeter.plan.make import scheduled_s
from hopmeter.runtime.interim_table import Median, interim_table
from hopmeter.runtime.order import PlannedTrial
from hopmeter.system import humanize
from hopmeter.system.terminal import Console

START_S = 0.25
"""The assumed time, in seconds, for starting and ending the nodes of a trial. This assumption is used until a trial has
been measured."""
MEDIANS_S = 30.0
"""The time, in seconds, from the start of a run until the current medians are first shown."""
OTHER_LINES = 6
"""The number of screen lines left free by the table of medians."""


class _Bar(Progress):
    """A progress bar; a table may be shown above the bar."""

    above: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the table above the bar, if there is one, then the bar."""
        if self.above is not None:
            yield self.above
        yield from super().get_renderables()


class RunBar:
    """The progress bar of a run, with notes that stay on the screen. If the output is not a terminal, one line is
    printed before the run and one line after the run."""

    def __init__(self, console: Console, total: float, *columns: ProgressColumn) -> None:
        """Create the bar. The `columns` are shown between the progress bar and the remaining time."""
        self._console = console
        shown = (TextColumn("{task.description}"), BarColumn(), *columns, TextColumn("{task.fields[left]}"))
        self._bar = _Bar(*shown, console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("", total=total, left="")

    def __enter__(self) -> Self:
        """Start the bar. If the output is not a terminal, print the estimated duration once."""
        self._print_line(self.estimate)
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        self._print_line(self.outcome)

    @property
    def estimate(self) -> str:
        """Return the estimated duration of the run as text, or an empty string if there is no estimate."""
        return ""

    @property
    def outcome(self) -> str:
        """Return which comparisons the run has decided as text, or an empty string if there is nothing to report."""
        return ""

    def note(self, text: str) -> None:
        """Print a line that stays on the screen."""
        self._console.print(text, style="yellow", highlight=False, markup=False)

    def _print_line(self, text: str) -> None:
        if text and not self._console.is_terminal:
            self._console.print(text, highlight=False)

    def _show(self, planned: PlannedTrial, left: str, completed: float | None = None) -> None:
        axes = planned.cell.axes
        what = f"{planned.cell.comparison.alone} alone" if planned.cell.comparison.alone else axes.payload
        trial = f"{axes.transport} {axes.language}, {what}"
        self._bar.update(self._task, description=trial, completed=completed, left=left, refresh=True)


class Budget(Protocol):
    """A time budget for a run: the remaining seconds, the undecided comparisons, and the medians so far."""

    budget_s: float

    @property
    def left_s(self) -> float:
        """Return the remaining seconds of the budget."""

    @property
    def status(self) -> str:
        """Return the state of the comparisons as text, such as `7 of 105 pairs open, 22 s left`."""

    @property
    def medians(self) -> list[Median]:
        """Return the current medians of the compared cells."""


class BudgetProgress(RunBar):
    """A progress bar that fills as a run uses its time budget. After half a minute, a terminal also shows the current
    medians above the progress bar."""

    def __init__(self, console: Console, budget: Budget) -> None:
        super().__init__(console, budget.budget_s)
        self._budget = budget

    @property
    def estimate(self) -> str:
        """Return the remaining budget as text."""
        return f"at most {humanize.time(self._budget.left_s)}"

    @property
    def outcome(self) -> str:
        """Return which comparisons the run has decided, as text."""
        return self._budget.status

    def begin(self, planned: PlannedTrial) -> None:
        """Show that a trial begins."""
        used_s = self._budget.budget_s - self._budget.left_s
        if used_s >= MEDIANS_S and self._console.is_terminal:
            self._bar.above = interim_table(self._budget.medians, max(self._console.height - OTHER_LINES, 1))
        self._show(planned, self._budget.status, completed=used_s)


class RunProgress(RunBar):
    """A progress bar with the remaining time, which is estimated from the schedules and from the overhead of earlier
    trials."""

    def __init__(self, console: Console, todo: Sequence[PlannedTrial]) -> None:
        super().__init__(console, len(todo), MofNCompleteColumn())
        self._left = list(todo)
        self._overhead_s, self._done = START_S, 0

    @property
    def estimate(self) -> str:
        """Return the number of trials and their estimated duration as text."""
        trials = f"{len(self._left)} trial{'' if len(self._left) == 1 else 's'}"
        return f"{trials}, about {humanize.time(self._left_s())}" if self._left else ""

    def begin(self, planned: PlannedTrial) -> None:
        """Show that a trial begins."""
        self._show(planned, f"about {humanize.time(self._left_s())} left")
        self._began = time.monotonic()

    def end(self, together: Sequence[PlannedTrial]) -> None:
        """Record that the trials `together`, one trial or both trials of a duet, have ended, successfully or not."""
        took_s = time.monotonic() - self._began - sum(scheduled_s(planned.cell) for planned in together)
        for planned in together:
            self._done += 1
            self._overhead_s += (max(0.0, took_s / len(together)) - self._overhead_s) / self._done
            self._left.remove(planned)
        self._bar.update(self._task, completed=self._done)

    def _left_s(self) -> float:
        return sum(scheduled_s(planned.cell) + self._overhead_s for planned in self._left)
