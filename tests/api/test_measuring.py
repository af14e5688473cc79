"""A failed analysis never loses a measured run, and `--resume` leaves a run that cannot continue unchanged."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import jinja2
import pytest

from hopmeter import report
from hopmeter.analysis.results.run_results import read
from hopmeter.api import measuring, planning
from hopmeter.api.measuring import Consoles, StoppedRunError
from hopmeter.api.planning import Prepared
from hopmeter.cli.output import run_display
from hopmeter.cli.output.run_display import Display, show_run
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.model.trial import TrialResult
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.runtime.failures import InterruptedRunError
from hopmeter.store.disk import StoreError
from hopmeter.store.run_folder import RunFolder
from hopmeter.system.terminal import Console
from tests.cells import cell
from tests.coded import lacking
from tests.images.made import image, pixels
from tests.plan.capabilities import capabilities, make_plan, transport


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        (jinja2.UndefinedError("'row' is undefined"), "the report was not written: UndefinedError: 'row' is undefined"),
        (AttributeError("a chart has no mark"), "the report was not written: AttributeError: a chart has no mark"),
        (
            UsageError("E-NO-RUN", "here is no run", "name one"),
            "the report was not written: here is no run (name one) [E-NO-RUN]",
        ),
    ],
)
def test_a_report_that_cannot_be_drawn_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, failed: Exception, says: str
) -> None:
    def fail(*_: object) -> Path:
        raise failed

    monkeypatch.setattr(report, "write", fail)
    said = io.StringIO()
    assert run_display._write_report(Path("results/made-up"), Console(file=said, width=200)) is None
    assert says in said.getvalue()
    assert "`hopmeter report results/made-up`" in said.getvalue()


def finished_run(tmp_path: Path, made: Plan, **changed: Any) -> Path:
    about = {
        "scenario_name": made.name,
        "seed": made.seed,
        "scenario": made.scenario.model_dump(exclude_none=True),
        "cells": [cell.as_json() for cell in made.cells],
    }
    folder = RunFolder.create(tmp_path, "run", about | changed)
    folder.add_trial(TrialResult(made.cells[0].id, 0, good=False, reason="it hung"), [])
    return folder.finish([])


def with_capabilities(monkeypatch: pytest.MonkeyPatch, where: Capabilities) -> None:
    monkeypatch.setattr(measuring, "local_capabilities", lambda *_: where)


@pytest.mark.parametrize(
    ("stopped", "says"),
    [
        ("hopmeter.runtime.executor.Executor.run", "continue with: hopmeter run --resume {0}/.run.partial"),
        ("hopmeter.analysis.cells.whole_run.analyse_run", "continue with: hopmeter run --resume {0}/.run.partial"),
        ("hopmeter.report.write", "continue with: hopmeter report {0}/run"),
    ],
)
def test_whoever_stops_it_at_whatever_moment_is_told_where_the_run_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stopped: str, says: str
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    made, said = make_plan(capabilities(transport("bus"))), io.StringIO()
    folder = RunFolder.create(tmp_path, "run", {"cells": [cell.as_json() for cell in made.cells]})
    monkeypatch.setattr("hopmeter.runtime.executor.Executor.run", lambda *_: True)
    monkeypatch.setattr(stopped, stop)
    display = Display(Console(file=said, width=200))
    prepared = Prepared(made, capabilities())
    assert show_run(lambda: measuring._run_trials(prepared, lambda *_: folder, Consoles.silent()), display) == 130
    assert says.format(tmp_path) in said.getvalue()
    assert folder.path.is_dir()


@pytest.mark.parametrize("with_report", [True, False])
def test_a_run_writes_its_report_unless_told_not_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, with_report: bool
) -> None:
    made = make_plan(capabilities(transport("bus")))
    path = finished_run(tmp_path, made)
    folder = RunFolder.open(path)
    display = Display(Console(file=io.StringIO(), width=200), as_json=True, with_report=with_report)
    assert show_run(lambda: measuring.Outcome(folder, [], complete=True), display) == 0
    assert (path / "report.html").exists() == with_report


def test_whoever_stops_it_while_files_are_decoded_leaves_no_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("hopmeter.runtime.inputs.frames.decode", Mock(side_effect=InterruptedRunError))
    monkeypatch.setattr("hopmeter.runtime.run_metadata.about", Mock(side_effect=AssertionError("nothing may begin")))
    made = make_plan(capabilities(transport("bus")), payload=f"image:{image(tmp_path / 'one.png', pixels()[0])}")
    with pytest.raises(KeyboardInterrupt) as stopped:
        measuring.measure(Prepared(made, capabilities()), tmp_path / "run", [], Consoles.silent())
    assert not isinstance(stopped.value, StoppedRunError)
    assert [path.name for path in tmp_path.iterdir()] == ["one.png"]


def resume_error(run: Path) -> HopmeterError:
    before = {path: path.read_bytes() for path in run.parent.rglob("*") if path.is_file()}
    with pytest.raises(HopmeterError) as refusal:
        measuring.resume(run, Consoles.silent())
    assert {path: path.read_bytes() for path in run.parent.rglob("*") if path.is_file()} == before
    return refusal.value


def test_a_finished_run_that_cannot_go_on_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bus = transport("bus")
    run = finished_run(tmp_path, make_plan(capabilities(bus)))
    with_capabilities(monkeypatch, capabilities(bus, unready=(("bus", "rust"),)))
    assert lacking(str(resume_error(run)), "E-NO-LONGER-READY bus (rust)") == []


@pytest.mark.parametrize(
    "odd",
    [
        {"scenario": {"title": "t", "question": "q?", "wiat": "block"}},
        {"cells": [{"id": "c1"}]},
        {"cells": [{"core_list": [], "colour": "red"}]},
    ],
)
def test_a_run_of_another_hopmeter_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, odd: dict[str, Any]
) -> None:
    with_capabilities(monkeypatch, capabilities())
    run = finished_run(tmp_path, make_plan(capabilities(transport("bus"))), **odd)
    assert lacking(str(resume_error(run)), "E-RUN-DAMAGED run.json") == []
    if "cells" in odd:
        with pytest.raises(StoreError, match="E-RUN-DAMAGED"):
            read(run)


def test_a_run_that_says_nothing_of_itself_is_told_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_capabilities(monkeypatch, capabilities())
    run = finished_run(tmp_path, make_plan(capabilities(transport("bus"))))
    (run / "run.json").write_text("{}")
    assert lacking(str(resume_error(run)), "E-RUN-DAMAGED 'scenario'") == []


@pytest.mark.parametrize(
    ("reasons", "remedy"),
    [
        (["a is not built; run `hopmeter build a`", "b is not built; run `hopmeter build b`"], "hopmeter build a b"),
        (["no torch; run `hopmeter build --framework torch`"], "hopmeter build --framework torch"),
        (
            ["a is not built; run `hopmeter build a`", "no torch; run `hopmeter build --framework torch`"],
            "hopmeter build a && hopmeter build --framework torch",
        ),
        (
            ["a is not built; run `hopmeter build a`", "b is no good"],
            "for example: a is not built; run `hopmeter build a`",
        ),
    ],
)
def test_where_nothing_can_be_measured_the_remedy_is_what_builds_it(reasons: list[str], remedy: str) -> None:
    plan = SimpleNamespace(cells=[cell(dropped=reason) for reason in reasons])
    assert planning._remedy(cast("Plan", plan), ()) == remedy
