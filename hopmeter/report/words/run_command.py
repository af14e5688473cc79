"""The command of a run, and the commands that a report derives from it."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.run_results import Run

OF_ONE_RUN = ("--out", "--seed", "--resume")
"""Options with a value that apply only to a single run."""
FLAGS = ("--json", "--dry-run")


def own_command(run: Run, *values: str) -> list[str]:
    """Return the command of a run. The returned command omits the options in `values` and all options that apply only
    to a single run."""
    return without(recorded_command(run), (*OF_ONE_RUN, *values), FLAGS)


def recorded_command(run: Run) -> list[str]:
    """Return the command of a run as the user typed it, or a default command if none was recorded."""
    recorded = run.about.get("command")
    return list(map(str, recorded)) if isinstance(recorded, list) else ["hopmeter", "run", run.text("scenario_name")]


def without(words: Sequence[str], values: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """Return a command from which the given options are removed. `values` lists the removed options that take a value,
    and `flags` lists the removed options that take no value."""
    before = ["", *words]
    return [
        word
        for word, previous in zip(words, before, strict=False)
        if word.split("=")[0] not in (*values, *flags) and previous not in values
    ]
