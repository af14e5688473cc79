"""A release publishes exactly the changelog section of its tag."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGELOG = "# Changelog\n\n## [1.2.0]\n\n- New.\n\n## [1.1.0]\n\n- Old.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "setup").mkdir()
    shutil.copy(ROOT / "setup/release-notes.sh", tmp_path / "setup")
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.0"\nrust-version = "1.85"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def notes(tree: Path, tag: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tree / "setup/release-notes.sh", tag], capture_output=True, text=True)


def test_the_section_of_the_version_is_printed(tree: Path) -> None:
    printed = notes(tree, "v1.2.0")
    assert (printed.returncode, printed.stdout.strip()) == (0, "- New.")


def test_a_tag_of_another_version_fails(tree: Path) -> None:
    refused = notes(tree, "v1.1.0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "the tag says 1.1.0, Cargo.toml says 1.2.0\n"


def test_a_version_without_a_section_fails(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n- New.\n")
    refused = notes(tree, "v1.2.0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == 'CHANGELOG.md has no section "## [1.2.0]"\n'
