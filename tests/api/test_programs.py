"""Tests for `import hopmeter` in a program: real runs, their tables, and error codes."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hopmeter
from hopmeter.api import tables
from hopmeter.api.options import option_names
from hopmeter.cli.run import run as run_command
from hopmeter.errors import HopmeterError
from hopmeter.model.columns import CELLS, PROCESSES, TRIALS
from hopmeter.runtime.signals import Alarm
from hopmeter.scenario.model import Scenario
from hopmeter.system import paths
from tests.cells import MEASURED
from tests.coded import lacking, refuses
from tests.comparison.runs import make_run, transport

ROOT = Path(__file__).parents[2]
SHORT: dict[str, Any] = {
    "language": "rust",
    "payload": "timing",
    "cores": "free",
    "rate": [500],
    "messages": 60,
    "warmup": 3,
}
needs_shm = pytest.mark.skipif(paths.node("shm", "rust") is None, reason="shm is not built in rust")
INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
import hopmeter

def interrupt():
    done = Path(".here.partial/trials.jsonl")
    while not (done.exists() and done.read_text().count("\\n") >= 2):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands begin with it ignored
threading.Thread(target=interrupt, daemon=True).start()
try:
    hopmeter.run(transport="shm", language="rust", payload="timing", messages=60, trials=500, out="here")
except KeyboardInterrupt as stopped:
    print(stopped)
    print(hopmeter.open_run(stopped.folder).trials.num_rows)
"""


