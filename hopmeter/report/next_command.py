"""The command that answers what a run left open."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from hopmeter.analysis.groups import groups
from hopmeter.analysis.run_results import Run
from hopmeter.comparison.change import UNDECIDED
from hopmeter.comparison.interleaved import compare_sides, is_comparable
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.report.comparison_sentences import open_pairs, shows_level
from hopmeter.report.requirement_sentences import needed_messages
from hopmeter.system import humanize

TRIALS = 12
"""As many rounds decide most differences of a half on a noisy machine (docs/method.md)."""
BUDGET = re.compile(r"--budget (\S+?)`")
VALUES = ("--trials", "--budget", "--until", "--out", "--seed", "--resume")
"""Options with a value that belong to the earlier run."""
MORE = 4
"""How many times as many rounds halve the smallest change that is found."""
LENGTHS = ("--messages", "--duration")
RESUME = ("hopmeter", "run", "--resume")
FLAGS = ("--json", "--dry-run")


def next_sentence(run: Run) -> str:
    """Return the command that finishes the run or decides more, and what it decides; empty if nothing is left."""
    if not is_finished(run):
        return f"This run is not finished. To finish it, run `{shlex.join([*RESUME, str(run.folder)])}`."
    if is_comparable(run):
        return _halve_changes(run)
    if messages := _needed_messages(run):
        longer = (*_no_shorter(run, messages), "--messages", str(messages))
        return f"To decide the requirements, run `{_command(run, *longer)}`."
    if run.part("scenario").get("until") == "require":
        return ""
    more_time = run.text("more_time")
    if found := BUDGET.search(more_time):
        decides = more_time[found.end() :].partition(";")[0].strip().removeprefix("would ")
        return f"To {decides}, run `{_command(run, '--budget', found[1])}`."
    return f"To decide more, run {_longer(run, many)}." if (many := _rounds(run)) else ""


def is_finished(run: Run) -> bool:
    """Return whether the run had all its trials; the folder of another one has a hidden name."""
    return not run.folder.name.startswith(".")


def _longer(run: Run, many: int) -> str:
    """Return the command with as many trials, or with the budget for them if the run had one."""
    if run.part("scenario").get("budget"):
        return f"`{_command(run, '--budget', _minutes(_seconds(run, many)))}`"
    took_s = _seconds(run, many)
    how_long = f", which takes about {humanize.time(took_s)}" if took_s else ""
    return f"`{_command(run, '--trials', str(many))}`{how_long}"


def _halve_changes(run: Run) -> str:
    """Return how to find smaller changes between the sides; empty if none is undecided."""
    if not any(each.detectable for each in compare_sides(run) if each.verdict == UNDECIDED):
        return ""
    more = MORE * _measured_rounds(run)
    length = f"--trials {more}"
    if budget := run.part("scenario").get("budget"):
        length = f"--budget {_minutes(MORE * units.seconds(budget))}"
    return f"Four times as many rounds find changes about half as large: run the same command with `{length}`."


def _minutes(seconds: float) -> str:
    return f"{math.ceil(seconds / 60)}m"


def _needed_messages(run: Run) -> int:
    """Return the messages in each trial that an undecided requirement needs; 0 if the trials had enough."""
    undecided = [row for row in run.measured_rows if row.ok and row.recommendable and row["require"] == "undecided"]
    least = needed_messages(undecided)
    return least if any(row.cell.schedule.messages < least for row in undecided) else 0


def _no_shorter(run: Run, messages: int) -> tuple[str, str]:
    """Return the option for as many trials as the run had, with more messages in each."""
    if not (budget := run.part("scenario").get("budget")):
        return "--trials", str(max(_rounds(run), _measured_rounds(run)))
    found = BUDGET.search(run.text("more_time"))
    longest_s = max(units.seconds(each) for each in (budget, *(found.groups() if found else ())))
    cells = {row.id: row.cell for row in run.measured_rows}
    further_s = sum(_further_s(cells[trial["cell"]], messages) for trial in run.trials if trial["cell"] in cells)
    return "--budget", _minutes(longest_s + further_s)


def _further_s(cell: Cell, messages: int) -> float:
    """Return how much longer a trial takes with more messages; 0 without a rate."""
    return max(0, messages - cell.schedule.messages) / cell.axes.rate_hz if cell.axes.rate_hz else 0.0


def _command(run: Run, *options: str) -> str:
    """Return the run's own command with another length."""
    recorded = run.about.get("command")
    words = list(map(str, recorded)) if isinstance(recorded, list) else ["hopmeter", "run", run.text("scenario_name")]
    until = run.part("scenario").get("until") if "--budget" in options and "--until" in words else None
    replaced = (*VALUES, *LENGTHS) if "--messages" in options else VALUES
    return shlex.join([*without(words, replaced, FLAGS), *(["--until", str(until)] if until else []), *options])


def without(words: Sequence[str], values: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """Return a command without some options: those with a value, and flags."""
    before = ["", *words]
    return [
        word
        for word, previous in zip(words, before, strict=False)
        if word.split("=")[0] not in (*values, *flags) and previous not in values
    ]


def _rounds(run: Run) -> int:
    """Return the trials that a quick look lacks, or that the open pair which needs the fewest takes.

    The result is more than what the run had; 0 if nothing is open.
    """
    compared = [group for group in groups([run]) if not shows_level(group)]
    pairs = [pair for group in compared for pair in open_pairs(group) if pair.is_choice]
    had = _measured_rounds(run)
    most = max(
        TRIALS if run.quick and had < TRIALS else 0, min((pair.rounds for pair in pairs if pair.rounds), default=0)
    )
    return max(most, had + 1) if most else 0


def _measured_rounds(run: Run) -> int:
    """Return the most trials that a cell had."""
    return max(Counter(trial["cell"] for trial in run.trials).values(), default=0)


def _seconds(run: Run, rounds: int) -> float:
    """Estimate how long so many rounds take; 0 without any time."""
    took = [trial["wall_s"] for trial in run.trials if trial.get("wall_s")]
    return fmean(took) * len({trial["cell"] for trial in run.trials}) * rounds if took else 0.0
