"""Ctrl-C in a command that does not measure prints the available results and leaves no partial files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hopmeter.cli import main
from hopmeter.cli.parts.stopping import stopping
from hopmeter.errors import StoppedError
from hopmeter.machine import examination

ENDS_BY_ITSELF = """
import os, pathlib, signal, sys
def put_away(*_):
    pathlib.Path(sys.argv[1]).write_text("whole")
    sys.exit()
signal.signal(signal.SIGTERM, put_away)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.alarm(30)  # where nobody asks it to end
os.kill(os.getppid(), signal.SIGINT)
signal.pause()
"""


WAITS = """
import signal, sys
from hopmeter.system import subprocesses
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands begin with it ignored
try:
    subprocesses.run([sys.executable, "-c", *sys.argv[1:]])
except KeyboardInterrupt:
    sys.exit(130)
"""


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def run_command(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["hopmeter", *words])
    with pytest.raises(SystemExit) as end:
        main.run()
    return end.value.code


def test_what_was_done_is_said() -> None:
    done = 0
    with pytest.raises(StoppedError, match=r"1 of 2 done.*E-STOPPED") as stopped, stopping(lambda: f"{done} of 2 done"):
        done = 1
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130


def test_a_report_that_was_stopped_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("hopmeter.report.write", interrupt)
    assert run_command(monkeypatch, "report", str(tmp_path), "-o", "page.html") == 130
    assert "stopped; page.html and its figures are unchanged" in capsys.readouterr().err


def test_any_other_command_says_at_least_that_it_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("hopmeter.analysis.results.run_results.read", interrupt)
    assert run_command(monkeypatch, "show", str(tmp_path)) == 130
    assert "hopmeter: stopped" in capsys.readouterr().err


def test_loading_is_stopped_in_words_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("hopmeter.cli.parts.application.register_for", interrupt)
    assert run_command(monkeypatch, "doctor") == 130
    assert "hopmeter: stopped" in capsys.readouterr().err


def test_the_doctor_says_what_it_has_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look = examination.examine
    monkeypatch.setattr(examination, "examine", lambda name: look(name) if name == "machine" else interrupt())
    assert run_command(monkeypatch, "doctor") == 130
    assert "not examined: noise, sleep, cost, floors" in capsys.readouterr().err


def test_a_program_that_is_waited_for_ends_by_itself(tmp_path: Path) -> None:
    # A separate Python process, because libraries of other tests block signals.
    waits = [sys.executable, "-c", WAITS, ENDS_BY_ITSELF, str(tmp_path / "file")]
    assert subprocess.run(waits, timeout=60, check=False).returncode == 130
    assert (tmp_path / "file").read_text() == "whole"
