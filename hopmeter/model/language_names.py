"""Programming languages as a sentence names them: `C++`, `C++ to Python`."""

from __future__ import annotations

NAMES = {"c++": "C++", "rust": "Rust", "python": "Python"}


def language_name(word: str) -> str:
    """Return `C++` for `c++`, and `C++ to Python` for the languages `c++>python` of source and sink."""
    return " to ".join(NAMES.get(each, each) for each in word.split(">"))
