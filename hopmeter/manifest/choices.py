"""The words that several keys of a manifest choose from."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["rust", "c++", "python"]
Wait = Literal["spin", "block", "callback"]
Placement = Literal["thread", "process"]
Pattern = Literal["pubsub", "rpc"]
Value = bool | int | float | str

LANGUAGES: tuple[Language, ...] = ("rust", "c++", "python")
LANGUAGE_NAMES = {"rust": "Rust", "c++": "C++", "python": "Python"}
_LANGUAGE = re.compile("|".join(map(re.escape, LANGUAGES)))


def languages_in(words: str) -> list[str]:
    """Return the languages of a cell, such as `rust>python` or `rust+c++`, without repeats."""
    return list(dict.fromkeys(_LANGUAGE.findall(words)))


def language_name(words: str) -> str:
    """Return the language of a cell as a sentence names it: `Python`, `Rust>C++`."""
    return _LANGUAGE.sub(lambda found: LANGUAGE_NAMES[found[0]], words)
