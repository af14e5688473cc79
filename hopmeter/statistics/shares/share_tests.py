"""Compare shares of rare events between cells, both by the share in each round and by the counts over all rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from hopmeter.statistics.observations import Observation
from hopmeter.statistics.pair_tests import LEAST_ROUNDS
from hopmeter.statistics.ranking import CellPair, fit
from hopmeter.statistics.single_pairs import Question, compare_single_pairs


@dataclass(frozen=True)
class ShareTrial:
    """One trial of a cell: the number of messages that had an event, such as a missed deadline."""

    cell: str
    round: int
    events: int
    messages: int
    steal: float | None = None


@dataclass(frozen=True)
class ShareDifference:
    """The difference between the shares of two cells, averaged over rounds, with the standard error and degrees of
    freedom. `counts_p_value` is the p-value of the test that compares event counts summed over all rounds."""

    difference: float
    error: float
    freedom: float
    counts_p_value: float


def compare_shares(trials: Iterable[ShareTrial], pairs: Iterable[tuple[str, str]], alpha: float) -> list[CellPair]:
    """Compare the shares of pairs of cells by rounds. In each result, `a` is the cell with the smaller share, and
    `difference` is the share of `b` minus the share of `a`.

    A difference is significant only if two tests agree: the test of the rounds and the test of the summed counts. The
    test of the rounds accounts for the variance between trials. The test of the counts accounts for the randomness of
    few events, even if all rounds happen to be similar.
    """
    known = [each for each in trials if each.messages]
    questions = [_question(one, other, known) for one, other in pairs]
    return compare_single_pairs(questions, alpha, "difference")


def compare_share_of_two(old: str, new: str, trials: Iterable[ShareTrial]) -> ShareDifference | None:
    """Return the share of `new` minus the share of `old`, or None if there are fewer than three common rounds."""
    question = _question(old, new, [each for each in trials if each.messages])
    pair = next(iter(fit(question.observations, scale="difference").pairs), None)
    if pair is None or pair.rounds < LEAST_ROUNDS:
        return None
    size = pair.difference or 0.0
    freedom = min(pair.freedom, pair.rounds - 1.0)
    return ShareDifference(size if pair.b == new else -size, pair.error, freedom, question.least_p_value)


def _question(one: str, other: str, trials: Sequence[ShareTrial]) -> Question:
    rounds = [{each.round for each in trials if each.cell == cell} for cell in (one, other)]
    both = [each for each in trials if each.cell in (one, other) and each.round in rounds[0] & rounds[1]]
    observations = [Observation(each.cell, each.round, each.events / each.messages, each.steal) for each in both]
    events, messages = (
        [sum(getattr(each, name) for each in both if each.cell == cell) for cell in (one, other)]
        for name in ("events", "messages")
    )
    return Question(one, other, observations, counts_p_value(events, messages))


def can_differ(trials: Iterable[ShareTrial], alpha: float) -> bool:
    """Return whether any two cells have enough events for a significant difference at the level `alpha` (Tarone
    1990)."""
    sums: dict[str, tuple[int, int]] = {}
    for each in trials:
        events, messages = sums.get(each.cell, (0, 0))
        sums[each.cell] = events + each.events, messages + each.messages
    for (one, many), (other, more) in combinations(sums.values(), 2):
        extremes = ([one + other, 0], [0, one + other])
        if min(counts_p_value(each, [many, more]) for each in extremes) <= alpha:
            return True
    return False


def counts_p_value(events: Sequence[int], messages: Sequence[int]) -> float:
    """Return the two-sided p-value of a binomial test on how many of the events each of two cells had. If most messages
    had the event, the test counts the messages without the event.

    The binomial test treats messages as independent. If the share of events is not small, the p-value is conservative.
    """
    if 2 * sum(events) > sum(messages):
        events = [many - each for many, each in zip(messages, events, strict=True)]
    total = sum(events)
    if not total:
        return 1.0
    from scipy.special import bdtr, bdtrc  # SciPy is slow to import, and most commands need no statistics

    share = messages[0] / sum(messages)
    below = float(bdtr(events[0], total, share))
    above = float(bdtrc(events[0] - 1, total, share)) if events[0] else 1.0
    return min(1.0, 2 * min(below, above))
