"""Each warning code has one wording, and adapters use the same sentence in every language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path

import pytest

from hopmeter import manifest
from hopmeter.messages import table

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py": "python", ".rs": "rust", ".hpp": "c++", ".cpp": "c++"}
INSTRUMENT = ("hopmeter/node", "cpp/include", "instrument/src")
"""The code that the adapters of each language share."""
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
DOCSTRING, COMMENT = re.compile(r'"""(?:.|\n)*?"""'), re.compile(r"^\s*(?://|#(?!include)).*$", re.MULTILINE)
INSERTED = re.compile(r'"\s*\+\s*[^"\n;]{1,80}?\s*\+\s*"|"\s*\+\s*[^"\n;]{1,80}?\s*\+\s*\n\s*"')
NAMES = re.compile(r"(?:\w*[A-Z]\w*\s?)+")
LEAST_WORDS, MOST_ALIKE = 5, 0.85
WORDED = ("tag", "Caution", "RowRule")


def worded_codes(path: Path) -> Iterator[tuple[str, str, str]]:
    """Return the warnings in a file: each one's code, its call, and the enclosing function or `module`."""
    tree = ast.parse(path.read_text())
    scopes = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)):
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Constant) and str(first.value).startswith("W-") and call.func.id in WORDED:  # type: ignore[attr-defined]
            inside = [each.name for each in scopes if each.lineno <= call.lineno <= (each.end_lineno or 0)]
            kind = "tag" if call.func.id == "tag" else "report"  # type: ignore[attr-defined]
            yield str(first.value), kind, f"{path.relative_to(ROOT)}::{inside[-1] if inside else 'module'}"


def test_each_warning_is_worded_in_one_place() -> None:
    places: dict[tuple[str, str], list[str]] = {}
    for path in (ROOT / "hopmeter").rglob("*.py"):
        for code, kind, place in worded_codes(path):
            places.setdefault((code, kind), []).append(place)
    several = {key: found for key, found in places.items() if len(set(found)) > 1}
    assert not several, "word each warning in one function and call it"
    assert len({code for code, _ in places}) > 40


def texts_of(folders: Iterable[Path]) -> dict[str, set[str]]:
    """Return the message sentences by language; `{}` stands for each inserted value."""
    found: dict[str, set[str]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in SUFFIXES and "test" not in path.name:
                found.setdefault(SUFFIXES[path.suffix], set()).update(sentences(path.read_text(errors="replace")))
    return found


def sentences(source: str) -> Iterator[str]:
    source = COMMENT.sub("", DOCSTRING.sub("", source))
    source = re.sub(r'"\s*\n?\s*f?"', "", INSERTED.sub("{}", source))
    for text in LITERAL.findall(source):
        plain = re.sub(r"\{[^}]*\}", "{}", text).strip(" :{}")
        if len(plain.split()) >= LEAST_WORDS:
            yield plain


def nearly_alike(one: set[str], other: set[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of sentences that say the same thing in different words; library names may differ."""
    for first, second in product(one - other, other - one):
        if is_nearly(first, second) and NAMES.sub("X", first) != NAMES.sub("X", second):
            yield first, second


def is_nearly(first: str, second: str) -> bool:
    matcher = SequenceMatcher(None, first, second)
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # the quick ratios are upper bounds
    return all(ratio() > MOST_ALIKE for ratio in bounds)


@pytest.mark.parametrize("name", [*sorted(manifest.every()), "_template"])
def test_an_adapter_says_the_same_in_every_language(name: str) -> None:
    parts = [path for path in (ROOT / "transports").glob("_*") if path.name != "_template"]
    own = texts_of([ROOT / "transports" / name])
    others = texts_of([ROOT / "transports" / name, *parts, *(ROOT / part for part in INSTRUMENT)])
    pairs = ((own[one], others[other]) for one, other in product(own, others) if one != other)
    alike = [pair for both in pairs for pair in nearly_alike(*both)]
    assert not alike, "give both the same words"


def test_two_wordings_of_one_message_are_found() -> None:
    one = set(sentences('throw Error("no route", "run `ip link set lo multicast on`, or see `hopmeter doctor`");'))
    other = set(sentences('REMEDY = "run `ip link set lo multicast on`, or look at `hopmeter doctor`"'))
    assert len([*nearly_alike(one, other)]) == 1
    same = set(sentences('Error("the kernel grants " + std::to_string(some) + " of " + all + " bytes of it")'))
    assert same == set(sentences('f"the kernel grants {some} of {all} bytes of it"'))


def test_every_warning_of_the_table_is_worded_somewhere() -> None:
    source = "".join(path.read_text() for path in (ROOT / "hopmeter").rglob("*.py"))
    unused = [
        code for codes in table().values() for code in codes if code.startswith("W-") and f'"{code}"' not in source
    ]
    assert not unused