def run_program(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> hopmeter.Run:
    folder = tmp_path_factory.mktemp("program") / "here"
    return hopmeter.run(transport=["shm"], trials=1, out=folder, **SHORT)


def test_the_package_loads_nothing_and_lists_its_functions(tmp_path: Path) -> None:
    heavy = "{'pyarrow', 'polars', 'pydantic', 'numpy', 'typing', 'typer'} & {*sys.modules}"
    done = run_program(
        tmp_path, f"import sys\nbefore = {heavy}\nimport hopmeter\nprint({heavy} - before, dir(hopmeter))"
    )
    assert done.stdout.startswith("set()"), done.stdout + done.stderr
    assert all(name in done.stdout and getattr(hopmeter, name) for name in hopmeter.HOMES)
    assert set(dir(hopmeter)) == {*hopmeter.HOMES, "__version__"}


def test_a_program_has_the_options_of_the_command() -> None:
    of_the_command = set(inspect.signature(run_command).parameters)
    assert set(option_names()) == of_the_command & set(Scenario.model_fields)
    own = set(inspect.signature(hopmeter.run).parameters) - {"progress", "options"}
    assert own <= of_the_command


@needs_shm
def test_a_run_gives_its_tables(measured: hopmeter.Run) -> None:
    (row,) = measured.cells.to_pylist()
    assert (row["transport"], row["status"] in MEASURED, row["received"]) == ("shm", True, 60)
    assert measured.cells.schema.names == list(CELLS)
    assert set(TRIALS) <= set(measured.trials.schema.names) and measured.trials.num_rows == 1
    assert set(measured.processes.schema.names) == set(PROCESSES) and measured.processes.num_rows == 2
    assert all(isinstance(each, pa.Table) for each in (measured.ranking, measured.pairs))
    samples = measured.samples("c1")
    assert samples.num_rows == measured.samples(row["cell"]).num_rows >= 2 * 60
    assert {"seq", "endpoint", "sent_ns", "arrived_ns"} <= set(samples.schema.names)
    assert measured.messages().num_rows == measured.messages("c1").num_rows == 60
    assert measured.answer


@needs_shm
def test_a_run_prints_nothing_unless_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hopmeter.run(transport="shm", trials=1, out=tmp_path / "silent", **SHORT)
    assert capfd.readouterr() == ("", "")
    hopmeter.run(transport="shm", trials=1, out=tmp_path / "telling", progress=True, **SHORT)
    told = capfd.readouterr()
    assert told.out == "" and "1 trial" in told.err


@needs_shm
def test_a_run_knows_the_command_that_does_the_same(measured: hopmeter.Run, tmp_path: Path) -> None:
    words = measured.about["command"]
    assert words[:5] == ["hopmeter", "run", "quick", "--transport", "shm"]
    again = subprocess.run(
        [sys.executable, "-m", *words, "--dry-run", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert again.stdout.count("planned") == measured.cells.num_rows


@needs_shm
def test_a_run_can_be_opened_reported_compared_and_resumed(measured: hopmeter.Run, tmp_path: Path) -> None:
    opened = hopmeter.open_run(measured.path)
    assert opened.cells.equals(measured.cells)
    assert "shm" in measured.report(tmp_path / "r.html", others=[opened]).read_text()
    drawn = {path.suffix for path in (tmp_path / "r.html.figures").iterdir()}
    (status,) = measured.cells["status"].to_pylist()
    assert drawn == ({".svg", ".png"} if status == "ok" else set())  # a saturated row has no drawing
    assert repr(opened) == f"<hopmeter.Run {str(measured.path)!r}: 1 cell>"
    both = hopmeter.compare(measured, opened)
    assert repr(both) == "<hopmeter.Comparison p50: 1 cell; 0 failures>"
    changes = both.changes
    assert (changes["ratio"].to_pylist(), changes["verdict"].to_pylist()) == ([1.0], ["undecided"])
    assert hopmeter.run(resume=measured.path).cells.num_rows == 1
    assert hopmeter.history(measured.path)["transport"].to_pylist() == ["shm"]


@needs_shm
def test_a_thread_measures_within_a_budget(tmp_path: Path) -> None:
    found: list[hopmeter.Run] = []
    given = {**SHORT, "messages": 20, "require": ["p99 < 1s", "lost = 0"]}
    measure = threading.Thread(
        target=lambda: found.append(hopmeter.run(transport="shm", budget="5s", out=tmp_path / "run", **given))
    )
    measure.start()
    measure.join()
    assert found[0].trials.num_rows >= 3
    assert found[0].about["command"][-4:] == ["--require", "p99 < 1s", "--require", "lost = 0"]


@needs_shm
def test_two_sides_are_compared(tmp_path: Path) -> None:
    both = hopmeter.run(transport="shm", against="set:when_full=drop_oldest", trials=2, out=tmp_path / "run", **SHORT)
    changes = hopmeter.compare(both).changes.to_pylist()
    assert [each["transport"] for each in changes if not each["control"]] == ["shm"]
    assert hopmeter.compare(both, fail_if="undecided").answer


@needs_shm
def test_a_wrong_setting_leaves_nothing(tmp_path: Path) -> None:
    with refuses(HopmeterError, "E-UNKNOWN-SETTING hvm"):
        hopmeter.run(transport="shm", set={"hvm": [1, 2]}, out=tmp_path / "run", **SHORT)
    assert not list(tmp_path.iterdir())


@needs_shm
def test_ctrl_c_stores_the_finished_trials_and_names_the_folder(tmp_path: Path) -> None:
    done = run_program(tmp_path, INTERRUPTED)
    assert done.returncode == 0, done.stderr
    says, trials = done.stdout.splitlines()
    assert lacking(says, "E-STOPPED .here.partial resume=") == []
    assert int(trials) >= 2
    assert done.stderr == ""


def test_signals_are_left_alone_outside_the_main_thread() -> None:
    failed: list[BaseException] = []

    def ring() -> None:
        try:
            with Alarm() as alarm:
                alarm.check()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test fails
            failed.append(error)

    thread = threading.Thread(target=ring)
    thread.start()
    thread.join()
    assert failed == []


def write_damaged(folder: Path) -> Path:
    (folder / "run").mkdir()
    (folder / "run/run.json").write_text("{")
    return folder / "run"


ERRORS: list[tuple[Callable[[Path], object], str]] = [
    (lambda _: hopmeter.run("qiuck"), "E-UNKNOWN-SCENARIO qiuck quick"),
    (lambda _: hopmeter.run(transprot="shm"), "E-UNKNOWN-OPTION transprot transport"),
    (lambda _: hopmeter.run(fail_if="slower:5%"), "E-UNKNOWN-OPTION hopmeter.compare(run,"),
    (lambda _: hopmeter.run(retry="1s"), "E-UNKNOWN-OPTION retry"),
    (lambda _: hopmeter.run(transport=["shn"]), "E-UNKNOWN-TRANSPORT shn shm"),
    (lambda _: hopmeter.run(relays=1.5), "E-OPTION-VALUE --relays 1.5"),
    (lambda _: hopmeter.run(rate="fast"), "E-OPTION-VALUE --rate fast"),
    (lambda _: hopmeter.run(rate=[]), "E-OPTION-EMPTY --rate"),
    (lambda _: hopmeter.run(trials=3, budget="9s"), "E-OPTION-CONFLICT --trials --budget"),
    (lambda _: hopmeter.run(trials=3, until="best"), "E-OPTION-CONFLICT --trials --until"),
    (lambda _: hopmeter.run(resume="here", rate=3), "E-OPTION-CONFLICT --resume"),
    (lambda _: hopmeter.open_run("nothing"), "E-NO-RUN nothing"),
    (lambda folder: hopmeter.open_run(write_damaged(folder)), "E-FILE-DAMAGED run.json"),
    (lambda folder: hopmeter.compare(write_damaged(folder), "other"), "E-FILE-DAMAGED run.json"),
    (lambda _: hopmeter.compare("nothing"), "E-NO-RUN nothing"),
    (lambda _: hopmeter.compare("nothing", "other", metric="p51"), "E-OPTION-VALUE p51"),
    (lambda _: hopmeter.compare("nothing", "other"), "E-NO-BASELINE nothing"),
    (lambda _: hopmeter.baseline("main"), "E-BASELINE-RUNS main"),
    (lambda folder: hopmeter.history(folder), "E-NO-RUN"),
]


@pytest.mark.parametrize(("use", "expected"), ERRORS, ids=[expected for _, expected in ERRORS])
def test_errors_are_those_of_the_command_line(
    use: Callable[[Path], object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refuses(HopmeterError, expected):
        use(tmp_path)
    assert not (tmp_path / "results").exists()


def test_a_baseline_a_gate_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def store(name: str, level: float, hour: int) -> Path:
        values = [float(each) for each in level * np.exp(0.01 * np.random.default_rng(hour).normal(size=12))]
        started = f"2026-11-21T{hour:02}:00:00+00:00"
        return make_run(tmp_path / name, [(transport("shm"), values)], started=started)

    runs = [store(f"run{hour}", 10 + hour / 100, hour) for hour in (1, 2, 3, 4)]
    assert [run.name for run in hopmeter.baseline("main", *runs).runs] == [f"{at}-run{at + 1}" for at in range(4)]
    assert [each.name for each in hopmeter.baselines()] == ["main"]
    found = hopmeter.compare("main", store("slow", 20, 6), fail_if="slower:5%", summary="s.md", junit="j.xml")
    assert found.changes.schema.names == [*found.all_changes[0].as_json()], "a key without a column"
    assert found.changes["verdict"].to_pylist() == ["much_slower"] and len(found.failures) == 1
    assert "shm" in (tmp_path / "s.md").read_text() and "failure" in (tmp_path / "j.xml").read_text()
    assert hopmeter.compare("main", runs[0], fail_if=["slower:5%"]).failures == []
    with pytest.raises(HopmeterError, match="E-GATE"):
        hopmeter.compare(runs[0], runs[1], fail_if="slower:5%")


def test_ranks_are_sorted_and_tables_without_rows_have_their_columns() -> None:
    rows = [
        {"group": "b", "cell": name, "rank_low": low, "rank_high": low and 3, "median_us": us, "rounds": 8}
        for name, low, us in (("unix", None, 2.0), ("shm", None, 1.0), ("slow", 3, 9.0), ("fast", 1, 3.0))
    ]
    found = tables.ranking_table([*rows, {"group": "b", "cell": "failed", "status": "failed"}])
    assert found["cell"].to_pylist() == ["fast", "slow", "shm", "unix"]
    assert tables.ranking_table([]).schema == found.schema
