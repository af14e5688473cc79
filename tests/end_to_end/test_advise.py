"""Tests for `hopmeter advise` with real transports: from a file, from terminal answers, and from an existing run."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import hopmeter
from hopmeter.errors import HopmeterError
from hopmeter.system import paths
from tests.coded import lacking
from tests.end_to_end.conftest import Ran
from tests.failure.running import Traces, nodes_of, wait_for_end, words_of
from tests.waiting import wait_for_trial

ROOT = Path(__file__).parents[2]
SCENARIO = """
title = "Two transports"
question = "Which is faster?"
language = "{language}"
cores = "free"
payload = "bytes:500"
rate = 200
messages = 30
warmup = 2
drain = "10ms"
seed = 3
"""
CHOSEN = ("--transport", "zeromq,nng", "--budget", "15s", "--idle-states")
DECIDED, OPEN = 0, 1


def write(folder: Path, language: str = "c++") -> str:
    (folder / "two.toml").write_text(SCENARIO.format(language=language))
    return "two.toml"


def test_a_scenario_is_measured_and_gives_advice_and_an_example(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    write(tmp_path)
    options = ("--now", "unix", "--require", "lost = 0", "--example", "start", "--out", "here", "--json")
    ran = run_in("advise", "two.toml", *CHOSEN, *options)
    assert ran.returncode in (DECIDED, OPEN), ran.stdout + ran.stderr
    said = json.loads(ran.stdout)
    assert said["decided"] is (ran.returncode == DECIDED)
    rows = [*filter(None, [said["take"], said["next"]]), *said["not_different"], *said["misses"], *said["undecided"]]
    assert {row["transport"] for row in rows} == {"zeromq", "nng"}
    assert said["now"]["transport"] == "unix"
    settings = {row["transport"]: row["settings"] for row in rows}
    assert settings["zeromq"]["nodrop"] is True and settings["nng"]["protocol"] == "push"
    about = json.loads((tmp_path / "here/run.json").read_text())
    assert about["command"][:3] == ["hopmeter", "advise", "two.toml"]
    if said["decided"]:
        text = (tmp_path / "start/example.cpp").read_text()
        assert "PAYLOAD_BYTES = 500;" in text and "RATE_HZ = 200.0;" in text
        assert (tmp_path / "start/README.md").is_file()
    again = run_in("advise", "--from", "here", "--now", "unix")
    assert again.returncode == ran.returncode, again.stdout + again.stderr
    assert again.stdout.split()[0] in ("Recommended", "Result")


ANSWERS = {
    "messages, or make calls": "messages",
    "How large": "2kB",
    "calls per second": "200",
    "language": "c++",
    "How many programs": "1",
    "every message arrive": "perhaps\nno",
    "Within what time": "no",
    "use now": "none",
}


def test_a_terminal_is_asked_for_what_is_missing(tmp_path: Path) -> None:
    said, code = answer_questions(tmp_path, ["advise", *CHOSEN, "--out", "here"])
    assert code in (DECIDED, OPEN), said
    assert "E-VALUE-CHOICE" in said, "an answer that cannot be used is asked for again"
    about = json.loads((tmp_path / "here/run.json").read_text())
    words = " ".join(about["command"])
    assert "--payload bytes:2000" in words and "--rate 200" in words and "--language c++" in words
    assert {cell["axes"]["transport"] for cell in about["cells"]} >= {"zeromq", "nng"}


def answer_questions(folder: Path, words: list[str]) -> tuple[str, int]:
    """Run the command in a pseudo terminal, and answer each question as soon as it is asked."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "TERM": "dumb"}
    with subprocess.Popen(
        [sys.executable, "-m", "hopmeter", *words],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as running:
        os.close(theirs)
        said, waiting = "", dict(ANSWERS)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 1.0)[0]:
                continue
            try:
                said += os.read(ours, 4096).decode(errors="replace")
            except OSError:  # the command has exited
                break
            for question in [each for each in waiting if each in said]:
                os.write(ours, f"{waiting.pop(question)}\n".encode())
        os.close(ours)
        return said, running.wait(60)


def test_without_a_terminal_it_says_what_is_missing(hopmeter_here: Callable[..., Ran]) -> None:
    ran = hopmeter_here("advise", "--payload", "bytes:10")
    assert ran.returncode == 2 and lacking(ran.stderr, "E-ADVISE-WHAT --rate") == []


ERRORS: list[tuple[tuple[str, ...], str]] = [
    (("advise", "two.toml", "--now", "zmq"), "E-UNKNOWN-TRANSPORT zmq"),
    (("advise", "two.toml", "--require", "p99 is low"), "E-VALUE-FORM"),
    (("advise", "highest-rate"), "E-ADVISE-SEARCH highest-rate"),
    (("advise", "two.toml", "--from", "here"), "E-OPTION-CONFLICT --from"),
    (("advise", "--from", "nothing"), "E-NO-RUN nothing"),
    (("advise", "two.toml", "--example", "."), "E-EXISTS"),
    (("advise", "two.toml", "--transport", "zeromq,nng", "--budget", "300ms"), "E-BUDGET-SHORT"),
]


