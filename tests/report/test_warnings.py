"""Each warning rule applies when its condition holds, and a clean run has no warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hopmeter.analysis.latency import percentiles
from hopmeter.messages import tag
from hopmeter.report.warnings.result_rules import RULES, warnings
from hopmeter.report.words.formatting import THIN
from hopmeter.report.words.steal_sentences import steal_sentence
from tests.coded import lacking
from tests.report.rows import cell, print_table, run_of

LOAD = {"code": "F-LOAD", "subject": "load", "level": "hurts", "says": "90 % busy", "remedy": "stop other programs"}
GOOD = cell("shm", 10, 9, 11)
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("W-QUICK", {"quick": True}, {}),
    ("W-NO-INTERVAL", {"response_p50_low_us": None}, {}),
    ("W-NO-MEDIAN", {"response_p50_us": None}, {}),
    ("W-UNRESOLVED p99", {"response_p99_us": None}, {}),
    ("W-UNRESOLVED p99.9", {"response_p999_us": None}, {}),
    ("W-SATURATED", {"status": "saturated"}, {}),
    (
        "W-CORES-BUSY",
        {"wait": "block", "cpu_us_per_message": 1900.0, "achieved_hz": 1000.0},
        {"machine": {"usable_cores": [0, 1], "virtualisation": "none"}},
    ),
    ("W-TRIALS-FAILED", {"trials_good": 4}, {}),
    ("W-LOST", {"lost": 3}, {}),
    ("W-DUPLICATED", {"duplicated": 1}, {}),
    ("W-REORDERED", {"reordered": 1}, {}),
    ("W-REFUSED", {"busy": 1}, {}),
    ("W-NEGATIVE", {"negative": 2}, {}),
    ("W-FALLBACK The path was tcp", {"warnings": ["the path was tcp [W-FALLBACK]"]}, {}),
    ("W-FALLBACK Of an earlier version", {"warnings": ["of an earlier version"]}, {}),
    ("W-PROCESS-STOPPED Node 1", {"warnings": ["node 1 was stopped [W-PROCESS-STOPPED]"]}, {}),
    ("W-CONTENT 4", {"content_errors": 4}, {}),
    ("W-OTHER-PATH", {"carried_by": "shared memory", "loopback_bytes_per_message": 9000.0}, {}),
    ("W-PACING", {"pacing_error_p99_us": 51.0}, {}),
    ("W-NO-FLOOR", {"floor_us": None, "floor_reason": "shm does not offer rpc [D-NOT-OFFERED]"}, {}),
    ("W-BELOW-FLOOR", {"times_floor": 0.9}, {}),
    ("W-NOISE", {}, {"noise": {"cores": [{"core": 1, "longest_us": 101.0}]}}),
    (
        "F-GOVERNOR Machine: governor",
        {},
        {
            "doctor": [
                {"code": "F-GOVERNOR", "subject": "governor", "level": "hurts", "says": "powersave", "remedy": "set it"}
            ]
        },
    ),
    (
        "F-LOAD Host robot and station: load",
        {},
        {
            "hosts": {
                "desk": {"here": True},
                "robot": {"doctor": [LOAD, {**LOAD, "level": "note", "subject": "SMT"}]},
                "station": {"doctor": [LOAD]},
            }
        },
    ),
]


def messages(row: dict[str, Any], about: dict[str, Any]) -> list[str]:
    return [tag(warning.code, warning.title) for warning in warnings([run_of(GOOD | row, **about)])]


def test_a_clean_run_is_quiet() -> None:
    good = [{"subject": "governor", "level": "good", "says": "performance", "remedy": ""}]
    assert (
        messages(
            {},
            {
                "machine": {"virtualisation": "none"},
                "noise": {"cores": [{"core": 0, "longest_us": 9.0}]},
                "doctor": good,
            },
        )
        == []
    )


@pytest.mark.parametrize(("expected", "row", "about"), CASES, ids=str)
def test_a_rule_speaks(expected: str, row: dict[str, Any], about: dict[str, Any]) -> None:
    assert [] in [lacking(message, expected) for message in messages(row, about)]


def test_rules_about_a_steady_state_do_not_concern_first_messages() -> None:
    bad = {"lost": 3, "busy": 1, "response_p99_us": None, "duplicated": 1}
    run = run_of(GOOD | bad | {"floor_us": None, "floor_reason": "no floor"})
    run.rows = [replace(row, cell=row.cell.with_values(begin="at-once")) for row in run.rows]
    assert "W-DUPLICATED" in (said := [warning.code for warning in warnings([run])])
    assert not {"W-LOST", "W-REFUSED", "W-UNRESOLVED", "W-NO-FLOOR"} & set(said)


def test_stolen_time_is_a_share_of_the_trials() -> None:
    run = run_of(GOOD)
    run.trials = [{"cell": "c0", "trial": 0, "good": True, "wall_s": 1.0, "steal_us": 20_000.0}]
    assert "W-STEAL" in [warning.code for warning in warnings([run])]
    run.trials[0]["steal_us"] = 10.0
    assert warnings([run]) == []


def test_a_single_trial_that_lost_much_is_named() -> None:
    run = run_of(GOOD)
    run.trials = [
        {"cell": "c0", "trial": number, "good": True, "wall_s": 1.0, "steal_us": 0.0, "steal_share": share}
        for number, share in enumerate([0.0] * 99 + [0.32])
    ]
    [said] = [warning.text for warning in warnings([run]) if warning.code == "W-STEAL"]
    assert (
        f"took 0.32{THIN}% of the measured cores' time, and 32{THIN}% in the worst trial (shm (Rust), trial 99)" in said
    )


def test_trials_that_were_measured_again_are_counted() -> None:
    run = run_of(GOOD | {"trials_repeated": 2})
    run.trials = [{"cell": "c0", "trial": 0, "good": True, "wall_s": 1.0, "steal_us": 0.0, "steal_share": 0.4}]
    assert "2 trials that lost too much were measured again." in steal_sentence([run])
    run.rows[0].values["trials_repeated"] = 0
    assert "none was discarded." in steal_sentence([run])


def test_runs_of_several_machines_and_versions_are_told_apart() -> None:
    runs = [run_of(GOOD | {"library_version": version}, machine={"cpu_model": version}) for version in ("1.0", "1.1")]
    assert [warning.code for warning in warnings(runs)] == ["W-MIXED-VERSIONS", "W-MACHINES"]


def test_settings_may_choose_the_version_of_a_library() -> None:
    runs = [run_of(GOOD | {"library_version": version, "profile": f"rmw={version}"}) for version in ("one", "other")]
    assert [warning.code for warning in warnings(runs)] == []
    runs += [run_of(GOOD | {"library_version": "newer", "profile": "rmw=other"})]
    [mixed] = [warning.text for warning in warnings(runs) if warning.code == "W-MIXED-VERSIONS"]
    assert "newer" in mixed and "other" in mixed and "one" not in mixed.split()


@pytest.mark.parametrize(
    ("column", "least"), [("response_p50_us", "40"), ("response_p99_us", "2,000"), ("response_p999_us", "20,000")]
)
def test_the_messages_that_a_percentile_takes_follow_from_those_beyond_it(
    column: str, least: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(percentiles, "BEYOND", 20)
    found = warnings([run_of(GOOD | {column: None})])
    [said] = [warning.text for warning in found if warning.code in ("W-NO-MEDIAN", "W-UNRESOLVED")]
    assert f" {least} messages" in said.replace(THIN, " ")


def test_every_rule_has_a_sentence() -> None:
    assert all(rule.__doc__ for rule in RULES)


def test_a_warning_of_many_rows_is_printed_once_with_the_numbers_of_the_first() -> None:
    said = [tag("W-CLOCK-COARSE", f"the median of {us} us is less than 9 us") for us in ("3.1", "4.25")]
    rows = [cell(name, 10.0, warnings=[text]) for name, text in zip(("zenoh", "nng"), said, strict=True)]
    run = run_of(*rows, cell("tcp", 10.0, warnings=[tag("W-FALLBACK", "tcp of robot1 took udp")]))
    found = [each for each in warnings([run]) if each.code in ("W-CLOCK-COARSE", "W-FALLBACK")]
    assert [each.title for each in found] == [
        "The median of 3.1 us is less than 9 us (the numbers differ in other rows or trials)",
        "Tcp of robot1 took udp",
    ]
    shown = print_table(run)
    assert shown.count("is less than 9 us") == 1 and "zenoh (rust) and nng (rust), 2 cells: the median of 3.1" in shown


def test_percentiles_with_too_few_messages_are_one_warning() -> None:
    lacking = {f"response_{name}{end}_us": None for name in ("p99", "p999") for end in ("", "_low", "_high")}
    both, one = cell("zenoh", 10.0, 9.0, 11.0, **lacking), cell("nng", 10.0, 9.0, 11.0, response_p999_low_us=None)
    found = [each.text for each in warnings([run_of(both, one)]) if each.code == "W-UNRESOLVED"]
    assert len(found) == 1 and "p99 needs about 1,000 messages in all trials together (1 row lacks p99)" in found[0]
