"""Compare the parallel-server study's claims and published results with measured rows."""

from __future__ import annotations

from typing import Any

from hopmeter.report.studies import known
from hopmeter.report.studies.judging import Verdict, judge
from hopmeter.report.studies.study_values import tables
from tests.report.rows import cell, run_of


def verdict_of(text: str, *rows: dict[str, Any]) -> Verdict:
    (claim,) = (each for each in known.claims() if each.text.startswith(text))
    return judge(claim, [run_of(*rows)])


def test_servers_asked_in_parallel() -> None:
    def scatter_row(p50: float) -> dict[str, Any]:
        took = {"gather_p50_us": p50, "gather_p50_low_us": p50 * 0.99, "gather_p50_high_us": p50 * 1.01}
        return cell("zeromq", p50, pattern="scatter", sinks=2, work="sleep:10ms") | took

    text = "Servers that are called at once"
    assert verdict_of(text, scatter_row(10_400.0)).answer == "holds"
    assert verdict_of(text, scatter_row(20_400.0)).answer == "does not hold"
    differing = {"sinks": 3, "work": "sleep:4ms/10ms/8ms"}
    assert verdict_of(text, scatter_row(10_400.0) | differing).answer == "holds"
    assert verdict_of(text, scatter_row(22_400.0) | differing | {"dispatch": "sequential"}).answer == "not measured"


def test_servers_asked_one_after_the_other() -> None:
    took = {"gather_p50_us": 22_400.0, "gather_p50_low_us": 22_300.0, "gather_p50_high_us": 22_500.0}
    asked = cell("zeromq", 1.0, pattern="scatter", sinks=3, work="sleep:4ms/10ms/8ms", dispatch="sequential") | took
    text = "Servers that are called one after the other"
    assert verdict_of(text, asked).answer == "holds"
    assert verdict_of(text, asked | {"dispatch": "parallel"}).answer == "not measured"


def test_of_few_long_calls_the_fastest_and_the_slowest_settle_a_claim() -> None:
    took = {"gather_p50_us": 10_400.0, "gather_p50_low_us": None, "gather_p50_high_us": None}
    asked = cell("zeromq", 1.0, pattern="scatter", sinks=2, work="sleep:10ms") | took
    ends = {"gather_min_us": 10_100.0, "gather_max_us": 11_000.0, "gather_count": 30}
    text = "Servers that are called at once"
    assert verdict_of(text, asked | ends).answer == "holds"
    assert verdict_of(text, asked | ends).numbers.endswith("1.04× (1.01 to 1.10)")
    assert verdict_of(text, asked | ends | {"gather_max_us": 16_000.0}).answer == "not resolved"
    assert verdict_of(text, asked | ends | {"trials_good": 2}).answer == "not resolved"


def test_what_servers_took_stands_beside_the_study_that_asked_them_the_same() -> None:
    works = {"work": "sleep:30ms/40ms/50ms", "rate_hz": None, "pace": "closed", "payload": "image:640x480"}
    asked = cell("zeromq", 50.4, language="python", pattern="scatter", placement="process", relays=0, sinks=3, **works)
    took = {"gather_mean_us": 50_400.0, "gather_p50_us": 50_390.0}
    (part,) = tables([run_of(asked | took, scenario_name="fake-video")])
    (line,) = (line for line in part.lines if line.is_measured)
    assert (line.statistic, line.published["not stated"][:3]) == ("mean per frame", "127")
    assert line.conditions.endswith("3 servers, sleep 30ms/40ms/50ms, at once")
    assert line.here[0][0][0].startswith("50")
    few = asked | {"response_p50_us": None, "gather_p50_us": None, "gather_mean_us": 50_400.0}
    (part,) = tables([run_of(few, scenario_name="fake-video")])
    (line,) = (line for line in part.lines if line.is_measured)
    assert line.here[0][0][0].startswith("50")
    (part,) = tables([run_of(few | {"gather_mean_us": None}, scenario_name="fake-video")])
    (line,) = (line for line in part.lines if line.is_measured)
    assert line.here[0][0][0] == "too few messages"


def test_a_pool_over_shared_memory_stands_beside_shared_memory_alone() -> None:
    works = {"work": "sleep:30ms/40ms/50ms", "rate_hz": None, "pace": "closed", "payload": "image:640x480"}
    kinds = {"shared_memory": 51_000.0, "pipe": 59_000.0}
    rows = [
        cell("queue", 51.0, language="python", pattern="scatter", placement="process", relays=0, sinks=3, **works)
        | {"settings": {"kind": kind}, "gather_mean_us": mean}
        for kind, mean in kinds.items()
    ]
    (part,) = tables([run_of(*rows, scenario_name="pool")])
    (line,) = (line for line in part.lines if line.is_measured)
    assert [told for told, _ in line.here[0]] == ["51,000\N{NARROW NO-BREAK SPACE}µs"]
