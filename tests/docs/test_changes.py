"""Check the table of files to change in ARCHITECTURE.md.

A test change to a copy of the package, or a past commit, checks each row of the table. The change may touch only the
files that the row names, and must have the row's effect.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.docs.scratch_changes import CHANGES, Change

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([^|]+) \| (.+) \|$", re.MULTILINE)
COMMITS = {"transport": "b48839da", "pace": "aeaec16f"}
"""Past commits that made the change of a row."""
NOT_SHOWN = {"codec of schemas": "the last one came together with the files that the row names"}
UNLISTED = ("ARCHITECTURE.md", "CHANGELOG.md", "tests/", "conformance/")


def rows() -> dict[str, str]:
    """Return the entries of the table by the first cell of their row."""
    _, _, table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Files to change")
    return {name: files for name, files in ROW.findall(table) if set(name) != {"-"} and name != "a new …"}


def names(row: str, path: str) -> bool:
    """Return whether a row names a file: by its path, the end of its path, or a folder."""
    for each in re.findall(r"`([\w./-]+)`", row):
        pattern = re.escape(each).replace("NAME", "[^/]+") + (".*" if each.endswith("/") else "")
        if re.fullmatch(rf"(?:.*/)?{pattern}", path):
            return True
    return False


def other_files(row: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not path.startswith(UNLISTED) and not names(row, path)]


def test_every_row_is_shown_by_a_change() -> None:
    assert {*CHANGES, *COMMITS, *NOT_SHOWN} == set(rows())


@pytest.mark.parametrize("name", COMMITS)
def test_a_commit_touched_only_files_that_its_row_names(name: str) -> None:
    command = ["git", "-C", ROOT, "show", "--format=", "--name-only", COMMITS[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and not has_history():
        return  # the history is missing in a copy of the checkout
    assert done.returncode == 0, done.stderr
    assert other_files(rows()[name], done.stdout.split()) == []


def has_history() -> bool:
    command = ["git", "-C", ROOT, "rev-parse", "--is-shallow-repository"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "false"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copy the files that the changes touch."""
    for part in ("hopmeter", "scenarios", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("_data"))
    shutil.copytree(ROOT / "transports/queue", tmp_path / "transports/queue")
    for part in ("pyproject.toml", "Cargo.toml"):  # Cargo.toml marks the copy as a checkout
        shutil.copy(ROOT / part, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_to_the_files_of_its_row_has_its_effect(name: str, tree: Path) -> None:
    change = CHANGES[name]
    change.apply(tree)
    row = rows()[name]
    assert [path for path in other_files(row, change.paths) if change.elsewhere.get(path, "?") not in row] == []
    assert_effect(change, tree)


def assert_effect(change: Change, tree: Path) -> None:
    environment = {"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin", "HOME": str(tree), "COLUMNS": "200"}
    for program in change.programs:
        done = subprocess.run(
            [sys.executable, *program], cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert change.shows in done.stdout
