"""A sentence with the command that finishes a run or decides the comparisons that the run left undecided."""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from hopmeter.analysis.results.encrypted_rows import answers_question
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.comparison.change import UNDECIDED
from hopmeter.comparison.interleaved import compare_sides, is_comparable
from hopmeter.model import units
from hopmeter.model.payload_words import describe_payload
from hopmeter.report.answers import workload_answer
from hopmeter.report.answers.comparison_sentences import OpenPair, name, open_pairs, shows_level
from hopmeter.report.answers.open_requirements import Further, further_run, requirements_of_run
from hopmeter.report.answers.precision_sentence import rounds_factor
from hopmeter.report.words import formatting
from hopmeter.report.words.run_command import own_command, recorded_command
from hopmeter.report.words.workload_words import is_whole
from hopmeter.scenario.resolve import decision
from hopmeter.system import humanize

TRIALS = 12
"""On a noisy machine, this many rounds decide most differences of 50 % (docs/method.md)."""
LONGEST_S = 7200.0
"""The report does not suggest a run that takes longer than this number of seconds."""
LENGTHS = ("--trials", "--budget", "--until")
MORE = 4
"""Multiplying the rounds by this factor halves the smallest detectable change."""
MOST_NAMES = 4
RESUME = ("hopmeter", "run", "--resume")


def next_sentence(run: Run) -> str:
    """Return a sentence with the command that finishes the run or, if the run is finished, decides more comparisons.
    Return an empty string if there is no comparison to decide."""
    if not is_finished(run):
        return f"This run is not finished. To finish it, run `{shlex.join([*RESUME, str(run.folder)])}`."
    if is_comparable(run):
        return _halve_changes(run)
    if (run.part("scenario").get("search") or {}).get("rounds"):
        return _more_rounds(run)
    if further := further_run(run):
        return _decide(run, further)
    until = decision(run.part("scenario").get("until"), requirements_of_run(run))
    return "" if until == "require" else _more_precise(run, until) if until.startswith("±") else _separate(run)


def _more_rounds(run: Run) -> str:
    """Return a sentence with the budget that gives repeated searches enough rounds for intervals, or an empty string if
    each search has an interval."""
    found = [row for row in run.measured_rows if row["throughput_hz"] is not None]
    budget = run.part("scenario").get("budget")
    if not budget or all(row["throughput_low_hz"] is not None for row in found):
        return ""
    longer = _command(run, "--budget", _tidy(2 * units.seconds(budget)))
    return f"For intervals and ranks of the highest rates, run `{longer}`."


def is_finished(run: Run) -> bool:
    """Return whether the run executed all its trials. The directory name of an unfinished run starts with a dot."""
    return not run.folder.name.startswith(".")


def _separate(run: Run) -> str:
    """Return a sentence with the command that decides an undecided pair of rows, or an empty string if no pair is
    undecided. Pairs that contain the fastest row take precedence over other pairs. Among pairs with the same
    precedence, the pair that needs the fewest rounds comes first."""
    compared = _compared_groups(run)
    if whole := [group for group in compared if is_whole(group)]:
        return _separate_workload(run, whole)
    pairs = [(pair.rounds, group, pair) for group in compared for pair in _separable_pairs(group)]
    if not pairs:
        few = run.quick and _measured_rounds(run) < TRIALS
        return f"To decide more pairs, run {_longer(run, compared, TRIALS)}." if few else ""
    rounds, group, pair = min(pairs, key=lambda each: (each[2].one is not each[1].ranked_rows[0], each[0] or 0))
    several = len({group.conditions["payload"] for group in compared}) > 1
    payload = f" for {_subject(pair.one)}" if several else ""
    unsettled = [each for each in compared if _separable_pairs(each)]
    names = f"{name(group, pair.one)} and {name(group, pair.other)}{payload}"
    return f"To decide between {names}, run {_longer(run, unsettled, rounds or 0)}."


def _separate_workload(run: Run, whole: Sequence[Group]) -> str:
    """Return a sentence with the command that decides whether another transport differs from a workload's best
    transport. Return an empty string if no pair is undecided or if deciding a pair takes too long."""
    pairs = [(rounds, group, one, other) for group in whole for one, other, rounds in workload_answer.open_pairs(group)]
    known = [each for each in pairs if each[0] is not None]
    if not known:
        return ""
    rounds, group, one, other = min(known, key=lambda each: each[0] or 0)
    return f"To decide between {name(group, one)} and {name(group, other)}, run {_longer(run, whole, rounds or 0)}."


def _compared_groups(run: Run) -> list[Group]:
    return [group for group in groups([run]) if not shows_level(group)]


