"""What builds of codec libraries have recorded about schemas, which hopmeter uses if a schema compiler is not
installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.schemas.compilers import COMPILERS
from hopmeter.schemas.imports import Imports
from hopmeter.system import paths

FACTS = "codec.json"
"""The file of a library that is written last; a folder without it is incomplete."""


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts that a library's build recorded; empty if the library is not built."""
    try:
        return dict(json.loads((folder / FACTS).read_text()))
    except (OSError, ValueError):
        return {}


def record(file: Path, include: Sequence[Path], imports: Imports) -> dict[str, Any]:
    """Return what a build records about the files of a schema."""
    return {
        "file": str(file),
        "include": [str(folder) for folder in include],
        "search": [str(folder) for folder in imports.search],
        "imports": {name: str(path) for name, path in imports.files.items()},
    }


def recorded_imports(file: Path, codec: str, include: Sequence[Path]) -> Imports:
    """Return the files of a schema as recorded by a build. Raises UsageError if no build has recorded them."""
    for each in _records(codec):
        if each["file"] == str(file) and each["include"] == [str(folder) for folder in include]:
            files = {name: Path(path) for name, path in each["imports"].items()}
            return Imports(tuple(map(Path, each["search"])), files)
    program = COMPILERS[codec]
    raise UsageError("E-NO-TOOL", f"{program} is not installed, which reads {file.name}", f"install {program}")


def _records(codec: str) -> Iterator[dict[str, Any]]:
    for path in sorted(paths.codec_folder().glob(f"[!.]*/{FACTS}")):
        facts = read_facts(path.parent)
        if facts.get("codec") == codec and "imports" in facts.get("record", ()):
            yield facts["record"]