@pytest.mark.parametrize(("words", "expected"), ERRORS, ids=[expected for _, expected in ERRORS])
def test_bad_input_is_refused_before_anything_is_measured(
    words: tuple[str, ...], expected: str, hopmeter_here: Callable[..., Ran], tmp_path: Path
) -> None:
    write(tmp_path)
    ran = hopmeter_here(*words)
    assert ran.returncode == 2 and lacking(ran.stderr, expected) == [], ran.stderr
    assert not (tmp_path / "results").exists()


def test_a_program_is_advised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"transport": ["zeromq", "nng"], "budget": "9s", "out": tmp_path / "here"}
    found = hopmeter.advise(write(tmp_path), **given)
    assert found.is_decided is (found.transport in ("zeromq", "nng"))
    assert hopmeter.advise(run=found.run).lines == found.lines
    assert hopmeter.advise(run=tmp_path / "here", require=["p99 < 1ns"]).transport is None
    with pytest.raises(HopmeterError, match="E-ADVISE-WHAT"):
        hopmeter.advise(payload="bytes:1")


def test_transports_are_those_that_are_ready_and_can_be_installed(tmp_path: Path) -> None:
    from hopmeter.api.advice_request import Request
    from hopmeter.api.advising import prepare

    prepared, not_ready = prepare(Request.of(write_path(tmp_path), None, {"budget": "10m"}, []))
    chosen = {cell.axes.transport for cell in prepared.plan.cells if cell.comparison.ranked}
    assert "zeromq" in chosen and not chosen & {"shm", "unix", "tcp", "memory", "queue", "synthetic"}
    assert not chosen & set(not_ready)
    assert all(command for command in not_ready.values())


def write_path(folder: Path) -> Path:
    return folder / write(folder, "one")


def test_trials_become_shorter_if_the_budget_needs_it(tmp_path: Path) -> None:
    from hopmeter.api.advice_request import Request
    from hopmeter.api.advising import prepare

    if paths.node("zeromq", "c++") is None:
        pytest.skip("zeromq is not built")
    place = write_path(tmp_path)
    place.write_text(place.read_text().replace("messages = 30", 'duration = "5s"'))
    request = Request.of(place, None, {"budget": "30s", "transport": "zeromq,nng"}, [])
    prepared, _ = prepare(request)
    assert prepared.plan.scenario.duration in ("2s", "1s", "0.5s") and "each trial is shortened to" in prepared.notes[0]


def test_ctrl_c_stores_what_was_measured_says_how_to_continue_and_leaves_nothing(
    run_in: Callable[..., Ran], tmp_path: Path
) -> None:
    write(tmp_path)
    chosen = ("--transport", "zeromq,nats", "--budget", "15s", "--idle-states", "--now", "zeromq", "--out", "here")
    with subprocess.Popen(
        [sys.executable, "-m", "hopmeter", "advise", "two.toml", *chosen],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        launcher = psutil.Process(running.pid)
        wait_for_trial(tmp_path / ".here.partial")
        traces, started = Traces(nodes_of(launcher, 2, "nats")), launcher.children(recursive=True)
        assert any("nats-server" in words_of(each)[0] for each in started if words_of(each)), "the broker runs"
        os.killpg(running.pid, signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 130, said
    wait_for_end(started)
    assert traces.paths() == []
    assert "interrupted; finished trials are in .here.partial" in said
    steps = said.split("continue with: ")[1].splitlines()[0].split(" && ")
    assert [each.split()[:2] for each in steps] == [["hopmeter", "run"], ["hopmeter", "advise"]]
    resumed, advised = (run_in(*each.split()[1:]) for each in steps)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert advised.returncode in (DECIDED, OPEN) and "zeromq" in advised.stdout, advised.stdout + advised.stderr


def test_advice_over_two_hosts_is_from_a_run_over_them(run_in: Callable[..., Ran], tmp_path: Path) -> None:
    write(tmp_path, "python")
    agent = json.dumps([sys.executable, "-m", "hopmeter", "agent", "--stdio"])
    (tmp_path / "hosts.toml").write_text(f"[host.one]\nhere = true\n[host.two]\nagent = {agent}\n")
    hosts = ("--hosts", "hosts.toml")
    ran = run_in(
        "advise", "two.toml", "--transport", "zeromq,iceoryx2", "--budget", "5s", *hosts, "--out", "here", "--json"
    )
    assert ran.returncode in (DECIDED, OPEN), ran.stdout + ran.stderr
    run = hopmeter.open_run(tmp_path / "here")
    placed = {row["transport"]: (row["status"], row["hosts"]) for row in run.cells.to_pylist()}
    assert placed["zeromq"] == ("ok", "one>two") and placed["iceoryx2"][0] == "dropped"
    said = json.loads(ran.stdout)
    assert "--hosts hosts.toml" in " ".join(said["lines"].values()) or said["decided"]
