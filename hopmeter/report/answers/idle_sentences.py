"""Sentences that compare results with and without idle states, and tell readers which of the two results to use."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import ranks
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answers.comparison_sentences import levels
from hopmeter.report.words import conditions

BOTH = (
    "If your programs idle between messages on a machine like this one, use the results with idle cores as they are. "
    "If your machine is busy between messages, or if you want to know which transport itself is faster, use the "
    "results with idle cores kept awake."
)
ASLEEP = (
    "Idle cores slept between messages, as they do if your programs idle between messages. If your machine is busy, or "
    "if you want to know which transport itself is faster, measure with `--no-idle-states`."
)
AWAKE = (
    "Idle cores were kept awake, as on a busy machine. If your programs idle between messages, each of their messages "
    "also waits for a core to wake up; to include this wait, measure without `--no-idle-states`."
)
SUBJECT = "idle states"
"""The subject that `hopmeter doctor` uses for its finding about idle cores."""


def as_it_is(group: Group) -> str:
    """Return a sentence with the medians of the table. If one row is significantly fastest, the sentence names that
    row."""
    ranked = ranks(group)
    clear = ranked[0].best is not None and not ranked[0].ties and len(ranked) > 1
    fastest = f"; {group.label(ranked[0].row)} is fastest" if clear else ""
    return f"{_word(group)}, {levels(group)}{fastest}."


def _word(group: Group) -> str:
    word = conditions.IDLE_WORDS[bool(group.conditions[conditions.IDLE])]
    return word[:1].upper() + word[1:]


def idle_sentence(runs: Sequence[Run], groups: Sequence[Group]) -> list[str]:
    """Return a sentence on which idle-state results the reader should use. Return an empty list if idle states do not
    noticeably affect the results."""
    known = {bool(group.conditions[conditions.IDLE]) for group in groups if group.measured_rows}
    if known == {True, False}:
        return [BOTH]
    if known == {True}:
        return [AWAKE]
    sleeps = any(
        each.get("subject") == SUBJECT and each.get("level") == "hurts" for run in runs for each in run.findings
    )
    return [ASLEEP] if sleeps and known else []
