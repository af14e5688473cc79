from __future__ import annotations

import json
import re
from pathlib import Path

import altair as alt
import pytest
import typer
from typer.testing import CliRunner

from hopmeter.analysis.results import groups
from hopmeter.cli.output import plan_table
from hopmeter.cli.report import register
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.model.cell import AXES
from hopmeter.report import write
from hopmeter.report.drawing import charts, svg
from hopmeter.report.words import formatting
from tests.report import fixture

pytestmark = pytest.mark.slow


def command() -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return app


def test_the_file_is_whole_in_itself(report: Path) -> None:
    text = report.read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "url(" not in text.replace("url(#", "")
    assert report.stat().st_size < 1_000_000


def test_words_of_a_figure_keep_their_digits() -> None:
    drawn = '<svg width="4" height="2"><path d="M1.2345,2" aria-label="p50 1.23 ms"/><text x="1">0.048 s</text></svg>'
    figure = charts.Figure("one", "One", "", alt.Chart().mark_point(), "1.25 ms at most")
    page = svg.inline(figure, drawn)
    assert 'd="M1.2,2"' in page
    for kept in ("p50 1.23 ms", "0.048 s", "1.25 ms at most"):
        assert kept in page


def test_every_axis_of_a_scenario_tells_groups_and_planned_cells_apart() -> None:
    assert set(AXES) <= set(groups.CONDITIONS) & set(plan_table.VARIABLE)


def test_what_was_not_measured_stands_with_its_reason(report: Path) -> None:
    text = report.read_text()
    for reason in ("apt-get install libzmq5", "wait block is not offered in python", "node 1 gave no sign for 5 s"):
        assert reason in text


def test_the_command_to_repeat_it_has_the_seed(report: Path) -> None:
    assert "hopmeter run made-up --transport shm,iceoryx2,unix,tcp,zeromq,zenoh --seed 7" in report.read_text()


def test_figures_lie_beside_it_and_stale_ones_are_gone(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report.html.figures"
    folder.mkdir()
    (folder / "group-9-hops.svg").touch()
    (folder / "mine.svg").touch()
    write([run], tmp_path / "report.html")
    names = {path.name for path in folder.iterdir()}
    assert {"group-1-ranking.svg", "group-1-ranking.png", "group-2-hops.png", "mine.svg"} <= names
    assert "group-9-hops.svg" not in names
    assert "var(" not in (folder / "group-1-ranking.svg").read_text()


def test_a_report_that_was_stopped_leaves_the_earlier_one_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fixture.build(tmp_path / "run", fixture.SMALL[:2], trials=3, messages=50)
    page = write([run], tmp_path / "page.html")
    before = {path: path.read_bytes() for path in tmp_path.glob("page.html*/*")} | {page: page.read_bytes()}

    def stops(whole: str, folder: Path, stem: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / f"{stem}.svg").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(svg, "write_files", stops)
    with pytest.raises(KeyboardInterrupt):
        write([run], page)
    assert {path: path.read_bytes() for path in before} == before
    assert {path.name for path in tmp_path.iterdir()} == {"run", "page.html", "page.html.figures"}


def test_a_sweep_gets_a_figure_of_its_own(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "sweep", fixture.SWEEP, trials=3, messages=200)
    text = write([run], tmp_path / "sweep.html").read_text()
    assert 'id="sweep-rate-hz-1"' in text


def test_what_stands_between_backticks_is_code_and_no_markup() -> None:
    assert formatting.code("run `ip <lo>` & look") == "run <code>ip &lt;lo&gt;</code> &amp; look"
    assert formatting.code("one ` alone <b>") == "one ` alone &lt;b&gt;"
    assert formatting.breakable("queue kind=a_b & c") == "queue kind=<wbr>a_<wbr>b &amp; c"


def test_names_of_the_run_cannot_become_markup(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>"
    run = fixture.build(tmp_path / "bad", (fixture.Made(bad), fixture.Made("shm")), trials=3, messages=50, question=bad)
    assert bad not in write([run], tmp_path / "bad.html").read_text()


def test_a_run_without_a_good_cell_still_gets_a_report(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "none", (fixture.Made("shm", failed="no core is ours"),), trials=3)
    assert "no core is ours" in write([run], tmp_path / "none.html").read_text()


def test_several_runs_share_a_report(tmp_path: Path) -> None:
    runs = [fixture.build(tmp_path / name, fixture.SMALL[:2], trials=3, messages=60) for name in ("one", "two")]
    text = write(runs, tmp_path / "both.html").read_text()
    assert "shm (Rust) one" in text
    assert "shm (Rust) two" in text


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda run: (run / "run.json").unlink(), "E-NO-RUN"),
        (lambda run: (run / "run.json").write_text("{"), r"run.json.*E-FILE-DAMAGED"),
        (lambda run: (run / "cells.parquet").write_bytes(b"PAR1 no"), r"cells.parquet.*E-FILE-DAMAGED"),
    ],
)
def test_a_damaged_run_is_named_with_the_remedy(tmp_path: Path, spoil: object, says: str) -> None:
    run = fixture.build(tmp_path / "run", fixture.SMALL[:1], trials=3, messages=30)
    spoil(run)  # type: ignore[operator]
    with pytest.raises(HopmeterError, match=says):
        write([run], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_is_no_run_is_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(command(), ["report", str(tmp_path), "-o", str(tmp_path / "x.html")])
    assert isinstance(result.exception, UsageError)


def test_an_unwritable_place_is_said(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HopmeterError, match="E-WRITE-FAILED"):
        write([run], tmp_path / "file" / "report.html")


def test_the_command_writes_where_it_is_told(run: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        command(), ["report", str(run), "-o", str(tmp_path / "x.html"), "--figures", str(tmp_path / "f")]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "x.html").exists()
    assert list((tmp_path / "f").glob("*.png"))
    assert json.loads((run / "run.json").read_text())["seed"] == 7
