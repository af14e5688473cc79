"""Text about the rows of a decision: names, comparisons, CPU and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hopmeter import manifest
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.row_order import compare, faster
from hopmeter.analysis.results.run_results import Row
from hopmeter.analysis.workload.workload_ranking import CPU, DEADLINES, TAIL
from hopmeter.manifest.tables.conformance_settings import Lossless
from hopmeter.model.language_names import language_name, languages_in
from hopmeter.model.requirement_verdict import Verdict
from hopmeter.report.advice.decision import is_better, verdict
from hopmeter.report.answers.comparison_sentences import VAGUE, how_long, median_words, name
from hopmeter.report.answers.workload_answer import BETTER, TEXTS, ranking_of
from hopmeter.report.words import formatting
from hopmeter.report.words.workload_words import is_whole, missed_text, worst_text
from hopmeter.system import humanize

MOST_NAMES = 4
WORSE = {DEADLINES: "misses more deadlines", TAIL: "has a worse p99 in its worst flow", CPU: "uses more CPU"}
"""Phrases for a transport that is worse for a whole workload, by the deciding criterion."""


def full_name(group: Group, row: Row) -> str:
    """Return a row's name with its languages, such as `zeromq in Python`."""
    language = language_name(str(row["language"]))
    words = name(group, row).replace(f" ({language})", "").replace(f"({language}, ", "(")
    return f"{words} in {formatting.join(list(map(language_name, languages_in(str(row['language'])))))}"


def names(group: Group, rows: Sequence[Row]) -> str:
    """Return the names of rows as text. A long list of names is shortened."""
    return formatting.join(formatting.first([name(group, row) for row in rows], MOST_NAMES))


def result_words(group: Group, row: Row) -> str:
    """Return a row's main result as text.

    For a workload, the main results are the missed deadlines and the worst p99.
    """
    if not is_whole(group):
        return median_words(row)
    known = [f"it misses {missed_text(row)} of the deadlines"] if missed_text(row) else []
    if worst := worst_text(row):
        known.append(f"it has {worst}" if row["worst_p99_ratio"] == 1 else f"the p99 of its worst flow is {worst}")
    return formatting.join(known) if known else "no flow has a deadline"


def comparison_words(group: Group, one: Row, other: Row) -> str:
    """Return a comparison of `other` with `one`, such as `takes 1.2 to 1.4 times as long`."""
    if is_whole(group):
        return _workload_comparison(group, one, other)
    if faster(one, other) or faster(other, one):
        return f"takes {how_long(one, other)}"
    ends = ratio_words(one, other)
    return f"does not differ significantly ({ends})" if ends else "does not differ significantly"


def ratio_words(one: Row, other: Row) -> str:
    """Return how long `other` takes relative to `one`, such as `0.9 to 1.2 times as long`.

    Return an empty string if the interval of the ratio is too wide.
    """
    known = compare(one, other)
    if known is None or known.low is None or known.high is None or max(known.high, 1 / known.low) > VAGUE:
        return ""
    return f"{formatting.ratio(known.low)} to {formatting.ratio(known.high)} times as long"


def _workload_comparison(group: Group, one: Row, other: Row) -> str:
    """Return the criterion that separates two transports for a workload, with the criterion's value for `other`."""
    ranking = ranking_of(one)
    criterion = ranking.decides(one.id, other.id) if ranking else ""
    if not criterion:
        return f"does not differ significantly: {result_words(group, other)}"
    if is_better(group, other, one):
        return f"{BETTER[criterion]}: {TEXTS[criterion](other)}"
    return f"{WORSE[criterion]}: {TEXTS[criterion](other)}"


def why_not(row: Row) -> str:
    """Return why a row cannot be recommended, or an empty string if the row can be recommended."""
    if row["status"] == "failed":
        return "failed"
    if row["status"] == "saturated":
        return "could not keep up"
    words = {Verdict.MISSES: "misses the requirements", Verdict.UNDECIDED: "may miss the requirements"}
    return words.get(verdict(row), "")


def cpu_words(row: Row) -> str:
    """Return the CPU use of a row with its interval, such as `3.2 % of a core (3.0 to 3.4)`."""
    share = row["cpu_core_percent"]
    if share is None:
        return "an unknown share of a core"
    low, high = row["cpu_core_percent_low"], row["cpu_core_percent_high"]
    known = f" ({formatting.interval(low, high)})" if low is not None and high is not None else ""
    return f"{formatting.percent(share / 100)} of a core{known}"


def settings_words(values: Mapping[str, object]) -> str:
    """Return settings in command-line form, such as `hwm=1000, nodrop=false`."""
    return ", ".join(f"{each}={humanize.setting(value)}" for each, value in values.items())


def lossless_of(row: Row) -> Lossless | None:
    """Return the row transport's lossless settings, or None if no settings prevent loss for the row's number of
    receivers."""
    known = manifest.every().get(str(row["transport"]))
    lossless = known.lossless if known else None
    receivers = max((len(flow.targets) for flow in row.cell.workload.flows), default=1) if row.cell.workload else None
    most = lossless.max_receivers if lossless else None
    return None if most is not None and (receivers or row["sinks"] or 1) > most else lossless
