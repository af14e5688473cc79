"""What editors are told of words with a form of their own; `amounts` and `model` have the last word, and say more."""

from __future__ import annotations

from collections.abc import Iterable

from hopmeter.model.units import DESTINATIONS, UNITS_NS, WAYS

NUMBER = r"[0-9]+"
POSITIVE = r"0*[1-9][0-9]*"
UNIT = f"({'|'.join(UNITS_NS)})"
TIME = rf"{NUMBER}(\.{NUMBER})?{UNIT}"
COPIED = f"({NUMBER}|frame)(:({'|'.join(WAYS)}))?(:({'|'.join(DESTINATIONS)}))?"


def whole(*forms: str) -> str:
    """One of these, and nothing before or behind."""
    return f"^({'|'.join(forms)})$"


def _each(kind: str, amount: str) -> str:
    """One amount for all, or one or none for each."""
    return f"{kind}:({amount}|({amount}|none)(/({amount}|none))+)"


def languages(choices: Iterable[str], known: Iterable[str]) -> str:
    """One word, or source>relays>sink."""
    one = f"({'|'.join(word.replace('+', '[+]') for word in known)})"
    return whole(*choices, f"{one}(>{one}){{0,2}}")


def cores(choices: Iterable[str]) -> str:
    """A word, or a list of numbers."""
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
)
WORK = whole("none", _each("(sleep|spin)", TIME), _each("copy", COPIED))
