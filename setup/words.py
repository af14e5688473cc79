"""Find words for which there is a better word: `python setup/words.py FILE…`, for Markdown, Python or TOML files.

Prints each finding with its remedy, and exits with 1 if there is any. Code and link targets are not prose.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

REMEDIES = {
    r"told|tells?\b(?! apart)": "reported, listed, passed; or name what says it",
    r"asked": "requested, called, given",
    r"kept": "stored, retained",
    r"whoever|somebody": "name the person or program",
    r"what only": "name the thing",
    r"lies?|lay": "is, is stored",
    r"settle[sd]?": "decide, measure",
    r"lent|lends?": "loaned, borrowed",
    r"heeds?|heeded": "uses, has an effect",
    r"beside": "next to, alongside, compared with",
    r"would else|must else|could else": "otherwise",
    r"in place of": "instead of",
    r"for want of": "because … is missing",
    r"nought|naught": "0, nothing",
    r"hurts?": "slows, distorts",
    r"the very": "the same",
}
WORDS = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): remedy for words, remedy in REMEDIES.items()}
CODE = re.compile(r"^(```|~~~).*?^\1|(`+).+?\2|<[^>]+>|(?<=\])\([^)]*\)", re.DOTALL | re.MULTILINE)
INSERTED = re.compile(r"\{[^{}\n]*\}|\\[a-z]")
"""Matches values in f-strings and escapes, which are not prose."""
TOML = re.compile(r'"{3}.*?"{3}|\'{3}.*?\'{3}|(?P<text>"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*)', re.DOTALL)
"""Matches strings and comments in TOML; multi-line strings are embedded files, not prose."""


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of prose in a file, with their numbers."""
    text = file.read_text()
    readers = {".py": _python, ".toml": _toml}
    return readers.get(file.suffix, _markdown)(text)


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    blanked = CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return enumerate(blanked.splitlines(), 1)


def _python(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments, and strings that contain a space; strings without a space are names."""
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds and " " in token.string:
            text = INSERTED.sub(" ", token.string)
            for index, (_, line) in enumerate(_markdown(text)):
                yield token.start[0] + index, line


def _toml(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments, and strings that contain a space; strings without a space are names."""
    for found in TOML.finditer(source):
        text = found["text"] or ""
        if " " in text:
            yield source.count("\n", 0, found.start()) + 1, CODE.sub(" ", text)


def findings(file: Path) -> list[str]:
    """Return the findings in a file."""
    return [
        f'{file}:{number}: "{found[0]}": better {remedy}'
        for number, line in prose(file)
        for words, remedy in WORDS.items()
        for found in words.finditer(line)
    ]


def main() -> int:
    """Print all findings. Return whether there are any."""
    found = [each for name in sys.argv[1:] for each in findings(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
