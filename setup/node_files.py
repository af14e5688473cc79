"""Print the files that Python nodes run, possibly on a system Python that is older than hopmeter's own Python.

The files are hopmeter.node, hopmeter.codecs, the adapters, and the modules that they import when they are loaded. `make
lint` checks that these files need no Python newer than `OLDEST` in hopmeter/manifest/interpreter.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
ROOTS = ("hopmeter/node/**/*.py", "hopmeter/codecs/**/*.py", "transports/*/python/*.py")


def node_files() -> set[Path]:
    """Return the files of Python nodes."""
    found: set[Path] = set()
    open_files = [file for pattern in ROOTS for file in TREE.glob(pattern)]
    while open_files:
        file = open_files.pop()
        if file not in found:
            found.add(file)
            open_files += imported_files(file)
    return found


def imported_files(file: Path) -> list[Path]:
    """Return hopmeter's own files that a file imports when it is loaded."""
    return [path for name in _names(ast.parse(file.read_text())) for path in _files(name)]


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the modules that a file imports at the top level, excluding imports for type checkers."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))


def _files(name: str) -> Iterator[Path]:
    """Yield the file of a hopmeter module, and the files of the packages that contain it."""
    parts = name.split(".")
    if parts[0] != "hopmeter":
        return
    for count in range(1, len(parts) + 1):
        path = TREE.joinpath(*parts[:count])
        yield from (each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file())


if __name__ == "__main__":
    print(*sorted(str(file.relative_to(TREE)) for file in node_files()))
