"""Tests for parallel servers and concurrent pairs: the servers' rows, the excess over the ideal, and the total
throughput."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import answer
from hopmeter.report.drawing.charts import Figure, Style, ticks
from hopmeter.report.figures import pair_throughput, scatter_overhead, server_by_server
from tests.report.rows import cell, run_of


def gather_values(transport: str, over: float, **more: Any) -> dict[str, Any]:
    replies = [over + 1000 * ms for ms in (30, 40, 50)]
    told = {
        "servers_roundtrip_p50_us": replies,
        "servers_roundtrip_p99_us": [None, None, replies[2] + 900],
        "servers_held_p50_us": [30_050.0, 40_050.0, 50_050.0],
        "servers_last_share": [0.0, 0.02, 0.98],
        "gather_p50_us": replies[2] + 5,
        "ideal_us": 50_000.0,
        "overhead_p50_us": over,
        "excess_p50_us": over + 55,
    }
    return cell(transport, replies[2], **{"pattern": "scatter", "sinks": 3, **told, **more})


def draw(module: Any, run: Run) -> Figure:
    (group,) = groups([run])
    figure = module.draw(group, Style.of([run]))
    assert figure is not None
    return figure


def values(figure: Figure) -> list[dict[str, Any]]:
    whole = figure.chart.to_dict()
    parts = [whole.get("data", {}).get("values", []), *whole.get("datasets", {}).values()]
    parts += [layer.get("data", {}).get("values", []) for layer in whole["layer"]]
    return list({str(row): row for part in parts for row in part}.values())


def test_each_server_has_a_line_and_the_straggler_its_share() -> None:
    figure = draw(server_by_server, run_of(gather_values("shm", 80), gather_values("zeromq", 300)))
    assert "shm: server 1 30" in figure.alternative
    assert "server 3, last 98\N{NARROW NO-BREAK SPACE}% 50" in figure.alternative
    lines = [row for row in values(figure) if "who" in row]
    assert [row["who"][:8] for row in lines] == ["server 1", "server 2", "server 3", "all"] * 2
    assert [row["ring"] for row in lines[:4]] == [30_050, 40_050, 50_050, 50_000]


def test_the_name_of_each_of_several_rows_stands_above_its_servers() -> None:
    figure = draw(server_by_server, run_of(gather_values("shm", 80), gather_values("zeromq", 300)))
    assert [row["place"] for row in values(figure) if "who" in row] == [1, 2, 3, 4, 6.5, 7.5, 8.5, 9.5]
    chart = json.dumps(figure.chart.to_dict()).replace("\\", "")
    assert '"0.00": "shm"' in chart and '"5.50": "zeromq"' in chart and '"6.50": "server 1"' in chart
    alone = draw(server_by_server, run_of(gather_values("shm", 80)))
    assert [row["place"] for row in values(alone) if "who" in row] == [0, 1, 2, 3]


def test_the_answer_says_how_much_more_than_the_work_a_message_takes() -> None:
    slow = {"dispatch": "sequential", "ideal_us": 120_000.0, "work": "sleep:30ms/40ms/50ms"}
    rows = [gather_values("shm", 80, **slow), gather_values("zeromq", 300, work="sleep:30ms/40ms/50ms")]
    run = run_of(*rows, gather_values("shm", 90, work="sleep:30ms/40ms/50ms", ranked=False))
    said = answer([run], groups([run]))
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert said[0] == (
        f"Median time beyond 50.0{thin}ms of work, with all servers called at once: shm 145{thin}µs, zeromq "
        f"355{thin}µs."
    )
    assert (
        said[1]
        == f"Median time beyond 120{thin}ms of work, with the servers called one after another: shm 135{thin}µs."
    )


def test_short_work_comes_before_long_work() -> None:
    works = ("sleep:300ms/400ms/500ms", "sleep:3s/4s/5s", "sleep:30ms/40ms/50ms")
    run = run_of(*(gather_values("shm", 80, work=work) for work in works))
    assert [group.conditions["work"] for group in groups([run])] == [works[2], works[0], works[1]]


def test_servers_called_one_by_one_have_no_straggler() -> None:
    figure = draw(server_by_server, run_of(gather_values("shm", 80, servers_last_share=None)))
    assert "last" not in figure.alternative


def test_what_is_above_the_ideal_is_a_figure_of_its_own() -> None:
    figure = draw(scatter_overhead, run_of(gather_values("shm", 80), gather_values("zeromq", 300)))
    assert [(row["p50"], row["ring"]) for row in values(figure)] == [(80, 135), (300, 355)]


@pytest.mark.parametrize("module", [server_by_server, scatter_overhead])
def test_other_patterns_have_neither(module: Any) -> None:
    run = run_of(cell("shm", 10, 9, 11))
    (group,) = groups([run])
    assert module.draw(group, Style.of([run])) is None


def pairs(about: dict[str, Any], *numbers: int) -> list[Figure]:
    rows = [cell("tcp", 10, 9, 11, pattern="rpc", pairs=number, achieved_mb_s=400.0 * number) for number in numbers]
    run = run_of(*rows, **about)
    return list(pair_throughput.across(groups([run]), Style.of([run])))


def test_pairs_at_once_stand_beside_what_one_core_copies() -> None:
    (figure,) = pairs({"instrument": {"copy_bytes_per_ns": 8.0}}, 1, 2, 3)
    found = values(figure)
    assert {(row["pairs"], row["mb_s"]) for row in found if "pairs" in row} == {(1, 400), (2, 800), (3, 1200)}
    assert [row["mb_s"] for row in found if "name" in row] == [8000]
    assert "3 pairs: 1,200 MB/s, 0.150× the copy speed of one core" in figure.alternative


def test_a_machine_that_measured_no_copying_has_no_line_for_it() -> None:
    (figure,) = pairs({}, 1, 3)
    assert not [row for row in values(figure) if "name" in row]
    assert "copies" not in figure.alternative


def test_one_number_of_pairs_is_no_comparison() -> None:
    assert pairs({}, 3) == []


@pytest.mark.parametrize(("low", "high"), [(95.0, 390.0), (101.0, 180.0), (0.9, 1.1), (1.0, 1e6)])
def test_ticks_do_not_crowd_on_a_logarithmic_axis(low: float, high: float) -> None:
    found = ticks(low, high, 6)
    assert found
    room = (high / low) ** (1 / 8)
    assert all(later / earlier > room for earlier, later in pairwise(found))
