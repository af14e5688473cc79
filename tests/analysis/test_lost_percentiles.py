"""Lost messages count as slower than all received messages in tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.analysis.latency.percentiles import estimate, quantiles, state
from hopmeter.analysis.results.distributions import box, hop_percentiles, latency_over_time, percentile_curve
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Row, read
from hopmeter.cli.output.cell_listing import print_cell
from hopmeter.report.drawing.charts import Style
from hopmeter.report.figures import percentile_curves
from hopmeter.report.sections.group_section import section
from hopmeter.report.warnings.result_rules import warnings
from hopmeter.system.terminal import Console
from tests.analysis.made import MS, US, Rows, cell, keep, messages, run_of
from tests.report.rows import print_table

MANY = 2000
"""The number of messages in a trial; the messages' latencies cycle from 1 to 100 µs."""
HALF_PERCENT = range(100, MANY, 200)


def trial(lost: Sequence[int]) -> dict[int, Rows]:
    gone = set(lost)
    times = [{"seq": seq, "arrived": seq * MS + (1 + seq % 100) * US} for seq in range(MANY) if seq not in gone]
    return {0: messages(MANY), 1: times}


def measured_row(folder: Path, lost: Sequence[int], **changes: Any) -> Row:
    one = cell(transport="tcp", messages=MANY, trials=5, **changes)
    run = run_of(folder, one)
    keep(run, one, [trial(lost)] * 5)
    run.finish(analyse_run(run))
    (row,) = read(run.path).rows
    return row


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Row:
    return measured_row(tmp_path_factory.mktemp("lossy"), HALF_PERCENT)


def test_a_percentile_that_is_a_lost_message_is_called_lost(lossy: Row) -> None:
    assert [lossy[f"{name}_state"] for name in ("p50", "p90", "p99", "p999")] == ["known", "known", "known", "lost"]
    assert (lossy["response_p999_us"], lossy["response_lost"]) == (None, 50)


@pytest.mark.parametrize(
    ("arrived", "lost", "permille", "said"),
    [
        (20, 0, 500, "known"),
        (19, 0, 500, "few"),
        (0, 0, 500, "few"),
        (0, 30, 500, "lost"),
        (9990, 10, 999, "lost"),
        (9991, 9, 999, "known"),
        (124, 1, 990, "few"),
        (49, 1, 990, "lost"),
        (990, 10, 990, "lost"),
    ],
)
def test_more_messages_help_only_a_percentile_with_too_few(arrived: int, lost: int, permille: int, said: str) -> None:
    assert state(arrived, lost, permille) == said
    assert (quantiles(np.arange(arrived), [permille], lost) != [None]) == (said == "known")


def test_a_quantile_counts_lost_messages_as_later_than_all_others() -> None:
    values = np.arange(1.0, 81.0)
    assert estimate(values, (0.5,), 20) == estimate(np.arange(1.0, 101.0), (0.5,), 0)
    assert estimate(values, (0.5, 0.9), 20)[1] is None
    assert estimate(values[:0], (0.5,), 3) == [None]


def test_the_curve_agrees_with_the_table_and_ends_before_the_lost_share(lossy: Row) -> None:
    curve = percentile_curve(lossy)
    assert 0.99 < curve[-1][0] < 0.995
    shares, took = (np.array(each) for each in zip(*curve, strict=True))
    assert np.interp(0.99, shares, took) == pytest.approx(lossy.latency("p99"), rel=0.01)
    (group,) = groups([lossy.run])
    figure = percentile_curves.draw(group, Style.of([lossy.run]))
    assert figure and "a curve ends before their share" in figure.caption


def test_all_that_is_drawn_counts_lost_messages(tmp_path: Path) -> None:
    row = measured_row(tmp_path, range(0, MANY, 5))
    assert 0.75 < percentile_curve(row)[-1][0] < 0.8
    both = zip(latency_over_time(row), latency_over_time(measured_row(tmp_path / "whole", [])), strict=True)
    assert all((lossy.p50_us or 0.0) > (whole.p50_us or 0.0) for lossy, whole in both)
    assert box(np.arange(1.0, 71.0), 30) is None
    known = box(np.arange(1.0, 81.0), 20)
    assert known and known.p50 == pytest.approx(50.5)


def test_a_stretch_that_lost_half_of_its_messages_is_a_gap(tmp_path: Path) -> None:
    courses = latency_over_time(measured_row(tmp_path, range(500, 900)))
    gaps = [each.at_s for each in courses if each.p50_us is None]
    assert gaps and all(0.45 < at < 0.95 for at in gaps)


def test_a_hop_counts_the_messages_that_it_lost(tmp_path: Path) -> None:
    one = cell(transport="tcp", messages=MANY, trials=1, relays=1)
    gone = set(range(0, MANY, 4))
    relay = [{"seq": seq, "arrived": seq * MS + 10 * US, "forwarded": seq * MS + 11 * US} for seq in range(MANY)]
    sink = [{"seq": seq, "arrived": seq * MS + (12 + seq % 100) * US} for seq in range(MANY) if seq not in gone]
    run = run_of(tmp_path, one)
    keep(run, one, [{0: messages(MANY), 1: relay, 2: sink}])
    run.finish(analyse_run(run))
    hops = hop_percentiles(read(run.path).rows[0])
    assert [hop for hop, *_ in hops] == [1], "p90 of the second hop is a lost message"


def test_each_sink_counts_the_messages_that_did_not_reach_it(tmp_path: Path) -> None:
    one = cell(transport="tcp", messages=MANY, trials=1, sinks=2)
    run = run_of(tmp_path, one)
    sinks = {1: trial([])[1], 2: trial(range(0, MANY, 50))[1]}
    keep(run, one, [{0: messages(MANY), **sinks}])
    (values,) = analyse_run(run)
    assert [us is None for us in values["sinks_service_p99_us"]] == [False, True]


def test_table_page_and_warning_say_lost_and_not_too_few(lossy: Row) -> None:
    (group,) = groups([lossy.run])
    (body,) = section(group, []).tables[0].bodies
    texts = [str(value.text) for value in body.lines[0].values]
    assert "lost" in texts and "too few" not in texts
    known = {each.code: each for each in warnings([lossy.run])}
    assert "W-UNRESOLVED" not in known
    assert "of its messages never arrived, so p99.9 has no value" in known["W-PERCENTILE-LOST"].text


def test_the_terminal_calls_a_lost_percentile_lost(tmp_path: Path) -> None:
    row = measured_row(tmp_path, range(0, MANY, 80))
    row.values["status"] = "ok"
    said = print_table(row.run)
    assert "lost: so many messages were lost that this percentile has no value" in " ".join(said.split())
    console = Console(width=200)
    with console.capture() as captured:
        print_cell(console, row)
    assert "p99 lost, p999 lost" in captured.get()


def test_no_number_of_rounds_gives_a_lost_percentile_a_time(tmp_path: Path) -> None:
    row = measured_row(tmp_path, range(0, MANY, 10))
    assert (row["p99_state"], row["p99_rounds"]) == ("lost", None)
