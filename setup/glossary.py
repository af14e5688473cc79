"""Check code and prose against docs/glossary.md: `python setup/glossary.py FILE…`, for Markdown, TOML, Python, Rust or
C++ files.

Prints each retired word, and each glossary word that names two types in one language; exits with 1 if it finds any.
Code spans in Markdown and strings that are a single name may contain retired words, because older files contain these
words too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

GLOSSARY = Path(__file__).parents[1] / "docs/glossary.md"
EXEMPT = ("CHANGELOG.md", "docs/findings/", "setup/glossary.py", "tests/docs/test_glossary.py")
"""Files about earlier versions or about retired words, which are not checked."""
HEADING = "## Retired words"
CODE = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r'"[\w.-]*"')
TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:class|struct|enum|trait)\s+([A-Z]\w*)", re.MULTILINE)
"""Matches a type definition in Python, Rust or C++."""
LANGUAGES = {".py": "Python", ".rs": "Rust", ".hpp": "C++", ".cpp": "C++"}
SHARED = ("hopmeter/", "instrument/src/", "cpp/include/")
"""The source files in which a glossary word may name only one type."""
STAYS = re.compile(
    "Bridge|Change|Flow|Handle|Link|Loan|Message|Node|Participant|Path|Run|Sent|Side|Table|Transport|Verdict"
)
"""Glossary words that are already the name of several types; remove a word from this list when you rename its types."""


@dataclass(frozen=True)
class Retired:
    """A retired word: how to find it, its replacement, and phrases of other projects that may contain it."""

    pattern: re.Pattern[str]
    instead: str
    allowed: tuple[str, ...]

    def find(self, line: str) -> str:
        """Return the retired word as it appears in a line; empty if it does not appear."""
        for phrase in self.allowed:
            line = line.replace(phrase, "")
        found = self.pattern.search(line)
        return found[0] if found else ""


def _pattern(words: str) -> re.Pattern[str]:
    """Return a pattern that finds words in prose and as parts of names: `in turn`, `in_turn`, `inTurn`."""
    parts = [f"[{each[0].upper()}{each[0]}]{each[1:]}" for each in words.split()]
    spaced, camel = r"[\s_-]+".join(parts), "".join(each.capitalize() for each in words.split())
    shouted, plural = words.upper().replace(" ", "_"), "" if " " in words else "s?"
    return re.compile(rf"(?<![A-Za-z])(?:{spaced}|{shouted}){plural}(?![a-z])|{camel}{plural}(?![a-z])")


def read_retired(glossary: str) -> list[Retired]:
    """Return the retired words from the glossary's text."""
    _, _, table = glossary.partition(HEADING)
    return [
        Retired(_pattern(words), instead, tuple(CODE.findall(allowed)))
        for cell, instead, allowed in _rows(table)
        for words in CODE.findall(cell)
    ]


def read_words(glossary: str) -> set[str]:
    """Return the glossary's single words, capitalized like type names."""
    defined, _, _ = glossary.partition(HEADING)
    return {cell.capitalize() for cell, *_ in _rows(defined) if cell.isalpha()}


def _rows(tables: str) -> Iterator[list[str]]:
    """Yield the cells of each row in Markdown tables."""
    lines = (line for line in tables.splitlines() if line.startswith("| "))
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)


def prose(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, without names that older files may contain."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, CODE.sub(" ", NAME.sub(" ", line) if file.suffix in LANGUAGES else line)


def retired_words(file: Path, retired: Iterable[Retired]) -> Iterator[str]:
    """Yield a finding for each retired word in a file."""
    for number, line in prose(file, file.read_text()):
        for word in retired:
            if found := word.find(line):
                yield f'{file}:{number}: "{found}" is retired: {word.instead}'


def repeated_types(files: Iterable[Path], words: set[str]) -> Iterator[str]:
    """Yield a finding for each glossary word that is the name of a second type in the same language."""
    first: dict[tuple[str, str], Path] = {}
    for file in files:
        for name in TYPE.findall(file.read_text()) if file.suffix in LANGUAGES else ():
            other = first.setdefault((LANGUAGES[file.suffix], name), file)
            if name in words and other != file and not STAYS.fullmatch(name):
                yield f"{file}: {other} has a type `{name}` too: a word of the glossary names one type of a language"


def main() -> int:
    """Print all findings. Return whether there are any."""
    glossary = GLOSSARY.read_text()
    files = [Path(name) for name in sys.argv[1:] if not name.startswith(EXEMPT)]
    retired = read_retired(glossary)
    found = [each for file in files for each in retired_words(file, retired)]
    found += repeated_types((each for each in files if str(each).startswith(SHARED)), read_words(glossary))
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
