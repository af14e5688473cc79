"""Run one real Python node with an adapter that is written for the test."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node.driver import QUEUES, Measure, Node, Outcome, Start, chain


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a node with the given adapter source, or by default the queue adapter with `changes` appended."""
    nodes: list[Node] = []

    def start_node(
        changes: str = "", adapter: str = QUEUES, relays: int = 0, work: dict[str, Any] | None = None, **spec: Any
    ) -> Node:
        folder = tmp_path / "example" / "python"
        folder.mkdir(parents=True)
        (folder / "adapter.py").write_text(adapter + textwrap.dedent(changes))
        nodes.append(Node(tmp_path, chain(tmp_path, folder, relays, work or {"kind": "none"}, **spec)))
        return nodes[-1]

    yield start_node
    for node in nodes:
        node.kill()


@pytest.fixture
def measure(start: Start) -> Measure:
    """Start a node, measure with it, and stop it."""

    def measure_node(changes: str = "", **spec: Any) -> Outcome:
        node = start(changes, **spec)
        node.measure()
        return node.end()

    return measure_node
