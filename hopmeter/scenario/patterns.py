"""Provides regular expressions that editors use for values with a special syntax.

`units` and `model` validate values more strictly and explain errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from hopmeter.model.units import DESTINATIONS, UNITS_NS, WAYS

NUMBER = r"[0-9]+"
POSITIVE = r"0*[1-9][0-9]*"
UNIT = f"({'|'.join(UNITS_NS)})"
TIME = rf"{NUMBER}(\.{NUMBER})?{UNIT}"
COPIED = f"({NUMBER}|frame)(:({'|'.join(WAYS)}))?(:({'|'.join(DESTINATIONS)}))?"

FULL = f"none|(sleep|spin):{TIME}|copy:{COPIED}"
UNTIL = r"order|best|require|(±|\+-)[0-9]+(\.[0-9]+)?%"


def whole(*forms: str) -> str:
    """Return a regular expression that matches any of these forms in full."""
    return f"^({'|'.join(forms)})$"


def _works(kind: str, amount: str) -> str:
    """Return a regular expression for one amount of this kind, or for a list that begins with it."""
    more = f"/({amount}|{FULL})"
    return f"{kind}:({amount}({more})*|none({more})+)"


def languages(choices: Iterable[str], known: Iterable[str]) -> str:
    """Return a regular expression for one language, or for source>relays>sink."""
    one = f"({'|'.join(word.replace('+', '[+]') for word in known)})"
    return whole(*choices, f"{one}(>{one}){{0,2}}")


def cores(choices: Iterable[str]) -> str:
    """Return a regular expression for one of the given words, or for a list of core numbers."""
    return whole(*choices, f"{NUMBER}(,{NUMBER})*")


DURATION = whole(TIME)
SPAN = whole(rf"{POSITIVE}(\.{NUMBER})?{UNIT}", rf"{NUMBER}\.{POSITIVE}{UNIT}")
PAYLOAD = whole(
    "timing",
    f"bytes:{NUMBER}",
    f"image:{POSITIVE}x{POSITIVE}",
    f"array:{NUMBER}(x{NUMBER})*",
    "file:.+",
    "(image|video):.*[./].*",
    "message:.+",
)
SHARE = whole(rf"{POSITIVE}(\.{NUMBER})?%", rf"{NUMBER}\.{POSITIVE}%")
TRAFFIC = whole(rf"{POSITIVE}(\.{NUMBER})?[MG]B/s", rf"{NUMBER}\.{POSITIVE}[MG]B/s")
WORK = whole(f"none(/({FULL}))*", _works("(sleep|spin)", TIME), _works("copy", COPIED))