def _separable_pairs(group: Group) -> list[OpenPair]:
    """Return the undecided pairs of choices whose order answers the run's question and can be decided."""
    found = [pair for pair in open_pairs(group) if pair.is_choice and pair.rounds is not None]
    return [pair for pair in found if answers_question(group, pair.one, pair.other)]


def _more_precise(run: Run, until: str) -> str:
    """Return a sentence with the budget that gives all medians the requested precision. Return an empty string if all
    medians already have the requested precision. If a median has no interval, the sentence suggests twice the current
    budget."""
    factor, budget = rounds_factor(run), run.part("scenario").get("budget")
    if not budget or (factor is not None and factor <= 1):
        return ""
    seconds = (factor or 2) * units.seconds(budget)
    if seconds > LONGEST_S:
        return f"To reach {until} for every median would take about {humanize.time(seconds)} on this machine."
    aim = "reach" if factor else "come closer to"
    return f"To {aim} {until} for every median, run `{_command(run, '--budget', _tidy(seconds))}`."


def _longer(run: Run, unsettled: Iterable[Group], rounds: int) -> str:
    """Return the command that runs at least `rounds` rounds, by means of `--trials` or a larger `--budget`."""
    many = max(rounds, _measured_rounds(run) + 1)
    if budget := run.part("scenario").get("budget"):
        took_s = sum(trial.get("wall_s") or 0.0 for trial in run.trials)
        further_s = (many - _measured_rounds(run)) * _round_s(run, unsettled)
        return f"`{_command(run, '--budget', _tidy(max(units.seconds(budget), took_s) + further_s))}`"
    took_s = many * _round_s(run, groups([run]))
    how_long = f", which takes about {humanize.time(took_s)}" if took_s else ""
    return f"`{_command(run, '--trials', str(many))}`{how_long}"


def _round_s(run: Run, tables: Iterable[Group]) -> float:
    """Return the duration of one round of the given tables: the sum of their cells' mean trial times."""
    took: dict[str, list[float]] = defaultdict(list)
    for trial in run.trials:
        took[trial["cell"]].append(trial.get("wall_s") or 0.0)
    return sum(fmean(took[row.id]) for group in tables for row in group.rows if row.id in took)


def _tidy(seconds: float) -> str:
    """Return a duration as text. Durations up to two minutes are rounded up to a multiple of ten seconds, and longer
    durations to a whole minute."""
    return f"{math.ceil(seconds / 10) * 10}s" if seconds <= 120 else f"{math.ceil(seconds / 60)}m"


def _halve_changes(run: Run) -> str:
    """Return a sentence on how to detect smaller changes between the two sides of a run. Return an empty string if no
    change is undecided."""
    if not any(each.detectable for each in compare_sides(run) if each.verdict == UNDECIDED):
        return ""
    more = MORE * _measured_rounds(run)
    length = f"--trials {more}"
    if budget := run.part("scenario").get("budget"):
        length = f"--budget {_tidy(MORE * units.seconds(budget))}"
    return f"Four times as many rounds detect changes about half as large: run the same command with `{length}`."


def _decide(run: Run, further: Further) -> str:
    """Return a sentence with the command that decides whether some rows meet the requirements. The sentence also states
    how many rows need more rounds than the command runs."""
    several = len(set(map(_subject, run.measured_rows))) > 1
    rows = [formatting.row_name(row) + (f" for {_subject(row)}" if several else "") for row in further.rows]
    names = formatting.join(formatting.first(formatting.distinct(rows), MOST_NAMES))
    has_budget = bool(run.part("scenario").get("budget"))
    length = ("--budget", _tidy(further.seconds)) if has_budget else ("--trials", str(further.rounds))
    others = formatting.plural(further.others, "other row needs", "other rows need")
    rest = f"; {others} more rounds" if further.others else ""
    meet = "meets" if len(set(rows)) == 1 else "meet"
    wanted = formatting.join(requirements_of_run(run))
    return f"To decide whether {names} {meet} {wanted}, run `{_command(run, *length)}`{rest}."


def _subject(row: Row) -> str:
    """Return the flow or path of a workload row, or the payload of any other row."""
    return row.cell.part or describe_payload(str(row["payload"]))


def _command(run: Run, *options: str) -> str:
    """Return the run's command, in which `options` replace the options for the length of the run."""
    has_until = "--budget" in options and "--until" in recorded_command(run)
    until = run.part("scenario").get("until") if has_until else None
    return shlex.join([*own_command(run, *LENGTHS), *(["--until", str(until)] if until else []), *options])


def _measured_rounds(run: Run) -> int:
    """Return the largest number of trials of any cell."""
    return max(Counter(trial["cell"] for trial in run.trials).values(), default=0)
