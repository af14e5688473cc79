"""Advice claims only what the intervals resolve: the recommended transport, its ratios, and the conditions that change
the advice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hopmeter.analysis.results.run_results import Run
from hopmeter.api.advising import Advice
from hopmeter.api.example_values import example_pattern, example_values, topic_name
from hopmeter.report.advice.changes import advise_command
from hopmeter.report.advice.lines import HEADS, RunAdvice
from tests.report.rows import cell, run_of
from tests.workload_runs import Made, make_run

CPU = ("cpu_core_percent", "cpu_core_percent_low", "cpu_core_percent_high")


def row(name: str, p50: float, low: float, high: float, cpu: float = 3.0, **more: Any) -> dict[str, Any]:
    shares = dict(zip(CPU, (cpu, cpu - 0.5, cpu + 0.5), strict=True))
    return cell(name, p50, low, high, **{"installable": True, "ranked": True, **shares, **more})


def advice(*rows: dict[str, Any], now: str | None = None, **about: Any) -> RunAdvice:
    given = {"command": ["hopmeter", "advise", "mine.toml"], "scenario": {}, "scenario_name": "mine", **about}
    return RunAdvice(run_of(*rows, **given), now)


def transport(found: RunAdvice) -> str | None:
    return found.take["transport"] if found.take else None


def test_the_fastest_is_advised_with_what_is_next_and_what_it_costs() -> None:
    found = advice(row("nng", 20, 19, 21), row("zeromq", 10, 9, 11), row("zenoh", 40, 38, 42))
    assert transport(found) == "zeromq"
    assert tuple(found.lines) == HEADS
    assert found.lines["take"].startswith("zeromq in ") and "10.0" in found.lines["take"]
    assert "the next row, nng, takes" in found.lines["better"] and "zenoh" not in found.lines["better"]
    assert "zeromq needs 3.0" in found.lines["cpu"]
    data = found.as_json()
    assert (data["decided"], data["next"]["transport"], data["now"]) == (True, "nng", None)
    assert json.dumps(data, allow_nan=False)


def test_what_cannot_be_installed_is_never_advised() -> None:
    found = advice(
        row("shm", 1, 0.9, 1.1, installable=False), row("zeromq", 10, 9, 11), row("nng", 20, 19, 21), now="shm"
    )
    assert transport(found) == "zeromq"
    assert "your current transport, shm, takes" in found.lines["better"]
    assert transport(advice(row("shm", 1, 0.9, 1.1, installable=False))) is None


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ("zeromq", "zeromq is your current transport"),
        ("nng", "nng is your current transport"),
        ("zenoh", "your current transport, zenoh, takes"),
        ("redis", "your current transport, redis, was not measured"),
        ("mqtt", "your current transport, mqtt, could not keep up"),
    ],
)
def test_what_the_user_has_now_is_compared(now: str, words: str) -> None:
    rows = [row("zeromq", 10, 9, 11), row("nng", 20, 19, 21), row("zenoh", 40, 38, 42)]
    late = row("mqtt", 1, 1, 1, status="saturated", response_p50_us=None)
    assert words in advice(*rows, late, now=now).lines["better"]


def test_of_rows_that_do_not_differ_the_one_with_less_cpu_is_advised() -> None:
    rows = [row("nng", 10, 9, 12, cpu=8.0), row("zeromq", 11, 10, 13, cpu=3.0)]
    found = advice(*rows)
    assert (transport(found), found.decision.by) == ("zeromq", "cpu")
    assert "nng does not differ significantly from zeromq; zeromq needs the least CPU" in found.lines["take"]


def test_if_nothing_is_decided_there_is_no_advice() -> None:
    found = advice(row("nng", 10, 9, 12), row("zeromq", 11, 10, 13))
    assert transport(found) is None
    assert found.lines["take"] == "No recommendation: nng and zeromq do not differ significantly."
    assert "hopmeter advise mine.toml --budget" in found.lines["changes"]
    assert found.as_json()["not_different"][1]["transport"] == "zeromq"


def test_some_that_are_better_than_others_are_an_answer() -> None:
    found = advice(row("nng", 10, 9, 12), row("zeromq", 11, 10, 13), row("zenoh", 40, 38, 42))
    assert transport(found) == "nng"
    assert "zeromq does not differ significantly from nng" in found.lines["take"]


def test_of_rows_that_do_not_differ_the_user_keeps_what_is_there() -> None:
    rows = [row("nng", 10, 9, 12), row("zeromq", 11, 10, 13), row("zenoh", 40, 38, 42)]
    found = advice(*rows, now="zeromq")
    assert (transport(found), found.decision.by) == ("zeromq", "now")
    assert "nng does not differ significantly from zeromq; there is no reason to change" in found.lines["take"]
    assert "the first significantly worse row, zenoh, takes" in found.lines["better"]
    assert (
        "Which of these 2 rows is best is undecided; `hopmeter advise mine.toml --budget 10m` measures longer"
        in found.lines["changes"]
    )
    assert transport(advice(*rows[:2], now="zeromq")) is None, "nothing is ruled out"


def test_a_single_transport_is_no_choice() -> None:
    found = advice(row("nng", 10, 9, 12))
    assert transport(found) is None and "only nng was measured" in found.lines["take"]


def test_requirements_narrow_the_choice_and_the_answer_without_them_is_told() -> None:
    wanted = {"scenario": {"require": ["lost = 0"]}}
    found = advice(
        row("nng", 5, 4, 6, require="misses"),
        row("zeromq", 10, 9, 11, require="meets"),
        row("zenoh", 40, 38, 42, require="meets"),
        row("mqtt", 7, 6, 8, require="undecided"),
        now="nng",
        **wanted,
    )
    assert transport(found) == "zeromq"
    assert "it meets lost = 0" in found.lines["take"]
    assert "your current transport, nng, takes" in found.lines["better"] and "misses" in found.lines["better"]
    assert "Without lost = 0, you could use nng" in found.lines["changes"]
    assert [each["transport"] for each in found.as_json()["undecided"]] == ["mqtt"]
    none = advice(row("nng", 5, 4, 6, require="misses"), row("zeromq", 9, 8, 9, require="misses"), **wanted)
    assert transport(none) is None and "nng and zeromq miss lost = 0" in none.lines["take"]
    assert none.lines["changes"].startswith("Relax the requirements")


def test_the_settings_that_lose_nothing_are_named_unless_they_were_measured() -> None:
    settings = {"endpoint": "ipc", "hwm": 1000, "nodrop": False, "io_threads": 1}
    other = row("nng", 20, 19, 21)
    said = advice(row("zeromq", 10, 9, 11, settings=settings), other).lines["settings"]
    assert "hwm=1000" in said and "0 of 5,000 messages were lost" in said
    assert (
        "nodrop=true would prevent any loss (not measured; `hopmeter advise mine.toml --require 'lost = 0'` measures "
        "it)" in said
    )
    measured = advice(row("zeromq", 10, 9, 11, settings={**settings, "nodrop": True}), other).lines["settings"]
    assert "waits instead of losing" in measured
    assert "knows no settings" in advice(row("lcm", 10, 9, 11), other).lines["settings"]


def test_idle_states_that_were_measured_and_those_that_were_not() -> None:
    asleep = [row("zeromq", 100, 90, 110), row("nng", 50, 45, 55)]
    awake = [{**row("zeromq", 10, 9, 11), "no_idle_states": True}, {**row("nng", 20, 19, 21), "no_idle_states": True}]
    both = advice(*asleep, *awake)
    assert transport(both) == "zeromq"
    assert "With idle cores as they are, nng is best" in both.lines["changes"]
    alone = advice(*asleep).lines["changes"]
    assert "`hopmeter advise mine.toml --no-idle-states` measures them" in alone


def test_other_tables_of_the_scenario_are_when_the_answer_changes() -> None:
    small = [row("zeromq", 10, 9, 11, rate_hz=100.0), row("nng", 20, 19, 21, rate_hz=100.0)]
    fast = [row("zeromq", 30, 29, 31, rate_hz=1000.0), row("nng", 20, 19, 21, rate_hz=1000.0)]
    slow = [row("zeromq", 10, 9, 11, rate_hz=10.0), row("nng", 20, 19, 21, rate_hz=10.0)]
    found = advice(*small, *fast, *slow)
    assert "at 100" in found.lines["take"]
    assert "nng is best" in found.lines["changes"]
    assert "In 1 other table of this run, zeromq is also among the best" in found.lines["changes"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("hopmeter advise mine.toml --budget 3m --now nng", "hopmeter advise mine.toml --now nng --rate 1,2"),
        ("hopmeter advise --payload bytes:5 --rate 9 --json", "hopmeter advise --payload bytes:5 --rate 1,2"),
        (
            "hopmeter run quick --trials 3 --transport=zeromq,nng --no-report",
            "hopmeter advise quick --transport=zeromq,nng --rate 1,2",
        ),
        (
            "hopmeter advise mine.toml --rate 3 --no-idle-states",
            "hopmeter advise mine.toml --no-idle-states --rate 1,2",
        ),
    ],
)
def test_a_command_keeps_the_question(command: str, expected: str) -> None:
    assert advise_command(_run(command), "--rate", "1,2") == expected


def test_a_command_has_one_option_for_idle_states() -> None:
    run = _run("hopmeter advise mine.toml --idle-states")
    assert advise_command(run, "--no-idle-states") == "hopmeter advise mine.toml --no-idle-states"


def test_advice_about_calls_speaks_of_calls() -> None:
    rows = [row("zeromq", 10, 9, 11, pattern="rpc"), row("nng", 20, 19, 21, pattern="rpc")]
    lines = advice(*rows).lines
    assert "for a call with" in lines["take"] and "half of the replies arrived within" in lines["take"]
    assert "of 5,000 calls had no reply" in lines["settings"] and "message" not in lines["settings"]


def _run(command: str) -> Run:
    return run_of(row("nng", 1, 1, 1), command=command.split())


def of_workload(made: dict[str, Made], now: str | None = None, **about: Any) -> RunAdvice:
    given = {"command": ["hopmeter", "advise", "head.toml"], "scenario": {}, "title": "A head", **about}
    return RunAdvice(make_run(made, **given), now)


CLEAR = [20, 22, 18, 21, 19, 20, 22, 18]
WORST = [220, 250, 210, 240, 230, 220, 260, 240]


def test_a_workload_is_advised_by_the_ranks_of_the_whole() -> None:
    cpu = [30.0, 31.0, 29.0, 30.5, 30.0, 29.5, 31.0, 30.0]
    made = {
        "zeromq": Made(CLEAR, cpu=cpu),
        "nng": Made(WORST, cpu=cpu),
        "shm": Made([0] * 8, cpu=cpu, installable=False),
    }
    found = of_workload(made, now="nng")
    assert transport(found) == "zeromq"
    assert "for the whole workload: it misses" in found.lines["take"]
    assert "the next row, nng, misses more deadlines" in found.lines["better"]
    assert "nng is your current transport" in found.lines["better"]
    assert "change them in the file" in found.lines["changes"]
    assert found.as_json()["decided_by"] == "order"
    alike = of_workload({"zeromq": Made(CLEAR), "nng": Made(CLEAR)})
    assert transport(alike) is None and "nng and zeromq do not differ" in alike.lines["take"].replace(
        "zeromq and nng", "nng and zeromq"
    )


def test_a_workload_that_only_one_transport_carries_is_decided() -> None:
    found = of_workload({"zeromq": Made(CLEAR), "nng": Made([0], status="failed")}, now="nng")
    assert transport(found) == "zeromq"
    assert "no other transport" in found.lines["better"] and "failed" in found.lines["better"]


@pytest.mark.parametrize(
    ("name", "pattern", "gap", "note"),
    [
        ("zeromq", "rpc", "", ""),
        ("redis", "rpc", "", "Redis has no calls"),
        ("ros1", "rpc", "ros1 has no example with calls in python yet", ""),
        ("thrift", "pubsub", "thrift has no example with messages in python yet", ""),
    ],
)
def test_an_example_has_calls_if_the_question_is_about_calls(name: str, pattern: str, gap: str, note: str) -> None:
    rows = [row(name, 10, 9, 11, pattern=pattern, language="python"), row("nng", 20, 19, 21, pattern=pattern)]
    found = Advice(advice(*rows))
    assert found.example_gap == gap
    example = found.examples["python"]
    assert (example is None) is bool(gap)
    assert example is None or note in example.note


def test_a_workload_has_an_example_with_its_busiest_flow() -> None:
    made = {"zeromq": Made(CLEAR), "nng": Made(WORST)}
    take = of_workload(made).take
    assert take is not None
    assert example_values(take)["TOPIC"].isidentifier() and example_pattern(take) in ("pubsub", "rpc")
    assert [topic_name(each) for each in ("joint-states", "3d")] == ["joint_states", "flow_3d"]
