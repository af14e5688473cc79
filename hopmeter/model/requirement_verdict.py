"""Define the verdict on the requirements of a row, and format the verdict for the column `require_each`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a requirement. The values of this enumeration are listed from the best verdict to the worst."""

    MEETS = "meets"
    UNDECIDED = "undecided"
    MISSES = "misses"


def overall(verdicts: Iterable[str]) -> Verdict:
    """Return the combined verdict on several requirements, which is the worst of the individual verdicts."""
    order = list(Verdict)
    return max(map(Verdict, verdicts), key=order.index, default=Verdict.MEETS)


def verdict_text(requirement: str, verdict: Verdict) -> str:
    """Return a requirement and its verdict as an item of the column `require_each`, such as `p50 < 100us: meets`."""
    return f"{requirement}: {verdict}"


def unmet(texts: Iterable[str] | None) -> list[str]:
    """Return those items of the column `require_each` whose requirements are missed or undecided."""
    return [text for text in texts or () if not text.endswith(f": {Verdict.MEETS}")]
