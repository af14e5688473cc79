"""Which tests may run beside others: all but those of folders that need the machine, or the checkout, to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALONE = {"build", "cli", "doctor", "end_to_end", "known_truth", "launch", "package"}
"""They judge times, build into the checkout, or look at everything that runs or is open on the machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks by folder."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] not in ALONE:
            item.add_marker(pytest.mark.together)
