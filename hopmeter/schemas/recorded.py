"""Reads the facts about schemas that were recorded when codec libraries were built.

hopmeter uses the recorded facts if a schema compiler is not installed.
"""

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
"""The file of a codec library that is written last. A codec library's directory without this file is incomplete."""


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts that a codec library's build recorded. Return an empty dict if the library has not been
    built."""
    try:
        return dict(json.loads((folder / FACTS).read_text()))
    except (OSError, ValueError):
        return {}


def record(file: Path, include: Sequence[Path], imports: Imports) -> dict[str, Any]:
    """Return facts about the files of a schema, which the build of a codec library records."""
    return {
        "file": str(file),
        "include": [str(folder) for folder in include],
        "search": [str(folder) for folder in imports.search],
        "imports": {name: str(path) for name, path in imports.files.items()},
    }


def recorded_imports(file: Path, codec: str, include: Sequence[Path]) -> Imports:
    """Return the files of a schema that were recorded when the schema's codec library was built. Raises UsageError if
    no codec library build has recorded the schema's files."""
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
