"""Guesses the root directory of a Protocol Buffers schema, which is the directory that the schema's imports start from.

All files in the schema's directory must have one root, because a program must not contain a file under two names.
To test a root, hopmeter therefore runs protoc on all files in the schema's directory, even on files without imports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hopmeter.schemas.compilers import run_words
from hopmeter.schemas.descriptors import PROTOC, compile_set, describe, search_words

NOT_FOUND = re.compile(r"^(.+): File not found\.$", re.MULTILINE)
"""Matches protoc's error for a file that is in none of protoc's import directories."""
MOST_SIBLINGS = 500
PROBE = "hopmeter_siblings.proto"


def rank_roots(file: Path, include: Sequence[Path]) -> list[Path]:
    """Return the directories above a schema, the likeliest root first.

    Directories with fewer missing imports come first. If several directories have equally many missing imports, a
    directory that matches the package name comes first, then the nearest directory.
    """
    siblings = sorted(file.parent.glob("*.proto"))[:MOST_SIBLINGS]
    missing = {root: _count_missing(root, include, siblings) for root in file.parents}
    nearest = sorted(file.parents, key=missing.__getitem__)
    package = _package_root(file, (nearest[0], *include))
    return sorted(nearest, key=lambda root: (missing[root], root != package))


def _count_missing(root: Path, include: Sequence[Path], files: Sequence[Path]) -> int:
    """Return how many direct and indirect imports of `files` are missing if `root` is the import directory."""
    with TemporaryDirectory() as folder:
        probe = Path(folder) / PROBE
        probe.write_text(
            "".join(['syntax = "proto3";\n', *(f'import "{each.relative_to(root)}";\n' for each in files)])
        )
        search = search_words([root, *include, probe.parent])
        done = run_words([PROTOC, *search, f"--descriptor_set_out={folder}/set", probe], root)
        return len(set(NOT_FOUND.findall(done.stderr.decode(errors="replace"))))


def _package_root(file: Path, search: Sequence[Path]) -> Path | None:
    """Return the directory from which the path of `file` matches the file's package name, or None."""
    described = describe(compile_set(file, search)[0])
    package = described[-1].get("package", [""])[0] if described else ""
    steps = package.split(".") if package else []
    is_same = bool(steps) and file.parent.parts[-len(steps) :] == tuple(steps)
    return file.parents[len(steps)] if is_same else None
