"""The command that answers what a run left open."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import fmean

from hopmeter.analysis.run_results import Run
from hopmeter.system import humanize

TRIALS = 12
"""As many rounds decide most differences of a half on a noisy machine (docs/method.md)."""
VALUES = ("--trials", "--out", "--seed", "--resume")
"""Options with a value that belong to the earlier run."""
FLAGS = ("--json", "--dry-run")


def next_command(run: Run) -> str:
    """Return the run's own command with more trials."""
    recorded = run.about.get("command")
    words = list(map(str, recorded)) if isinstance(recorded, list) else ["hopmeter", "run", run.text("scenario_name")]
    return shlex.join([*without(words, VALUES, FLAGS), "--trials", str(_trials(run))])


def without(words: Sequence[str], values: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """Return a command without some options: those with a value, and flags."""
    before = ["", *words]
    return [
        word
        for word, previous in zip(words, before, strict=False)
        if word.split("=")[0] not in (*values, *flags) and previous not in values
    ]


def next_sentence(run: Run) -> str:
    """Return what to run next, and about how long it takes."""
    return f"To decide, run `{next_command(run)}`{_how_long(run)}."


def _trials(run: Run) -> int:
    most = max((row["trials"] or 0 for row in run.measured_rows), default=0)
    return max(TRIALS, 2 * most if most >= TRIALS else 0)


def _how_long(run: Run) -> str:
    took = [trial["wall_s"] for trial in run.trials if trial.get("wall_s")]
    if not took:
        return ""
    cells = len({trial["cell"] for trial in run.trials})
    return f", which takes about {humanize.time(fmean(took) * cells * _trials(run))}"
