"""Where a daemon's program is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.manifest.daemon import found


def test_a_program_is_found_where_a_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "daemon"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("WHERE_IT_IS", str(tmp_path))
    assert found("$WHERE_IT_IS/bin/daemon") == str(program)


def test_a_program_of_a_variable_that_is_not_set_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHERE_IT_IS", raising=False)
    assert found("$WHERE_IT_IS/bin/daemon") is None
