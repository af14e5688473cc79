"""The command that answers what a run left open."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from statistics import fmean

from hopmeter.analysis.groups import groups
from hopmeter.analysis.run_results import Run
from hopmeter.report.comparison_sentences import open_pairs
from hopmeter.system import humanize

TRIALS = 12
"""As many rounds decide most differences of a half on a noisy machine (docs/method.md)."""
BUDGET = re.compile(r"--budget (\S+?)`")
VALUES = ("--trials", "--budget", "--until", "--out", "--seed", "--resume")
"""Options with a value that belong to the earlier run."""
FLAGS = ("--json", "--dry-run")


def next_sentence(run: Run) -> str:
    """Return the command that decides more, and what it decides; empty if nothing is left to decide.

    A run that asks for its requirements only has no order to decide.
    """
    if run.part("scenario").get("until") == "require":
        return ""
    more_time = run.text("more_time")
    if found := BUDGET.search(more_time):
        decides = more_time[found.end() :].partition(";")[0].strip().removeprefix("would ")
        return f"To {decides}, run `{_command(run, '--budget', found[1])}`."
    many = _rounds(run)
    return f"To decide more, run `{_command(run, '--trials', str(many))}`{_how_long(run, many)}." if many else ""


def _command(run: Run, *options: str) -> str:
    """Return the run's own command with another length."""
    recorded = run.about.get("command")
    words = list(map(str, recorded)) if isinstance(recorded, list) else ["hopmeter", "run", run.text("scenario_name")]
    until = run.part("scenario").get("until") if "--budget" in options and "--until" in words else None
    return shlex.join([*without(words, VALUES, FLAGS), *(["--until", str(until)] if until else []), *options])


def without(words: Sequence[str], values: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """Return a command without some options: those with a value, and flags."""
    before = ["", *words]
    return [
        word
        for word, previous in zip(words, before, strict=False)
        if word.split("=")[0] not in (*values, *flags) and previous not in values
    ]


def _rounds(run: Run) -> int:
    """Return the rounds that a quick look lacks, or that the open pair which needs the fewest takes; 0 if none."""
    needed = [pair.rounds for group in groups([run]) for pair in open_pairs(group) if pair.rounds]
    return max(TRIALS if run.quick else 0, min(needed, default=0))


def _how_long(run: Run, rounds: int) -> str:
    took = [trial["wall_s"] for trial in run.trials if trial.get("wall_s")]
    if not took:
        return ""
    cells = len({trial["cell"] for trial in run.trials})
    return f", which takes about {humanize.time(fmean(took) * cells * rounds)}"
