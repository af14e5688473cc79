"""Every message has a code, every code is in the table, and docs/messages.md is generated from the table."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from hopmeter import messages
from hopmeter.system import paths

ERRORS = {"HopmeterError", "RefusedValueError", "TrialFailedError", "MissingError", "GoneError"}
ROOTS = ERRORS | {"Caution", "finding", "tag"}
"""Classes and functions whose first argument is a message code; subclasses count too."""
CODE = re.compile(r"[DEFW]-[A-Z0-9]+(-[A-Z0-9]+)*")


@cache
def sources() -> dict[str, ast.Module]:
    files = [path for path in paths.PACKAGE.rglob("*.py") if "_data" not in path.parts]
    return {str(path.relative_to(paths.PACKAGE)): ast.parse(path.read_text()) for path in files}


def known_codes() -> list[str]:
    return [code for codes in messages.table().values() for code in codes]


@cache
def callable_names() -> set[str]:
    classes = [node for tree in sources().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found = ROOTS.copy()
    while more := {node.name for node in classes if any(ast.unparse(base) in found for base in node.bases)} - found:
        found |= more
    return found


def function_name(node: ast.Call) -> str:
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def calls_without_code() -> Iterator[str]:
    for name, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and function_name(node) in callable_names():
                first = ast.unparse(node.args[0]) if node.args else ""
                if not CODE.fullmatch(first.strip("'")) and "code" not in first:
                    yield f"{name}:{node.lineno} {function_name(node)}({first}"


def test_whatever_is_raised_or_reported_has_a_code() -> None:
    assert list(calls_without_code()) == []


def test_the_table_has_the_codes_that_the_code_uses_and_no_others() -> None:
    strings = (node for tree in sources().values() for node in ast.walk(tree) if isinstance(node, ast.Constant))
    used = {node.value for node in strings if isinstance(node.value, str) and CODE.fullmatch(node.value)}
    assert used == set(known_codes())
    assert len(known_codes()) == len(set(known_codes()))


def test_the_document_is_made_from_the_table() -> None:
    tree = paths.checkout()
    assert tree is not None
    command = [sys.executable, "-m", "hopmeter.messages"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    remedy = "run `python -m hopmeter.messages > docs/messages.md`"
    assert made == (tree / "docs/messages.md").read_text(), remedy


def test_a_code_stands_at_the_end_and_comes_off_again() -> None:
    assert messages.tag("E-BUSY", "it is busy") == "it is busy [E-BUSY]"
    assert messages.split_code("it is busy [E-BUSY]") == ("it is busy", "E-BUSY")
    assert messages.split_code("a list [1, 2]") == ("a list [1, 2]", None)
    assert messages.with_remedy("it is busy [E-BUSY]", "wait") == "it is busy (wait) [E-BUSY]"
    assert messages.with_remedy("of an earlier version", "wait") == "of an earlier version (wait)"
    assert messages.join_messages(["one [E-BUSY]", "two [E-CLOSED]"]) == "one; two [E-BUSY]"
    assert messages.join_messages([]) == ""


@pytest.mark.parametrize("text", ["", "no code", "[E-BUSY]", "a [e-busy]", "a [E-BUSY] b"])
def test_what_has_no_code_at_its_end_is_left_as_it_is(text: str) -> None:
    assert messages.split_code(text) == (text, None)
