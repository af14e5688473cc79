"""Tables and figures of trials that measure one time each: their first message, or their recovery."""

from __future__ import annotations

from hopmeter.analysis.results.groups import Group, groups
from hopmeter.report.answers.comparison_sentences import lead_sentences
from hopmeter.report.drawing.charts import Style
from hopmeter.report.figures import latency_and_cpu
from hopmeter.report.tables import ranking
from tests.report.rows import cell, run_of


def _group(**conditions: str) -> Group:
    rows = [
        cell(name, p50, p50 - 1, p50 + 1, cpu_us_per_message=p50, times_floor=None, **conditions)
        for name, p50 in (("nats", 35.0), ("mqtt", 22.0))
    ]
    return groups([run_of(*rows)])[0]


def test_a_single_time_of_a_trial_has_no_floor_and_no_cpu_for_each_message() -> None:
    titles = {column.title for column in ranking.table(_group(restart="broker")).columns}
    assert {"p50, µs", "Status"} <= titles
    assert not {"Times floor", "CPU, µs", "p99, µs", "Lost"} & titles
    assert "Times floor" in {column.title for column in ranking.table(_group()).columns}


def test_only_latencies_of_many_messages_are_drawn_against_cpu() -> None:
    steady, started = _group(), _group(begin="at-once")
    assert latency_and_cpu.draw(steady, Style.of([steady.rows[0].run])) is not None
    assert latency_and_cpu.draw(started, Style.of([started.rows[0].run])) is None


def test_a_row_recovers_soonest() -> None:
    rows = [
        cell(
            name, 9.0, recovery_p50_us=p50, recovery_p50_low_us=p50 - 1, recovery_p50_high_us=p50 + 1, restart="broker"
        )
        for name, p50 in (("nats", 35.0), ("mqtt", 22.0))
    ]
    sentence = lead_sentences(groups([run_of(*rows)])[0])[0]
    assert "mqtt recovers soonest; nats is next" in sentence
