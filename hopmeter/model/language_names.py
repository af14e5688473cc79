"""Format programming languages for sentences: `C++`, `C++ to Python`."""

from __future__ import annotations

import re

NAMES = {"c++": "C++", "rust": "Rust", "python": "Python"}
_WORD = re.compile("|".join(map(re.escape, NAMES)))


def languages_in(words: str) -> list[str]:
    """Return the distinct languages in a language value, such as `rust>python` or `rust+c++`."""
    return list(dict.fromkeys(_WORD.findall(words)))


def language_name(words: str) -> str:
    """Return `C++` for `c++`, `C++ to Python` for `c++>python` (source and sink), and `Rust and C++` for `rust+c++`
    (the programs of a workload)."""
    listed = re.sub(r"\+(?=rust|c\+\+|python)", " and ", words)
    return " to ".join(_WORD.sub(lambda found: NAMES[found[0]], each) for each in listed.split(">"))
