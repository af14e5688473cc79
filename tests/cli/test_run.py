"""Tests for `hopmeter run` as a separate process with real nodes and exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopmeter import manifest
from hopmeter.scenario import files
from hopmeter.system import paths
from tests import command
from tests.cells import MEASURED
from tests.coded import lacking
from tests.command import Ran
from tests.waiting import wait_for_trial

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
Hopmeter = Callable[..., Ran]

needs_nodes = pytest.mark.skipif(
    paths.node("unix", "rust") is None or paths.node("shm", "rust") is None,
    reason="unix and shm are not built in rust",
)
SHORT = ("--rate=100", "--messages=30", "--warmup=3", "--trials=1", "--payload=timing", "--cores=free", "--no-report")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Share one cache between the tests; otherwise every command would query every node again."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), "COLUMNS": "200"}


@pytest.fixture
def hopmeter(tmp_path: Path, environment: dict[str, str]) -> Hopmeter:
    def run(*words: str) -> Ran:
        return command.hopmeter(*words, cwd=tmp_path, env=environment)

    return run


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


@needs_nodes
def test_a_run_measures_and_leaves_its_folder(hopmeter: Hopmeter, tmp_path: Path, cache: Path) -> None:
    ran = hopmeter("run", "--transport", "unix", "--language", "rust", *SHORT, "--json", "--out", "here")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^2 trials, about \d+ s$", ran.stderr, re.MULTILINE), ran.stderr
    unix, floor = lines(ran)
    assert (unix["transport"], unix["received"], unix["lost"]) == ("unix", 30, 0)
    assert unix["status"] in MEASURED
    assert (floor["transport"], floor["ranked"]) == ("shm", False)
    assert unix["response_p50_us"] > 0
    if unix["status"] == floor["status"] == "ok":
        assert unix["times_floor"] == pytest.approx(unix["response_p50_us"] / floor["response_p50_us"], rel=0.01)
    kept = json.loads((tmp_path / "here/run.json").read_text())
    assert kept["seed"] >= 0
    assert kept["command"][:2] == ["hopmeter", "run"]
    assert {"machine", "noise", "versions", "cells", "scenario"} <= kept.keys()
    assert {"cells.parquet", "trials.parquet", "samples"} <= {path.name for path in (tmp_path / "here").iterdir()}
    assert not list(cache.rglob("live/*"))
    shown = hopmeter("show", "here")
    assert shown.returncode == 0
    assert "unix" in shown.stdout


@needs_nodes
def test_the_heading_is_the_question_that_was_asked_or_the_title_of_ones_own(
    hopmeter: Hopmeter, tmp_path: Path
) -> None:
    axes = ("--transport=memory", "--placement=thread", "--payload=bytes:100")
    short = ("run", *axes, "--messages=100", "--trials=1")
    for title, said in ((), "How fast is memory for a message of 100 bytes"), (("--title", "Mine"), "Mine"):
        ended = hopmeter(*short, *title, "--out", str(tmp_path / said.split()[0]))
        assert said in ended.stdout and "Which transports are fast" not in ended.stdout
        report = (tmp_path / said.split()[0] / "report.html").read_text()
        assert f"<h1>{said}" in report and f"<title>hopmeter: {said}" in report


def test_a_requirement_is_judged_and_a_wrong_one_refused_before_anything_is_measured(
    hopmeter: Hopmeter, tmp_path: Path
) -> None:
    axes = ("--transport", "memory", "--placement", "thread", "--payload", "bytes:99", "--rate", "1000")
    short = ("run", *axes, "--trials", "3", "--messages", "200", "--no-report")
    ended = hopmeter(*short, "--require", "p50 < 10s", "--require", "lost = 0", "--out", str(tmp_path / "r"), "--json")
    (row,) = lines(ended)
    assert row["require_each"][1] == "lost = 0: meets" and row["require"] in ("meets", "undecided")
    wrong = hopmeter(*short, "--require", "p99 < 1", "--out", str(tmp_path / "w"))
    assert wrong.returncode == 2 and lacking(wrong.stderr, "E-VALUE-FORM require") == []
    assert not (tmp_path / "w").exists()


@pytest.mark.skipif(paths.node("synthetic", "rust") is None, reason="synthetic is not built in rust")
def test_the_gate_of_a_resumed_run_exits_with_3(
    hopmeter: Hopmeter, tmp_path: Path, environment: dict[str, str]
) -> None:
    words = ["run", "--transport=synthetic", "--placement=thread", *SHORT, "--trials=4", "--set=lose_every=5"]
    words += ["--against=set:lose_every=0", "--fail-if=slower:5%", "--out=here"]
    with (
        (tmp_path / "said").open("w+") as said,
        command.running(*words, stdout=said, stderr=None, cwd=tmp_path, env=environment) as process,
    ):
        wait_for_trial(tmp_path / ".here.partial")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(20) == 130
    assert "here.partial --fail-if slower:5%" in (tmp_path / "said").read_text()
    ran = hopmeter("run", "--resume", "here", "--no-report", "--fail-if", "slower:5%", "--junit", "tests.xml")
    assert ran.returncode == 3, ran.stderr
    assert "gate failed: synthetic (rust) lose_every=5" in ran.stdout
    assert 'failures="1"' in (tmp_path / "tests.xml").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "quik"], 'E-UNKNOWN-SCENARIO "quick"'),
        (["run", "--wait", "bock"], 'E-VALUE-CHOICE "block"'),
        (["run", "--rate", "fast"], 'E-OPTION-VALUE --rate: "fast"'),
        (["run", "--transport", "zenho"], 'E-UNKNOWN-TRANSPORT "zenoh"'),
        (["run", "--set", "hwmm=1"], 'E-UNKNOWN-SETTING "hwm"'),
        (["run", "--messages", "5", "--duration", "1s"], "E-OPTION-CONFLICT --messages --duration"),
        (["run", "--rate", "inf"], "E-VALUE-RANGE rate inf"),
        (["run", "--seed", "-1"], "E-VALUE-RANGE seed -1 0"),
        (["run", "--resume", "nowhere"], "E-NO-RUN nowhere"),
        (["run", "--resume", "nowhere", "--wait", "spin"], "E-OPTION-CONFLICT --resume"),
        (["run", "--resume", "nowhere", "--dry-run"], "E-OPTION-CONFLICT --resume"),
        (["run", "--resume", "nowhere", "--seed", "1"], "E-OPTION-CONFLICT --resume"),
        (["run", "--resume", "nowhere", "--fail-if", "slower:5%"], "E-NO-RUN nowhere"),
        (["run", "quick", "--resume", "nowhere"], "E-OPTION-CONFLICT --resume"),
        (["run", "--transport", "unix", "--out", "."], "E-NAME --out ."),
        (["new", "transport", "all"], "E-NAME `all`"),
        (["new", "transport", "my-bus", "--language", ""], "E-OPTION-EMPTY --language"),
        (["show", sys.executable], "E-PACK-DAMAGED"),
        (["report", "nowhere", "-o", "."], "E-OPTION-VALUE --out ."),
        (["show", "nowhere"], "E-NO-RUN nowhere"),
        (["run", "absent.toml"], "E-FILE-UNREADABLE absent.toml"),
    ],
)
def test_wrong_usage_is_explained_and_ends_with_2(hopmeter_here: Hopmeter, words: list[str], says: str) -> None:
    ran = hopmeter_here(*words)
    assert ran.returncode == 2
    assert lacking(ran.stderr, says) == []
    assert "Traceback" not in ran.stderr


def test_an_option_that_is_unknown_ends_with_2(hopmeter_here: Hopmeter) -> None:
    ran = hopmeter_here("run", "--colour", "red")
    assert ran.returncode == 2
    assert "No such option" in ran.stderr, "in Typer's words"


def test_no_cell_left_to_run_ends_with_2(hopmeter_here: Hopmeter) -> None:
    ran = hopmeter_here("run", "--transport", "unix", "--language", "rust", "--wait", "callback")
    assert ran.returncode == 2
    assert lacking(ran.stdout + ran.stderr, "D-NOT-OFFERED callback") == []
    assert lacking(ran.stderr, "E-NO-CELLS") == []


def test_a_dry_run_shows_cells_and_what_is_dropped(hopmeter_here: Hopmeter, tmp_path: Path) -> None:
    words = "run --transport unix --language each --payload timing,image:99999x99999 --dry-run --json"
    ran = hopmeter_here(*words.split())
    dropped = [row["dropped"] for row in lines(ran) if row["status"] == "dropped"]
    assert any(lacking(reason, "D-TOO-LARGE unix") == [] for reason in dropped)
    assert not (tmp_path / "results").exists()


def test_transports_are_listed_a_line_each(hopmeter_here: Hopmeter) -> None:
    rows = lines(hopmeter_here("transports", "--json"))
    assert {(row["transport"], row["language"]) for row in rows} == {
        (name, language) for name, one in manifest.every().items() for language in one.offers
    }
    for row in rows:
        more = {"summary", "installable", "language_pairs"}
        assert set(row) == {"transport", "language", "ready", "version", "code", "missing", "get"} | more
        assert row["ready"] == (row["missing"] is None) == (row["code"] is None)


def test_each_transport_has_a_line_about_it_and_its_pairs_of_languages(hopmeter_here: Hopmeter) -> None:
    told = hopmeter_here("transports").stdout.splitlines()
    for one in manifest.every().values():
        assert any(line.startswith(f"{one.name}  {one.summary}") for line in told), one.name
    assert "   pairs of languages: c++, c++>python, python>c++, python" in told
    references = {line.split()[0] for line in told if line.endswith("Reference: not a library that you can install.")}
    assert {"shm", "memory", "queue", "unix", "tcp"} <= references and "zenoh" not in references


def test_a_transport_that_is_named_is_told_with_every_setting(hopmeter_here: Hopmeter) -> None:
    told = hopmeter_here("transports", "zeromq", "mqtt").stdout
    for name in ("zeromq", "mqtt"):
        one = manifest.find_transports([name])[name]
        assert one.title in told and all(setting in told for setting in one.settings)
    assert "shm" not in told
    wrong = hopmeter_here("transports", "zmq")
    assert wrong.returncode == 2 and lacking(wrong.stderr, 'E-UNKNOWN-TRANSPORT "zeromq"') == []


def test_a_scenario_that_is_named_is_printed_as_a_start_for_ones_own(hopmeter_here: Hopmeter, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(hopmeter_here("scenarios", "fan-out").stdout)
    assert files.load(own) == files.load(files.find_shipped("fan-out"))
    wrong = hopmeter_here("scenarios", "missing.toml")
    assert wrong.returncode == 2 and lacking(wrong.stderr, "E-UNKNOWN-SCENARIO missing.toml") == []


def test_scenarios_are_listed_with_their_questions(hopmeter_here: Hopmeter) -> None:
    rows = lines(hopmeter_here("scenarios", "--json"))
    assert {"quick", "relay-chain", "image", "rate-sweep", "size-sweep", "languages", "fan-out"} <= {
        row["scenario"] for row in rows
    }


@pytest.mark.skipif(paths.node("unix", "rust") is None, reason="unix is not built in rust")
def test_a_cell_that_fails_is_kept_and_told_and_ends_with_1(
    hopmeter: Hopmeter, tmp_path: Path, environment: dict[str, str]
) -> None:
    nodes = tmp_path / "home/nodes"
    nodes.mkdir(parents=True)
    real = paths.node("unix", "rust")
    assert real is not None
    broken = nodes / "hopmeter-node-unix-rust"
    # This node describes itself like the real node, and crashes when the measurement starts.
    broken.write_text(f'#!/bin/sh\n[ "$1" = --describe ] && exec {real} --describe\necho "out of luck" >&2\nexit 9\n')
    broken.chmod(0o755)
    package = tmp_path / "site/hopmeter"
    shutil.copytree(ROOT / "hopmeter", package, ignore=shutil.ignore_patterns("__pycache__", "_data"))
    for name in ("unix", "ecal"):  # the scenario has a setting of the second transport
        without = shutil.ignore_patterns("rust")
        shutil.copytree(ROOT / "transports" / name, package / "_data/transports" / name, ignore=without)
    shutil.copytree(ROOT / "scenarios", package / "_data/scenarios")
    environment |= {"PYTHONPATH": str(package.parent), "HOPMETER_HOME": str(tmp_path / "home")}
    ran = hopmeter("run", "--transport", "unix", "--language", "rust", *SHORT, "--json")
    assert ran.returncode == 1, ran.stderr
    (row,) = lines(ran)
    assert row["status"] == "failed"
    assert lacking(row["reason"], "E-NODE-DIED 9 out of luck") == []
    assert row["reason_code"] == "E-NODE-DIED"
    logs = [log.read_text() for log in (tmp_path / "results").rglob("*.log")]
    assert "out of luck\n" in logs


@needs_nodes
def test_the_environment_asks_and_result_lines_answer(
    hopmeter: Hopmeter, tmp_path: Path, environment: dict[str, str]
) -> None:
    environment |= {"DURATION": "0.3", "RATE": "100", "WIDTH": "32", "HEIGHT": "24"}
    asked = ("--transport=unix", "--language=rust", "--trials=1", "--warmup=3", "--cores=free", "--no-report")
    ran = hopmeter("run", *asked, "--out", "here")
    assert ran.returncode == 0, ran.stderr
    assert "environment variables used: DURATION=0.3 as --duration 0.3s, RATE=100 as --rate 100" in ran.stdout
    lines = [line for line in ran.stdout.splitlines() if line.startswith("[RESULT] ")]
    assert sorted(line.split(" transport=")[1].split(" ")[0] for line in lines) == ["shm", "unix"]
    assert all(" payload=image:32x24 rate_hz=100 " in line and " received=30 " in line for line in lines)
    assert "logs    none\n" in ran.stdout
    kept = json.loads((tmp_path / "here/run.json").read_text())
    assert kept["command"][-6:] == ["--duration", "0.3s", "--rate", "100", "--payload", "image:32x24"]


def test_a_bad_value_in_the_environment_ends_with_2(hopmeter_here: Hopmeter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE", "fast")
    ran = hopmeter_here("run", "--dry-run")
    assert ran.returncode == 2
    assert lacking(ran.stderr, 'E-ENVIRONMENT RATE="fast"') == []
