"""Holds code and prose to docs/glossary.md: `python setup/glossary.py FILE…`, Markdown, TOML, Python, Rust or C++.

Prints each retired word, and each word of the glossary after which two types of one language are named; exits with 1 if
there is any. Code spans of Markdown, and strings that are one name, may have a retired word: older files have it too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

GLOSSARY = Path(__file__).parents[1] / "docs/glossary.md"
EXEMPT = ("CHANGELOG.md", "docs/findings/", "setup/glossary.py", "tests/docs/test_glossary.py")
"""Files about earlier versions, or about retired words."""
HEADING = "## Retired words"
CODE = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r'"[\w.-]*"')
TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:class|struct|enum|trait)\s+([A-Z]\w*)", re.MULTILINE)
"""The definition of a type in Python, Rust or C++."""
LANGUAGES = {".py": "Python", ".rs": "Rust", ".hpp": "C++", ".cpp": "C++"}
SHARED = ("hopmeter/", "instrument/src/", "cpp/include/")
"""The code in which a word of the glossary names one type."""
STAYS = re.compile(
    "Bridge|Change|Flow|Handle|Link|Loan|Message|Node|Participant|Path|Run|Sent|Side|Table|Transport|Verdict"
)
"""Words after which several types are named already; remove a word from here when you rename its types."""


@dataclass(frozen=True)
class Retired:
    """A retired word: how to find it, what to say instead, and the phrases of others that may contain it."""

    pattern: re.Pattern[str]
    instead: str
    allowed: tuple[str, ...]

    def find(self, line: str) -> str:
        """Return the word as a line has it; empty if the line does not have it."""
        for phrase in self.allowed:
            line = line.replace(phrase, "")
        found = self.pattern.search(line)
        return found[0] if found else ""


def _pattern(words: str) -> re.Pattern[str]:
    """Return what finds words in prose and as parts of names: `in turn`, `in_turn`, `inTurn`."""
    parts = [f"[{each[0].upper()}{each[0]}]{each[1:]}" for each in words.split()]
    spaced, camel = r"[\s_-]+".join(parts), "".join(each.capitalize() for each in words.split())
    shouted, plural = words.upper().replace(" ", "_"), "" if " " in words else "s?"
    return re.compile(rf"(?<![A-Za-z])(?:{spaced}|{shouted}){plural}(?![a-z])|{camel}{plural}(?![a-z])")


def read_retired(glossary: str) -> list[Retired]:
    """Read the table of retired words from the text of the glossary."""
    _, _, table = glossary.partition(HEADING)
    return [
        Retired(_pattern(words), instead, tuple(CODE.findall(allowed)))
        for cell, instead, allowed in _rows(table)
        for words in CODE.findall(cell)
    ]


def read_words(glossary: str) -> set[str]:
    """Read the words of the glossary that are one word, as the names of types."""
    defined, _, _ = glossary.partition(HEADING)
    return {cell.capitalize() for cell, *_ in _rows(defined) if cell.isalpha()}


def _rows(tables: str) -> Iterator[list[str]]:
    """Yield the cells of each row of Markdown's tables."""
    lines = (line for line in tables.splitlines() if line.startswith("| "))
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)


def prose(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without the names that older files have."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, CODE.sub(" ", NAME.sub(" ", line) if file.suffix in LANGUAGES else line)


def retired_words(file: Path, retired: Iterable[Retired]) -> Iterator[str]:
    """Yield the findings of retired words in a file."""
    for number, line in prose(file, file.read_text()):
        for word in retired:
            if found := word.find(line):
                yield f'{file}:{number}: "{found}" is retired: {word.instead}'


def repeated_types(files: Iterable[Path], words: set[str]) -> Iterator[str]:
    """Yield the definitions of a type whose name another type of the same language has, if the glossary defines it."""
    first: dict[tuple[str, str], Path] = {}
    for file in files:
        for name in TYPE.findall(file.read_text()) if file.suffix in LANGUAGES else ():
            other = first.setdefault((LANGUAGES[file.suffix], name), file)
            if name in words and other != file and not STAYS.fullmatch(name):
                yield f"{file}: {other} has a type `{name}` too: a word of the glossary names one type of a language"


def main() -> int:
    """Print all findings."""
    glossary = GLOSSARY.read_text()
    files = [Path(name) for name in sys.argv[1:] if not name.startswith(EXEMPT)]
    retired = read_retired(glossary)
    found = [each for file in files for each in retired_words(file, retired)]
    found += repeated_types((each for each in files if str(each).startswith(SHARED)), read_words(glossary))
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
