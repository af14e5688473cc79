"""Tests for verdicts on requirements, as values and as texts."""

from __future__ import annotations

import pytest

from hopmeter.model.requirement_verdict import Verdict, overall, unmet, verdict_text


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([], "meets"),
        (["meets", "meets"], "meets"),
        (["meets", "undecided"], "undecided"),
        (["undecided", "misses", "meets"], "misses"),
    ],
)
def test_several_requirements_are_as_bad_as_the_worst(verdicts: list[str], whole: str) -> None:
    assert overall(verdicts) == whole


def test_the_texts_of_requirements_that_are_not_met_are_found_again() -> None:
    texts = [verdict_text(f"p50 < {number}us", verdict) for number, verdict in enumerate(Verdict)]
    assert unmet(texts) == ["p50 < 1us: undecided", "p50 < 2us: misses"]
    assert unmet(None) == []
