"""Tests for ranks and ratios that are computed from rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hopmeter.analysis.ranking.rounds import TableRanking, rank_tables
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.row_order import compare, faster, ranks
from hopmeter.analysis.results.run_results import read
from hopmeter.cli.parts.application import app, register_all
from hopmeter.model.cell import Cell
from tests import cells
from tests.report import fixture
from tests.report.fixture import Made

MADE = (
    Made("shm", us=10.0, spread=0.02),
    Made("unix", us=10.1, spread=0.02),
    Made("zenoh", us=30.0, spread=0.02),
    Made("tcp", us=20.0, spread=0.02, ranked=False),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixture.build(tmp_path_factory.mktemp("rounds") / "run", MADE, trials=8, messages=200)


def trial(cell: str, number: int, us: float | None, **more: Any) -> dict[str, Any]:
    return {"cell": cell, "trial": number, "good": True, "order": number, "median_us": us, "round": number, **more}


def trials_of(levels: dict[str, float], rounds: int, noise: float = 0.01, seed: int = 3) -> list[dict[str, Any]]:
    """Return trials whose level drifts by up to a half between rounds, with random noise of size `noise`."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(rounds):
        drift = 1 + 0.5 * draw.random()
        found += [trial(name, number, us * drift * draw.lognormal(0, noise)) for name, us in levels.items()]
    return found


def ranking_of(levels: dict[str, float], rounds: int = 8, looks: Any = None, **planned: Any) -> TableRanking:
    made = [cells.cell(id=name, transport=name, **planned.get(name, {})) for name in levels]
    return rank(made, trials_of(levels, rounds), looks)


def rank(made: list[Cell], trials: list[dict[str, Any]], looks: Any = None, until: str | None = None) -> TableRanking:
    rows = {cell.id: {"status": "ok"} for cell in made}
    (found,) = rank_tables(made, rows, trials, {made[0].group: looks} if looks else {}, until).values()
    return found


def test_drift_of_the_machine_cancels_within_rounds() -> None:
    found = ranking_of({"a": 10.0, "b": 11.0, "c": 11.0})
    assert found.ranking.ranks == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}
    one = found.compare("a", "b")
    assert one and one.decided and one.low and one.high and 1.05 < one.low < 1.1 < one.high < 1.15
    other = found.compare("b", "a")
    assert other and other.ratio and one.ratio and other.ratio == pytest.approx(1 / one.ratio)
    assert other.low == pytest.approx(1 / one.high) and other.decided
    assert found.is_faster("a", "c") and not found.is_faster("b", "c") and not found.is_faster("c", "a")


def test_two_rounds_decide_nothing_and_have_no_interval() -> None:
    found = ranking_of({"a": 10.0, "b": 90.0}, rounds=2)
    assert found.columns("a")["rank_high"] == 2
    assert found.columns("b")["ratio_to_best"] == pytest.approx(9, rel=0.1)
    assert found.columns("b")["ratio_to_best_low"] is None


def noisy_end(levels: dict[str, float]) -> list[dict[str, Any]]:
    """Return five quiet rounds, followed by seven noisy rounds."""
    later = trials_of(levels, 12, noise=0.3, seed=4)
    return trials_of(levels, 5) + [each for each in later if each["round"] >= 5]


def test_what_an_earlier_look_decided_stays_decided_with_its_interval() -> None:
    levels = {"a": 10.0, "b": 11.0}
    made = [cells.cell(id=name, transport=name) for name in levels]
    trials = noisy_end(levels)
    first, last = {"rounds": 5, "last_round": 4, "alpha": 0.01}, {"rounds": 12, "last_round": 11, "alpha": 0.04}
    alone, early = rank(made, trials), rank(made, trials[:10])
    found = rank(made, trials, [first, last])
    one, other = found.compare("a", "b"), alone.compare("a", "b")
    assert one and other and not other.decided and other.low and other.low < 1
    assert one.decided and one.stopped_early and one.low and one.low > 1
    assert found.ranking.ranks == {"a": (1, 1), "b": (2, 2)} and found.columns("b")["stopped_early"]
    assert one.ratio == pytest.approx(found.columns("b")["median_us"] / found.columns("a")["median_us"])
    at_look = early.compare("a", "b")
    assert at_look and at_look.high and one.high and one.high > at_look.high, "a look has less than 5 %"
    without_last_round = [{"rounds": 5, "alpha": 0.01}, {"rounds": 12, "alpha": 0.04}]
    assert rank(made, trials, without_last_round).compare("a", "b") == one


def test_looks_that_asked_for_the_best_are_repeated_so() -> None:
    levels = {"a": 10.0, "b": 11.0, "c": 11.3}
    made = [cells.cell(id=name, transport=name) for name in levels]
    looks = [{"rounds": 5, "last_round": 4, "alpha": 0.01}, {"rounds": 12, "last_round": 11, "alpha": 0.04}]
    order, best = (rank(made, noisy_end(levels), looks, until) for until in ("order", "best"))
    assert order.is_faster("a", "b") and best.is_faster("a", "b")
    assert order.is_faster("b", "c") and not best.is_faster("b", "c")


