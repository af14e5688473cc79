"""What `hopmeter run` does after measuring: a run that was measured is never lost to what is made of it."""

from __future__ import annotations

import io
from pathlib import Path

import jinja2
import pytest
from rich.console import Console

from hopmeter import report
from hopmeter.cli.parts import measuring
from hopmeter.errors import UsageError


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        (jinja2.UndefinedError("'row' is undefined"), "no report: UndefinedError: 'row' is undefined"),
        (AttributeError("a chart has no mark"), "no report: AttributeError: a chart has no mark"),
        (UsageError("here is no run", "name one"), "no report: here is no run"),
    ],
)
def test_a_report_that_cannot_be_drawn_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, failed: Exception, says: str
) -> None:
    def broken(*_: object) -> Path:
        raise failed

    monkeypatch.setattr(report, "write", broken)
    said = io.StringIO()
    assert measuring._reported(Path("results/made-up"), Console(file=said, width=200)) is None
    assert says in said.getvalue()
    assert "the run is whole; `hopmeter report results/made-up` draws it again" in said.getvalue()
