"""Find functions whose name is a bare participle (`told`, `kept`): `python setup/names.py FILE…`, for Python, Rust or
C++ files.

The name of a function that acts is a verb (`run_trial`); the name of a function that returns a value is a noun
(`median`). Prints each finding, and exits with 1 if there is any. `STAYS` lists the exceptions: names that are result
columns or words of an interface.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

STAYS = frozenset({"advertised", "lost", "held", "unsupported"})
IRREGULAR = re.compile(
    "begun|bound|broken|brought|built|caught|chosen|come|done|drawn|driven|fed|felt|found|given|gone|got|grown|heard|held|"
    "hidden|hung|kept|known|laid|led|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|spent|spoken|stood|taken|"
    "taught|thought|thrown|told|torn|understood|woken|won|worn|written"
)
NO_PARTICIPLES = frozenset({"seed", "need", "speed", "feed", "embed", "exceed", "proceed", "succeed", "bed", "shed"})
RUST = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|unsafe\s+|async\s+|extern\s+\"C\"\s+)*fn\s+(\w+)")
CPP = re.compile(
    r"^\s*(?!return|throw|else|co_|using|case|delete|new\b)(?:[\w:<>,*&\[\]]+\s+)+[*&]?(\w+)"
    r"\([^;]*(?:\{|\)|,|const)\s*(?:\{.*\})?$"
)


def is_bare_participle(name: str) -> bool:
    """Return whether a name is a single participle."""
    word = name.strip("_")
    if "_" in word or word in STAYS or word in NO_PARTICIPLES:
        return False
    return IRREGULAR.fullmatch(word) is not None or (len(word) > 4 and word.endswith("ed") and word.islower())


def _is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return whether a syntax node defines a function. A pytest fixture does not count, because its name stands for a
    value."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not any("fixture" in ast.unparse(each) for each in node.decorator_list)


def functions(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and the name of each function that a file defines."""
    text = file.read_text()
    if file.suffix == ".py":
        yield from ((each.lineno, each.name) for each in ast.walk(ast.parse(text)) if _is_function(each))
        return
    pattern = RUST if file.suffix == ".rs" else CPP
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.match(line):
            yield number, found[1]


def findings(file: Path) -> list[str]:
    """Return the findings in a file."""
    remedy = "name the function by its action (a verb) or by the value that it returns (a noun)"
    return [f"{file}:{number}: `{name}`: {remedy}" for number, name in functions(file) if is_bare_participle(name)]


def main() -> int:
    """Print all findings. Return whether there are any."""
    found = [each for name in sys.argv[1:] for each in findings(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
