"""Which tests may run beside others: all but those that need the machine, or the checkout, to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALONE = {"cli", "doctor", "end_to_end", "failure", "known_truth", "launch", "package", "test_two_machines.py"}
"""Folders, and files of others, that judge times, build in the checkout, or use what a machine has once."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks by folder and file."""
    for item in items:
        if item.path.is_relative_to(HERE) and ALONE.isdisjoint(item.path.relative_to(HERE).parts):
            item.add_marker(pytest.mark.together)
