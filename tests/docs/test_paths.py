"""Every file that the documentation names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
MADE = ("build/", "results/", "target/", "dist/", "samples/", "logs/", "cpu/", "live/", "site/")
"""Folders that a build or a run creates."""
PATH = re.compile(r"`((?:[a-z_.]+/)+[\w.*-]*\.(?:py|rs|hpp|cpp|toml|md|sh|lock|json|h)|(?:[a-z_.]+/)+)`")
ROOTS = ("", "hopmeter/", "instrument/src/", "instrument/", "cpp/include/", "transports/*/", "transports/ros2/")


def named_paths(document: Path) -> Iterator[str]:
    for path in PATH.findall(document.read_text()):
        if not path.startswith(MADE):
            yield path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_file_that_a_document_names_is_there(document: Path) -> None:
    assert [path for path in named_paths(document) if not any(any(ROOT.glob(root + path)) for root in ROOTS)] == []


def test_the_architecture_names_files() -> None:
    assert len(list(named_paths(ROOT / "ARCHITECTURE.md"))) > 30