def test_an_interrupted_run_ranks_the_rounds_that_no_look_has_seen() -> None:
    looks = [{"rounds": 5, "alpha": 1e-12, "decided": [], "open": [["a", "b"]], "cells": ["a", "b"]}]
    levels = {"a": 10.0, "b": 10.3}
    assert ranking_of(levels, rounds=5, looks=looks).ranking.ranks == {"a": (1, 2), "b": (1, 2)}
    assert ranking_of(levels, rounds=8, looks=looks).ranking.ranks == {"a": (1, 1), "b": (2, 2)}


REFERENCE = {"installable": False}


def test_references_have_a_ratio_to_the_best_choice_and_no_rank() -> None:
    found = ranking_of({"shm": 4.0, "a": 10.0, "b": 11.0, "tcp": 20.0}, shm=REFERENCE, tcp=REFERENCE)
    assert found.ranking.ranks == {"a": (1, 1), "b": (2, 2)}
    shm, best, tcp = (found.columns(name) for name in ("shm", "a", "tcp"))
    assert shm["rank_low"] is shm["rank_high"] is None and shm["rounds"] == 8
    assert shm["ratio_to_best"] == pytest.approx(shm["median_us"] / best["median_us"]) == pytest.approx(0.4, rel=0.02)
    assert shm["ratio_to_best_low"] < shm["ratio_to_best"] < shm["ratio_to_best_high"] < 1
    assert best["ratio_to_best"] == 1 and tcp["ratio_to_best_low"] > 1.9
    assert [each.family for each in found.comparisons].count("choices") == 1


@pytest.mark.parametrize("unranked", [{"ranked": False}, REFERENCE])
def test_one_library_and_its_floor_have_one_ratio(unranked: dict[str, Any]) -> None:
    more = {"a": {"floor": "shm"}, "shm": {**unranked, "floor": "shm"}, "unix": {**REFERENCE, "floor": "shm"}}
    found = ranking_of({"shm": 4.0, "a": 10.0, "unix": 6.0, "tcp": 8.0}, tcp=REFERENCE, **more)
    library, floor = found.columns("a"), found.columns("shm")
    assert library["ratio_to_best"] == 1 and (library["rank_low"], library["rank_high"]) == (1, 1)
    assert library["times_floor"] == pytest.approx(1 / floor["ratio_to_best"])
    assert library["times_floor"] == pytest.approx(library["median_us"] / floor["median_us"])
    assert library["times_floor_low"] == pytest.approx(1 / floor["ratio_to_best_high"])
    assert floor["times_floor"] == 1


def test_references_alone_are_ranked_among_themselves_but_not_an_added_floor() -> None:
    found = ranking_of({"shm": 4.0, "unix": 6.0, "tcp": 8.0}, shm={"ranked": False}, unix=REFERENCE, tcp=REFERENCE)
    assert found.ranking.ranks == {"unix": (1, 1), "tcp": (2, 2)}
    assert found.columns("shm")["ratio_to_best"] == pytest.approx(4 / 6, rel=0.02)
    nothing = ranking_of({"synthetic": 4.0, "memory": 2.0}, synthetic={"ranked": False}, memory={"ranked": False})
    assert nothing.columns("synthetic")["rank_low"] is None and nothing.columns("memory")["ratio_to_best"] is None


def tables(trials: list[dict[str, Any]]) -> dict[str, TableRanking]:
    planned = [cells.cell(id=name, transport=name) for name in "ab"]
    return rank_tables(planned, {name: {"status": "ok"} for name in "ab"}, trials, {})


def test_a_run_without_rounds_is_ranked_by_trials_only_if_its_cells_alternated() -> None:
    turns = [
        trial(name, number, 10.0 + number + at, order=2 * number + at, round=None)
        for number in range(4)
        for at, name in enumerate("ab")
    ]
    (found,) = tables(turns).values()
    assert found.ranking.rounds == {"a": 4, "b": 4}
    sequential = [{**each, "order": 10 * "ab".index(each["cell"]) + each["trial"]} for each in turns]
    assert tables(sequential) == {}


def test_a_bad_trial_and_one_without_messages_count_for_nothing() -> None:
    trials = [trial(name, number, 10.0) for number in range(5) for name in "ab"]
    trials[0]["good"], trials[3]["median_us"] = False, None
    (found,) = tables(trials).values()
    assert found.ranking.rounds == {"a": 4, "b": 4}


def test_a_saturated_cell_is_not_compared() -> None:
    planned: list[Cell] = [cells.cell(id=name, transport=name) for name in "abc"]
    rows = {"a": {"status": "ok"}, "b": {"status": "ok"}, "c": {"status": "saturated"}}
    trials = [trial(name, number, 10.0 + number) for number in range(4) for name in "abc"]
    (found,) = rank_tables(planned, rows, trials, {}).values()
    assert set(found.ranking.cells) == {"a", "b"}


