"""Format programming languages for sentences, such as `C++` or `C++ to Python`."""

from __future__ import annotations

import re

NAMES = {"c++": "C++", "rust": "Rust", "python": "Python"}
_WORD = re.compile("|".join(map(re.escape, NAMES)))


def languages_in(words: str) -> list[str]:
    """Return the distinct languages in a language value, such as `rust>python` or `rust+c++`."""
    return list(dict.fromkeys(_WORD.findall(words)))


def language_name(words: str) -> str:
    """Return the words for a language value: `C++` for `c++`, `C++ to Python` for `c++>python`, and `Rust and C++` for
    `rust+c++`."""
    listed = re.sub(r"\+(?=rust|c\+\+|python)", " and ", words)
    return " to ".join(_WORD.sub(lambda found: NAMES[found[0]], each) for each in listed.split(">"))
