"""Tests for the library version, which is read from package metadata."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from hopmeter.node.base import package_version

ASKED = """
import sys
from hopmeter.node.base import package_version
print(package_version("made-up", "title").__func__(), "importlib.metadata" in sys.modules)
"""


def test_the_version_is_that_of_the_metadata_folder(tmp_path: Path) -> None:
    (tmp_path / "made_up_more-9.9.dist-info").mkdir()
    (tmp_path / "made_up-1.2.3.dist-info").mkdir()
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}){ASKED}"]
    assert subprocess.check_output(command, text=True).split() == ["title", "1.2.3", "False"]


@pytest.mark.parametrize("distribution", ["pyarrow", "scipy", "hopmeter"])
def test_it_is_the_version_that_importlib_finds(distribution: str) -> None:
    assert package_version(distribution).__func__() == metadata.version(distribution)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        package_version("no-such-package").__func__()
