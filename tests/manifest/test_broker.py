"""Tests for the search for a broker's program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hopmeter.manifest.discovery import load
from hopmeter.manifest.tables.broker import find_program

SERVED = """
name = "served"
title = "Served"
summary = "S."
placements = ["process"]
patterns = ["pubsub"]
send = "nonblocking"
max_payload_bytes = 1000

[broker]
title = "a broker"
command = ["{python}", "-c", "pass"]
ready = "port"
"""


def test_a_program_is_found_where_a_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "broker"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("WHERE_IT_IS", str(tmp_path))
    assert find_program("$WHERE_IT_IS/bin/broker") == str(program)


def test_a_broker_may_run_on_the_python_of_the_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    own = '[languages.python]\nwaits = ["block"]\nlibrary = "L"\n'
    (folder / "transport.toml").write_text(f"{SERVED}\n{own}")
    broker = load(folder / "transport.toml").broker
    assert broker is not None
    assert broker.program == sys.executable
    (folder / "transport.toml").write_text(f'{SERVED}\n{own}environment = "own"\n')
    broker = load(folder / "transport.toml").broker
    assert broker is not None
    assert broker.program is None, "its environment has yet to be made"


def test_a_broker_lacks_a_program_that_its_script_needs(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    own = 'needs = ["sh", "no-such-program"]\n[languages.python]\nwaits = ["block"]\nlibrary = "L"\n'
    (folder / "transport.toml").write_text(f"{SERVED}\n{own}")
    broker = load(folder / "transport.toml").broker
    assert broker is not None
    assert broker.missing == "no-such-program, which a broker needs,"


def test_a_program_of_a_variable_that_is_not_set_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHERE_IT_IS", raising=False)
    assert find_program("$WHERE_IT_IS/bin/broker") is None
