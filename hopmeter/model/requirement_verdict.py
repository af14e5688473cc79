"""The verdict on the requirements of a row, as a value and as column text."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a requirement. The values are ordered from best to worst."""

    MEETS = "meets"
    UNDECIDED = "undecided"
    MISSES = "misses"


def overall(verdicts: Iterable[str]) -> Verdict:
    """Return the combined verdict on several requirements, which is the worst of these verdicts."""
    order = list(Verdict)
    return max(map(Verdict, verdicts), key=order.index, default=Verdict.MEETS)


def verdict_text(requirement: str, verdict: Verdict) -> str:
    """Return a requirement and its verdict as text for the column `require_each`, such as `p50 < 100us: meets`."""
    return f"{requirement}: {verdict}"


def unmet(texts: Iterable[str] | None) -> list[str]:
    """Return the texts from `require_each` for requirements that are missed or undecided."""
    return [text for text in texts or () if not text.endswith(f": {Verdict.MEETS}")]
