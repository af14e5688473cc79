"""Whether a row meets what is required of it, as a value and as the text of a column."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a requirement is met, the best first."""

    MEETS = "meets"
    UNDECIDED = "undecided"
    MISSES = "misses"


def overall(verdicts: Iterable[str]) -> Verdict:
    """Return the verdict on several requirements together: the worst."""
    order = list(Verdict)
    return max(map(Verdict, verdicts), key=order.index, default=Verdict.MEETS)


def verdict_text(requirement: str, verdict: Verdict) -> str:
    """Return the text of a requirement in the column `require_each`: `p50 < 100us: meets`."""
    return f"{requirement}: {verdict}"


def unmet(texts: Iterable[str] | None) -> list[str]:
    """Return the texts of `require_each` whose requirements are missed or undecided."""
    return [text for text in texts or () if not text.endswith(f": {Verdict.MEETS}")]
