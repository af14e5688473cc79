"""Each package has a limited number of modules, and the architecture lists every package."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hopmeter"
MOST = 20
EXEMPT = {"cli": "a file for each command, named like the command"}
"""Packages with more than `MOST` files, each with the reason why the package is still easy to navigate."""
ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if "_data" not in path.parts)


def name(folder: Path) -> str:
    return folder.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("folder", ROOMS, ids=name)
def test_a_package_has_few_files(folder: Path) -> None:
    files = sorted(path.name for path in folder.glob("*.py"))
    assert len(files) <= MOST or name(folder) in EXEMPT


def test_no_exemption_is_left_over() -> None:
    assert [each for each in EXEMPT if len(list((PACKAGE / each).glob("*.py"))) <= MOST] == []


@pytest.mark.parametrize("folder", [each for each in ROOMS if len(each.relative_to(PACKAGE).parts) > 1], ids=name)
def test_the_architecture_lists_each_room(folder: Path) -> None:
    package, *_ = folder.relative_to(PACKAGE).parts
    rows = [
        line for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines() if line.startswith(f"| `{package}/` |")
    ]
    assert f"`{folder.name}`" in "".join(rows)
