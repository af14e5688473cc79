"""Numbers as a reader wants them: three digits that count, one unit, the same everywhere in the report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

NOTHING = "–"
THIN = "\N{NARROW NO-BREAK SPACE}"


def number(value: float | None, digits: int = 3) -> str:
    """`0.495`, `16.4`, `837`, `1 249`: three significant digits, thousands set apart."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")  # 0.9998 is 1.00, and 9.996 is 10.0
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:,.{places}f}".replace(",", THIN)


def count(value: float | None) -> str:
    """A whole number."""
    return NOTHING if value is None else f"{round(value):,}".replace(",", THIN)


def microseconds(value: float | None) -> str:
    """With its unit."""
    return NOTHING if value is None else f"{number(value)}{THIN}µs"


EMPTY_HOP = (
    "Empty hop: what a message takes here from sent to arrived without a transport, by hopmeter's own code alone."
)


def empty_hop(value: float | None) -> str:
    """What hopmeter's own code takes where the sender calls the receiver; nothing where it was not measured."""
    return "" if value is None else f"empty hop {microseconds(value)}"


def interval(low: float | None, high: float | None) -> str:
    """`14.9 to 15.6`, or nothing where there is no interval."""
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"


def times(value: float | None) -> str:
    """How many times something."""
    return NOTHING if value is None else f"{number(value)}×"


def percent(share: float | None) -> str:
    """A share of one; what is small is not rounded to nothing."""
    if share is None:
        return NOTHING
    return "0" if share == 0 else f"{number(100 * share, 2)}{THIN}%"


def payload_bytes(value: float) -> str:
    """`28 B`, `1.5 kB`, `4.67 MB`: decimal, as networks count."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{number(value / size)}{THIN}{unit}"
    return f"{count(value)}{THIN}B"


def rate(value: float | None) -> str:
    """Messages a second."""
    return NOTHING if not value else f"{count(value) if float(value).is_integer() else number(value)}{THIN}Hz"


def breakable(name: str) -> Markup:
    """A name that a narrow column breaks before a setting's value or a word of it, and not within."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[=_])", name))


def coded(text: str) -> Markup:
    """Words of the page, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def plural(many: int, one: str, more: str = "") -> str:
    """`1 cell`, `3 cells`."""
    return f"{many} {one if many == 1 else more or one + 's'}"


def distinct(values: Iterable[str]) -> list[str]:
    """Without empties and repeats, in order of first appearance."""
    return [value for value in dict.fromkeys(values) if value]
