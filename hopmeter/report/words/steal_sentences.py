"""Sentences on the CPU time that the hypervisor took during a run."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.cost.steal import Steal, steal_of
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.words import formatting

DONE = "Trials that lost much time have less weight in the comparison"
"""How the analysis treats trials that lost much CPU time."""


def steal_sentence(runs: Sequence[Run]) -> str:
    """Return a sentence on the stolen CPU time, the trial that lost most, and the number of trials that were repeated.
    Return an empty string if the hypervisor stole no time."""
    found = steal_of(runs)
    if not found or not found.worst:
        return ""
    many = sum(row["trials_repeated"] or 0 for run in runs for row in run.measured_rows)
    rest = f"{formatting.plural(many, 'trial')} that lost too much {'was' if many == 1 else 'were'} measured again"
    done = f"{DONE}; {rest if many else 'none was discarded'}."
    return f"During the trials, the hypervisor took {describe(found)}. {done}"


def describe(found: Steal) -> str:
    """Return the stolen CPU time and the worst trial, such as `2.4 % of the measured cores' time, and 31 % in the worst
    trial (zeromq (C++), trial 3)`."""
    cores = "the measured cores'" if found.measured_cores else "all cores'"
    worst = (
        f"{formatting.percent(found.worst)} in the worst trial ({formatting.row_name(found.row)}, trial {found.trial})"
    )
    return f"{formatting.percent(found.share)} of {cores} time, and {worst}"
