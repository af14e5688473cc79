"""Tests for the terminal output of a run."""

from __future__ import annotations

import re

import pytest

from hopmeter.cli import main
from hopmeter.cli.output import run_table
from hopmeter.errors import HopmeterError
from hopmeter.runtime.progress import RunProgress
from hopmeter.system.terminal import Console
from tests.report.rows import cell, print_table, run_of


def test_a_failed_row_says_what_failed_and_leaves_the_traceback_to_the_log() -> None:
    why = 'the client raised RuntimeError: no reply: Traceback (most recent call last):\n  File "adapter.py" [E-X]'
    failed = cell("zenoh", 1.0, status="failed", reason=why, trials=5, trials_good=0)
    said = print_table(run_of(cell("tcp", 1.0), failed))
    assert "failed: the client raised RuntimeError: no reply [E-X]" in said
    assert "adapter.py" not in said


def test_the_empty_hop_stands_beside_the_figure_and_is_explained() -> None:
    said = print_table(run_of(cell("libxr", 1.7, empty_hop_us=0.32), cell("tcp", 9.0)))
    assert re.search(r"libxr.*empty hop 0\.320", said)
    assert "Empty hop: the time from sent to arrived" in " ".join(said.split())
    said = print_table(run_of(cell("tcp", 9.0)))
    assert "empty hop" not in said.lower()


def test_what_hurts_on_the_machine_is_told_with_the_remedy() -> None:
    findings = [
        {"subject": "idle states", "level": "hurts", "remedy": "stay awake"},
        {"subject": "SMT", "level": "note"},
    ]
    hosts = {"desk": {"here": True}, "robot": {"doctor": findings}, "station": {"doctor": findings}}
    said = print_table(run_of(cell("tcp", 1.0), doctor=findings, hosts=hosts))
    assert "  idle states: stay awake\n" in said
    assert "Problems on other hosts and how to fix them:\n  robot, station: idle states: stay awake\n" in said
    assert "SMT" not in said


def test_a_run_that_kept_cores_awake_has_no_advice_to_do_so() -> None:
    idle = {"code": "F-IDLE-STATES", "subject": "idle states", "level": "hurts", "remedy": "keep them awake"}
    for awake in (False, True):
        cells = [cell("tcp", 1.0), cell("unix", 1.0, no_idle_states=awake)]
        said = print_table(run_of(*cells, doctor=[idle]))
        assert ("keep them awake" in said) is not awake


def test_a_percentile_stands_with_its_interval_and_a_tail_never_alone() -> None:
    ends = {"response_p99_us": 2930.0, "response_p99_low_us": 530.0, "response_p99_high_us": 12930.0}
    alone = {"response_p99_us": 777.0, "response_p99_low_us": None, "response_p99_high_us": None}
    said = print_table(run_of(cell("tcp", 594.0, 303.0, 1443.0, **ends), cell("unix", 20.0, **alone)))
    lines = {words[0]: line for line in said.splitlines() if (words := line.split())}
    assert re.search(r"594 \(303–1,443\) +2,930 \(530–12,930\)", said)
    assert re.search(r"20\.0 \(\?\) +– ", lines["unix"]) and "777" not in said
    assert "±" not in said


def test_an_open_end_of_an_interval_is_a_limit_and_the_rounds_that_p99_needs_are_named() -> None:
    ends = {"response_p99_us": 2930.0, "response_p99_low_us": 530.0, "response_p99_high_us": None, "p99_rounds": 27}
    said = print_table(run_of(cell("tcp", 594.0, 303.0, 1443.0, **ends), cell("unix", 20.0)))
    assert re.search(r"2,930 \(≥530\)", said)
    assert "p99 needs 27 rounds: measure with `--trials 27`." in said
    said = print_table(run_of(cell("tcp", 594.0, 303.0, 1443.0)))
    assert "p99 needs" not in said