def test_a_floor_that_is_not_ranked_has_the_level_of_its_rounds() -> None:
    planned = [
        cells.cell(id="floor", transport="floor", ranked=False),
        cells.cell(id="a", transport="a", floor="floor"),
        cells.cell(id="b", transport="b", floor="floor"),
    ]
    trials = [
        trial(name, number, us + number / 10) for number in range(8) for name, us in (("floor", 5), ("a", 9), ("b", 8))
    ]
    (found,) = rank_tables(planned, {each.id: {"status": "ok"} for each in planned}, trials, {}).values()
    assert found.columns("floor")["rank_low"] is None and found.columns("floor")["ratio_to_best"] < 1
    assert 5 < found.columns("floor")["median_low_us"] < found.columns("floor")["median_us"] < 5.7


def test_the_columns_of_a_run_are_those_of_its_rounds(run: Path) -> None:
    found = read(run)
    rows = {row["transport"]: row for row in found.rows}
    assert rows["zenoh"]["rank_low"] == rows["zenoh"]["rank_high"] == 3
    assert rows["shm"]["rank_low"] == 1 and rows["unix"]["rank_high"] == 2
    assert rows["tcp"]["rank_low"] is None, "it is not ranked"
    low, ratio, high = (rows["zenoh"][f"ratio_to_best{end}"] for end in ("_low", "", "_high"))
    assert low < ratio < high and ratio == pytest.approx(3, rel=0.1)
    assert {row["rounds"] for row in rows.values()} == {8}
    assert rows["zenoh"]["times_floor_low"] < rows["zenoh"]["times_floor"] < rows["zenoh"]["times_floor_high"]
    assert rows["tcp"]["times_floor"] == pytest.approx(2, rel=0.1) and rows["tcp"]["times_floor_low"] > 1.5
    assert rows["shm"]["times_floor"] == rows["shm"]["times_floor_high"] == 1
    assert rows["zenoh"]["times_floor"] == pytest.approx(
        rows["zenoh"]["median_us"] / rows["zenoh"]["floor_us"], rel=1e-3
    )


def test_table_columns_and_pairs_say_the_same(run: Path) -> None:
    found = read(run)
    (group,) = groups([found])
    texts = {rank.row["transport"]: (rank.best, rank.worst) for rank in ranks(group)}
    assert texts == {row["transport"]: (row["rank_low"], row["rank_high"]) for row in group.ranked_rows}
    keys = {"group", "a", "b", "ratio", "low", "high", "decided", "family", "stopped_early"}
    register_all()
    ended = CliRunner().invoke(app, ["show", str(run), "--pairs", "--json"])
    pairs = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [set(pair) for pair in pairs] == [keys] * 6
    assert sorted(pair["family"] for pair in pairs) == ["choices"] * 3 + ["references"] * 3
    rows = {row.id: row for row in found.rows}
    for pair in pairs:
        assert pair["group"] == rows[pair["a"]].cell.group
        assert pair["ratio"] == pytest.approx(rows[pair["b"]]["median_us"] / rows[pair["a"]]["median_us"], rel=1e-3)
        assert pair["decided"] == (pair["low"] > 1 or pair["high"] < 1)
        assert pair["decided"] == faster(rows[pair["a"]], rows[pair["b"]])


def test_a_run_whose_references_had_ranks_is_ranked_again(tmp_path: Path) -> None:
    made = [Made("shm", us=10.0, spread=0.02, installable=False), *(MADE[each] for each in (1, 2))]
    stored = fixture.build(tmp_path / "run", made, trials=8, messages=200) / "cells.parquet"
    new = pl.read_parquet(stored)
    ranked = {"shm": (1, 1, 1.0), "unix": (2, 2, 1.01), "zenoh": (3, 3, 3.0)}
    old = [
        {**row, **dict(zip(("rank_low", "rank_high", "ratio_to_best"), ranked[row["transport"]], strict=True))}
        for row in new.drop("stopped_early").to_dicts()
    ]
    pl.DataFrame(old, schema=new.drop("stopped_early").schema).write_parquet(stored)
    rows = {row["transport"]: row for row in read(tmp_path / "run").rows}
    assert rows["shm"]["rank_low"] is None and rows["unix"]["rank_low"] == 1 == rows["unix"]["ratio_to_best"]
    assert rows["zenoh"]["rank_high"] == 2 and rows["shm"]["ratio_to_best"] < 1
    without_trials = {row["transport"]: row for row in read(tmp_path / "run", trials=False).rows}
    assert without_trials["shm"]["rank_low"] == 1


def test_rows_of_two_runs_are_compared_by_their_intervals(run: Path) -> None:
    one, other = ({row["transport"]: row for row in read(run).rows} for _ in range(2))
    assert compare(one["shm"], other["zenoh"]) is None
    assert faster(one["shm"], other["zenoh"]) and not faster(one["shm"], other["unix"])
