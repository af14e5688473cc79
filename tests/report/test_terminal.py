"""The table in the terminal: what is only told there."""

from __future__ import annotations

from report_rows import cell, run_of
from rich.console import Console

from hopmeter.cli.parts import table


def test_a_failed_row_says_what_failed_and_leaves_the_traceback_to_the_log() -> None:
    why = 'the client raised RuntimeError: no reply: Traceback (most recent call last):\n  File "adapter.py", line 1'
    failed = cell("zenoh", 1.0, status="failed", reason=why, trials=5, trials_good=0)
    console = Console(width=200)
    with console.capture() as said:
        table.print_run(console, run_of(cell("tcp", 1.0), failed))
    assert "failed: the client raised RuntimeError: no reply" in said.get()
    assert "adapter.py" not in said.get()


def test_what_hurts_on_the_machine_is_told_with_the_remedy() -> None:
    findings = [
        {"subject": "idle states", "level": "hurts", "remedy": "stay awake"},
        {"subject": "SMT", "level": "note"},
    ]
    console = Console(width=200)
    with console.capture() as said:
        table.print_run(console, run_of(cell("tcp", 1.0), doctor=findings))
    assert "What hurts on this machine, and what to do:\n  idle states: stay awake\n" in said.get()
    assert "SMT" not in said.get()