def test_the_ratio_to_the_best_has_its_interval_and_a_run_without_it_no_column() -> None:
    names = ("ratio_to_best", "ratio_to_best_low", "ratio_to_best_high")
    made = [
        cell(name, us, **dict(zip(names, ratio, strict=True)))
        for name, us, ratio in (("tcp", 9.0, (1.0, 1.0, 1.0)), ("zenoh", 19.0, (2.11, 1.9, 2.34)))
    ]
    said = print_table(run_of(*made))
    assert re.search(r"zenoh .* 2\.11 \(1\.90–2\.34\)", said) and re.search(r"tcp .* 1\.00 +–", said)
    said = print_table(run_of(cell("tcp", 9.0)))
    assert "×best" not in said


def test_a_ratio_that_an_earlier_look_decided_is_marked() -> None:
    ratio = {"ratio_to_best": 1.3, "ratio_to_best_low": 1.1, "ratio_to_best_high": 1.6}
    for early in (True, False):
        said = print_table(run_of(cell("zenoh", 13.0, **ratio, stopped_early=early), cell("nng", 10.0)))
        assert bool(re.search(r"zenoh .*1\.30 \(1\.10–1\.60\).* stopped early\n", said)) is early
        assert ("stopped early: an earlier interim analysis decided" in said) is early


def test_a_column_of_the_scenario_is_no_second_median() -> None:
    made = cell("zenoh", 13.0, pace="closed", rate_hz=None, roundtrip_p50_us=17.7, service_p50_us=6.66, median_us=18.8)
    said = print_table(run_of(made, columns=["roundtrip_p50_us", "service_p50_us"]))
    assert "18.8" in said and "6.66" in said and "17.7" not in said


def test_cpu_is_a_share_of_a_core_and_samples_have_a_column_of_their_own() -> None:
    used = {"cpu_us_per_message": 41.0, "cpu_core_percent": 4.1}
    said = print_table(run_of(cell("tcp", 9.0, **used, cpu_percent_mean=6.37)))
    assert re.search(r"41\.0 +4\.10 +6\.37", said) and "sampled" in said
    said = print_table(run_of(cell("tcp", 9.0, **used)))
    assert "sampled" not in said


@pytest.mark.parametrize(("columns", "shown"), [(72, False), (160, True)])
def test_a_narrow_terminal_leaves_out_columns_and_cuts_no_interval(columns: int, shown: bool) -> None:
    console = Console(width=columns, force_terminal=True, color_system=None)
    with console.capture() as said:
        run_table.print_run(console, run_of(cell("ros2-wire", 1594.0, 1303.0, 21443.0, language="rust>c++")))
    assert "1,594 (1,303–21,443)" in said.get() and "90.0 (85.0–95.0)" in said.get()
    assert ("CPU µs" in said.get()) is shown


def test_the_footer_has_the_steal_of_the_runs_own_trials_and_not_that_since_boot() -> None:
    since_boot = {"subject": "steal time", "level": "hurts", "says": "2.5 % since boot", "remedy": "measure later"}
    run = run_of(cell("tcp", 1.0), doctor=[since_boot])
    shares = (0.02, 0.31)
    run.trials = [
        {"cell": "c0", "trial": number, "good": True, "wall_s": 2.0, "steal_us": 0.0, "steal_share": share}
        for number, share in enumerate(shares)
    ]
    said = print_table(run)
    text = said.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "took 16 % of the measured cores' time, and 31 % in the worst trial (tcp (Rust), trial 1)" in text
    assert "measure later" not in text and "since boot" not in text
    run.trials = [{**trial, "steal_share": 0.0} for trial in run.trials]
    said = print_table(run)
    assert "hypervisor" not in said


def test_references_stand_below_the_choices_and_say_what_they_are() -> None:
    run = run_of(
        cell("shm", 1.0, installable=False), cell("zenoh", 9.0, floor="c0"), cell("unix", 2.0, installable=False)
    )
    said = print_table(run)
    table = said.partition("p50 µs")[2].partition("Brackets")[0]
    lines = [line.split() for line in table.splitlines() if line.strip()]
    assert [words[0] for words in lines if words[0] in ("zenoh", "shm", "unix")] == ["zenoh", "shm", "unix"]
    assert [words[-1] for words in lines if words[0] in ("shm", "unix")] == ["floor", "reference"]
    assert not re.search(r"^\d", table, re.MULTILINE), "a choice alone and its references have no rank"
    assert "not a library that you can install" in said


