"""Conditions under which another transport is best, and conditions that the run did not measure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.hosts.coordinator.host_options import OPTIONS as HOST_OPTIONS
from hopmeter.report.advice.decision import Decision, decide
from hopmeter.report.advice.overload import overload_sentence
from hopmeter.report.advice.questions import Question, parts
from hopmeter.report.advice.row_words import comparison_words, names
from hopmeter.report.answers.comparison_sentences import levels, name, shows_level
from hopmeter.report.answers.open_requirements import requirements_of_run
from hopmeter.report.answers.unlike_rows import unlike_sentences
from hopmeter.report.words import conditions, formatting

ADVISE = ("hopmeter", "advise")
IDLE_STATES = ("--idle-states", "--no-idle-states")
OPTIONS = (
    *("--transport", "--language", "--pattern", "--payload", "--rate", "--sinks", "--set", "--require", "--now"),
    *IDLE_STATES,
    *HOST_OPTIONS.values(),
)
"""Options that define the question of a run. All other options affect only how the run is executed."""
FACTOR = 10


def changes(run: Run, asked: Question, others: Sequence[Question], found: Decision) -> list[str]:
    """Return sentences on when another transport is best, and on conditions that were not measured. Return an
    empty list if the run supports no recommendation."""
    if found.take is None:
        return []
    measured = [
        *_idle_states(asked, found),
        *_questions(others, found),
        *_parts(run, found),
        *_requirements(run, found),
    ]
    unlike = [each.rstrip(".") for each in unlike_sentences([found.group])]
    overload = filter(None, [overload_sentence(found)])
    return [*measured, *overload, *_open_choice(run, found), *unlike, *_not_measured(run, asked, others, found.take)]


def _idle_states(asked: Question, found: Decision) -> Iterator[str]:
    """For each table measured with other idle-state settings, yield a sentence on the table's ranking."""
    for group in asked.others:
        state = "kept awake" if group.conditions[conditions.IDLE] else "as they are"
        other = decide(group)
        if shows_level(group) and not other.is_decided:
            yield f"With idle cores {state}, there were too few rounds for a ranking: {levels(group)}"
        else:
            yield f"With idle cores {state}, {_first_words(other, found)}"


def _questions(others: Sequence[Question], found: Decision) -> Iterator[str]:
    """Yield a sentence for each further table with a different best transport, then count the agreeing and undecided
    tables."""
    decisions = [decide(each.deciding) for each in others]
    different = [each for each in decisions if each.is_decided and not _is_among(found, each)]
    for each in different:
        yield f"For {conditions.subject(each.group)}, {_first_words(each, found)}"
    open_ = [each for each in decisions if not each.is_decided]
    if same := len(decisions) - len(different) - len(open_):
        yield f"In {formatting.plural(same, 'other table')} of this run, {_name(found)} is also among the best"
    if open_:
        are = "is" if len(open_) == 1 else "are"
        yield f"{formatting.plural(len(open_), 'other table')} of this run {are} undecided"


def _parts(run: Run, found: Decision) -> Iterator[str]:
    """Yield a sentence on each flow or path for which another transport is best."""
    idle = found.group.conditions[conditions.IDLE]
    for each in (decide(group) for group in parts(run) if group.conditions[conditions.IDLE] == idle):
        if each.is_decided and not _is_among(found, each):
            yield f"For {conditions.subject(each.group)} alone, {_first_words(each, found)}"


def _requirements(run: Run, found: Decision) -> Iterator[str]:
    """Yield a sentence on the fastest row that misses a requirement, if this row is faster than the recommended row."""
    rows = [row for row in found.missing if row.ok]
    if (wanted := requirements_of_run(run)) and rows and found.take and found.take.p50 is not None:
        fastest = min(rows, key=lambda row: row.p50 or 0.0)
        if (fastest.p50 or 0.0) < found.take.p50:
            compared = comparison_words(found.group, found.take, fastest)
            yield f"Without {formatting.join(wanted)}, you could use {name(found.group, fastest)}, which {compared}"


def _open_choice(run: Run, found: Decision) -> Iterator[str]:
    """Yield a note that more rounds may separate the best rows, with the command that runs more rounds."""
    if found.by in ("", "now"):
        longer = advise_command(run, "--budget", "10m")
        yield f"Which of these {len(found.best)} rows is best is undecided; `{longer}` measures longer"


def _first_words(other: Decision, found: Decision) -> str:
    if not other.is_decided:
        return "the order is undecided"
    if _is_among(found, other):
        return f"{_name(found)} is also among the best"
    return f"{names(other.group, other.best)} {'is' if len(other.best) == 1 else 'are'} best"


def _name(found: Decision) -> str:
    return str(found.take["transport"]) if found.take else ""


def _is_among(found: Decision, other: Decision) -> bool:
    """Return whether a best row of another table has the transport, language and profile of the recommended row."""
    mine = _key(found.take) if found.take else None
    return any(_key(row) == mine for row in other.best)


def _key(row: Row) -> tuple[object, ...]:
    return row["transport"], row["language"], row["profile"]


def _not_measured(run: Run, asked: Question, others: Sequence[Question], take: Row) -> Iterator[str]:
    """Yield sentences on conditions that were not measured, each with the command that measures it."""
    if not asked.others:
        option = "--idle-states" if asked.is_awake else "--no-idle-states"
        state = "as they are" if asked.is_awake else "kept awake"
        yield f"Not measured: idle cores {state}; `{advise_command(run, option)}` measures them"
    if take.cell.workload is not None:
        yield "Not measured: other sizes and rates of the flows; change them in the file and run the command again"
    elif not others and take["rate_hz"]:
        rates = ",".join(f"{rate:g}" for rate in _rates(float(take["rate_hz"])))
        yield f"Not measured: other sizes and rates; for example `{advise_command(run, '--rate', rates)}`"


def _rates(rate: float) -> list[float]:
    return [rate, rate * FACTOR, rate / FACTOR]


def advise_command(run: Run, *options: str) -> str:
    """Return the `hopmeter advise` command of the given run, in which `options` replace recorded options of the same
    name."""
    recorded = run.about.get("command")
    words = list(map(str, recorded))[1:] if isinstance(recorded, list) else ["run", run.text("scenario_name")]
    named = [word for word in options if word.startswith("--")]
    named += IDLE_STATES if set(named) & set(IDLE_STATES) else []
    kept = [name for name in OPTIONS if name not in named]
    own = [word for word, before in zip(words[1:], words, strict=False) if _belongs(word, before, kept)]
    return shlex.join([*ADVISE, *own, *options])


def _belongs(word: str, before: str, kept: Sequence[str]) -> bool:
    """Return whether a command-line word is the scenario, an option in `kept`, or the value of an option in `kept`."""
    option = word if word.startswith("--") else before if before.startswith("--") and "=" not in before else ""
    return not option or option.partition("=")[0] in kept
