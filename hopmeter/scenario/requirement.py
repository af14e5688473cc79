"""Parses requirements that a transport must meet, such as `p99 < 1ms`, `lost = 0` or `cpu < 5%`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hopmeter.errors import RefusedValueError
from hopmeter.model.units import UNITS_NS

LATENCIES = {"p50": "p50", "median": "p50", "p99": "p99", "p99.9": "p999", "p999": "p999"}
"""The words for a latency percentile, mapped to column names."""
METRICS = {**LATENCIES, "miss_share": "missed_share"}
"""The words that differ from the name of their metric. The word `miss_share` comes from earlier versions."""
SHARES = ("lost", "missed_share", "miss_share")
"""The metrics whose values are shares of all messages."""
FORMS = (
    'such as "p99 < 1ms" (p50, p99 or p99.9 with ns, us, ms or s), "lost = 0", "lost < 0.1%", "cpu < 5%" (of a core) '
    'or "missed_share < 1%" (of the deadlines of a workload)'
)
FORM = (
    r"\s*(p50|median|p99|p99\.9|p999|lost|cpu|missed_share|miss_share)\s*(<=|<|=)\s*"
    r"([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s|m|%)?\s*"
)
EXAMPLES = ("p99 < 1ms", "lost = 0", "cpu < 5%", "missed_share < 1%")


@dataclass(frozen=True)
class Requirement:
    """A limit on a metric:

    a latency in µs, a share of lost messages or missed deadlines, or CPU in percent of one core.
    """

    text: str
    metric: str
    limit: float
    inclusive: bool
    """Whether a value equal to the limit meets the requirement."""

    def is_met(self, value: float) -> bool:
        """Return whether a value meets the requirement."""
        return value <= self.limit if self.inclusive else value < self.limit


def parse(text: str) -> Requirement:
    """Parse a requirement. Raises ValueError, which lists the allowed forms."""
    found = re.fullmatch(FORM, text)
    if not found:
        raise _refusal(text)
    word, sign, number, unit = found[1], found[2], float(found[3]), (found[4] or "").replace("µ", "u")
    limit = _limit(word, sign, number, unit)
    if limit is None or (limit == 0 and sign == "<"):
        raise _refusal(text)
    return Requirement(f"{word} {sign} {found[3]}{unit}", METRICS.get(word, word), limit, sign != "<")


def _limit(word: str, sign: str, number: float, unit: str) -> float | None:
    """Return the limit in the metric's unit, or None if the sign or the unit does not fit the metric."""
    if word in SHARES and number == 0 and not unit:
        return 0.0
    if sign == "=" or (word in LATENCIES) != (unit in UNITS_NS) or not unit:
        return None
    if word in LATENCIES:
        return number * UNITS_NS[unit] / 1000
    return number if word == "cpu" else number / 100


def _refusal(text: str) -> RefusedValueError:
    return RefusedValueError("E-VALUE-FORM", f'"{text}" is not a requirement; write one {FORMS}')
