"""Run the command `hopmeter` inside the test process, which saves a second of imports per command."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from hopmeter.cli import main


@pytest.fixture
def hopmeter_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command with these arguments in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command replaces `showwarning`

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["hopmeter", *words])
        with pytest.raises(SystemExit) as ended:
            main.run()
        return subprocess.CompletedProcess(words, int(ended.value.code or 0), *capsys.readouterr())

    return call