HOSTILE = "\x1b]0;owned\x1b[2J\x9b31m\u202e[red][/no such tag]"
SHOWN = r"\x1b]0;owned\x1b[2J\x9b31m\u202e[red][/no such tag]"


def test_a_question_and_a_reason_show_their_control_characters_and_markup_as_text() -> None:
    failed = cell("tcp", 1.0, status="failed", reason=HOSTILE, trials=5, trials_good=0)
    terminal = Console(width=300, force_terminal=True, highlight=False)
    with terminal.capture() as said:
        run_table.print_run(terminal, run_of(cell("unix", 1.0), failed, question=HOSTILE))
    assert said.get().count(SHOWN) == 2
    assert not {"\x9b", "\u202e"} & set(said.get())
    assert set(re.findall(r"\x1b(.)", said.get())) == {"["}, "colours are Rich's own"
    assert "\x1b[2J" not in said.get()


def test_a_warning_of_a_row_that_was_measured_is_printed_below_the_table() -> None:
    stopped = cell("unix", 1.0, warnings=["node 1 (sink) was stopped for 10 s [W-PROCESS-STOPPED]"])
    said = print_table(run_of(stopped))
    assert re.search(r"\nwarnings\n  unix \(rust\), 1 cell: node 1 \(sink\) .*\[W-PROCESS-STOPPED\]", said)


def test_a_line_of_progress_shows_control_characters_as_text() -> None:
    terminal = Console(width=300, force_terminal=True)
    with terminal.capture() as said, RunProgress(terminal, []) as progress:
        progress.note(HOSTILE)
    assert SHOWN in said.get()


def test_an_error_shows_control_characters_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    main.fail(HopmeterError("E-X", HOSTILE, HOSTILE))
    assert capsys.readouterr().err.count(SHOWN) == 2


def test_an_interval_that_says_nothing_is_a_question_mark() -> None:
    said = print_table(run_of(cell("tcp", 594.0, 0.5, 501.0), cell("unix", 20.0, 0.5, 499.0)))
    assert re.search(r"tcp .* \(\?\)", said) and re.search(r"unix .*\(0\.500–499\)", said)
    assert "(?): no interval" in said


def test_a_group_of_references_has_a_table_only_if_there_is_no_other() -> None:
    alone = cell("memory", 33.5, placement="thread", installable=False)
    said = print_table(run_of(cell("zeromq", 9.0), alone))
    assert "threads of one process" in said
    assert not re.search(r"^ *memory +rust +", said, re.MULTILINE)
    said = print_table(run_of(alone))
    assert re.search(r"^ *memory +rust +", said, re.MULTILINE)


def test_each_sentence_about_a_table_has_a_line_of_its_own() -> None:
    run = run_of(cell("zenoh", 9.0, 8.0, 10.0), cell("nng", 29.0, 28.0, 30.0), cell("unix", 2.0, installable=False))
    said = print_table(run, width=300)
    starts = [line.split()[0] for line in said.partition("lost")[0].splitlines() if line.endswith(".")]
    assert starts == ["zenoh", "With", "Medians"]


def test_a_failed_trial_of_a_good_row_has_its_reason() -> None:
    run = run_of(cell("zenoh", 9.0, trials=2, trials_good=1), cell("nng", 9.0))
    why = "node 1 said nothing: Traceback (most recent call last): File [E-NODE-SILENT]"
    run.trials.append({"cell": "c0", "trial": 1, "order": 2, "round": 1, "good": False, "reason": why})
    said = print_table(run)
    assert re.search(
        r"failed trials\n  zenoh \(rust\), 1 trial: node 1 said nothing \[E-NODE-SILENT\]$", said, re.MULTILINE
    )


def test_a_narrow_terminal_does_not_break_the_next_command() -> None:
    run = run_of(cell("zenoh", 9.0, 8.0, 10.0), quick=True, command=["hopmeter", "run", "--transport", "zenoh,nng"])
    said = print_table(run, width=40)
    assert "`hopmeter run --transport zenoh,nng --trials 12`" in said
