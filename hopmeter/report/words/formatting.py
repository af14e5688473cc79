"""Format numbers and names for readers: three significant digits and one unit. Reports and the terminal use the same
number format."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape

from hopmeter.model.language_names import language_name
from hopmeter.system import humanize
from hopmeter.system.humanize import first as first
from hopmeter.system.humanize import join as join
from hopmeter.system.humanize import plural as plural

NOTHING = "–"
LOST = "lost"
"""Shown instead of a percentile that falls on a lost message."""
THIN = "\N{NARROW NO-BREAK SPACE}"


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, such as `0.495`, `16.4`, `837` or `1,249`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")  # rounding may add a digit: 9.996 becomes 10.0
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:,.{places}f}"


def count(value: float | None) -> str:
    """Return a value rounded to an integer."""
    return NOTHING if value is None else f"{round(value):,}"


def microseconds(value: float | None) -> str:
    """Return a time in microseconds with its unit."""
    return NOTHING if value is None else f"{number(value)}{THIN}µs"


EMPTY_HOP = "Empty hop: the time from sent to arrived without a transport, spent in hopmeter's own code alone."


def empty_hop(value: float | None) -> str:
    """Return the time that hopmeter's own code takes for a hop, without a transport. Return an empty string if the time
    was not measured."""
    return "" if value is None else f"empty hop {microseconds(value)}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval such as `14.9 to 15.6`, or `at least 14.9` if the upper bound is unknown. Return an empty
    string if there is no interval."""
    if low is None or high is None:
        return " ".join(f"{words} {number(end)}" for words, end in (("at least", low), ("at most", high)) if end)
    return f"{number(low)} to {number(high)}"


NO_INTERVAL = "?"
"""Shown instead of an interval that is unknown or too wide."""
WIDEST = 1000
"""An interval is too wide to print if its bounds differ by more than this factor."""


def bracket(low: float | None, high: float | None) -> str:
    """Return an interval such as `(303–1,443)`, or `(≥303)` if one bound is unknown. Return `(?)` if the interval is
    unknown, or too wide to be useful."""
    if (low is None) != (high is None):
        return f"(≤{number(high)})" if low is None else f"(≥{number(low)})"
    if low is None or high is None or 0 < low * WIDEST < high:
        return f"({NO_INTERVAL})"
    return f"({number(low)}–{number(high)})"


def ratio_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a ratio. If the lower bound rounds to 1, return `more than 1, at most 1.54`."""
    if low is None or high is None:
        return ""
    if _is_beside_one(low) and low > 1:
        return f"more than 1, at most {number(high)}"
    return f"at least {number(low)}, less than 1" if _is_beside_one(high) and high < 1 else interval(low, high)


def ratio_bracket(low: float | None, high: float | None) -> str:
    """Return the interval of a ratio in brackets. If the lower bound rounds to 1, return `(>1–1.54)`."""
    if low is None or high is None:
        return bracket(low, high)
    if _is_beside_one(low) and low > 1:
        return f"(>1–{number(high)})"
    return f"({number(low)}–<1)" if _is_beside_one(high) and high < 1 else bracket(low, high)


def _is_beside_one(limit: float) -> bool:
    """Return whether a value is not exactly 1 but rounds to 1."""
    return limit != 1 and number(limit) == number(1)


def times(value: float | None) -> str:
    """Return a ratio as a multiple, such as `1.50×`."""
    return NOTHING if value is None else f"{number(value)}×"


def ratio(value: float) -> str:
    """Return a ratio such as `2.1` or `37`. Ratios below 2 have two decimal places, such as `1.05`."""
    return f"{value:.2f}" if value < 1.995 else number(value, 2)


def percent(share: float | None) -> str:
    """Return a fraction as a percentage. A small positive fraction is never shown as zero."""
    if share is None:
        return NOTHING
    return "0" if share == 0 else f"{number(100 * share, 2)}{THIN}%"


def payload_bytes(value: float) -> str:
    """Return a size such as `28 B`, `1.5 kB` or `4.67 MB`."""
    return humanize.byte_size(value, THIN)


def rate(value: float | None) -> str:
    """Return a rate with its unit, Hz."""
    return NOTHING if not value else f"{count(value) if float(value).is_integer() else number(value)}{THIN}Hz"


def breakable(name: str) -> Markup:
    """Return a name with line-break opportunities only after `=` and `_`."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[=_])", name))


def code(text: str) -> Markup:
    """Return the text as markup, in which parts between backticks are marked as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(_command(part) if at % 2 else part for at, part in enumerate(parts))


def _command(text: str) -> Markup:
    """Return the text marked as code, such that lines do not break within an option."""
    words = (
        Markup("<span>{}</span>").format(word) if word.startswith("-") else escape(word) for word in text.split(" ")
    )
    return Markup("<code>{}</code>").format(Markup(" ").join(words))


def row_name(row: Any) -> str:
    """Return a row's transport and language, such as `tcp (Rust)`."""
    return f"{row['transport']} ({language_name(str(row['language']))})"


def distinct(values: Iterable[str]) -> list[str]:
    """Return the distinct non-empty values, in order of first appearance."""
    return [value for value in dict.fromkeys(values) if value]
