"""Tests for the reaction time and data age of paths (defined in docs/workloads.md) with hand-made causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.analysis.latency.paths import path_times
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.model.workload import Flow, Participant, Workload
from hopmeter.model.workload import Path as FlowPath
from hopmeter.plan.workloads.workload_cells import rows_of
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import NONE_NS
from tests.analysis.made import MS, Rows, cell, run_of
from tests.store.causes import Cause, write_causes_of
from tests.store.raw import write_raw

FRAMES, FRAMES_SINK, OBJECTS, OBJECTS_SINK, ORDERS, ORDERS_SINK = range(6)
DEADLINE_S = 0.010


def flow(number: int, name: str, source: str, target: str, **given: Any) -> Flow:
    return Flow(number, "bytes:8", 8, name, source, (target,), messages=6, **given)


WORKLOAD = Workload(
    tuple(Participant(name, "rust", "block") for name in "abc"),
    (
        flow(0, "frames", "a", "b", rate_hz=100.0, deadline_s=0.002),
        flow(1, "objects", "b", "c", after=("frames",)),
        flow(2, "orders", "c", "a", after=("objects",)),
    ),
    (FlowPath("reaction", ("frames", "objects", "orders"), DEADLINE_S), FlowPath("short", ("frames", "objects"))),
)
WORKLOADS_CELL = cell(workload=WORKLOAD, payload="workload", rate_hz=None)
Causes = Mapping[int, Sequence[Cause]]


def sent_times(times_ms: Sequence[float]) -> Rows:
    return [{"seq": seq, "due": round(at * MS), "sent": round(at * MS)} for seq, at in enumerate(times_ms)]


def arrival_times(times_ms: Mapping[int, float]) -> Rows:
    return [{"seq": seq, "arrived": round(at * MS)} for seq, at in times_ms.items()]


def analyse(
    folder: Path, trial: Mapping[int, Rows], causes: Causes, one: Cell = WORKLOADS_CELL
) -> dict[str, dict[str, Any]]:
    """Return the rows of the flows and paths of a run with one trial, by name."""
    run = run_of(folder, one)
    files = [write_raw(run.path / f"{end}.raw", end, rows) for end, rows in trial.items()]
    written = [write_causes_of(run.path / f"{end}.raw", end, rows) for end, rows in causes.items()]
    run.add_trial(TrialResult(one.id, 0, good=True), files)
    for path in (*files, *written):
        path.unlink()
    return {row["flow"] or row["path"]: row for row in analyse_run(run)}


def times(folder: Path, name: str, one: Cell = WORKLOADS_CELL) -> tuple[list[float | None], list[float]]:
    (samples,) = [path for path in folder.rglob("samples/*.parquet") if "causes" not in path.name]
    (row,) = [each for each in rows_of(one) if each.path == name]
    found = path_times(row, samples)
    effects = zip(found.effect.tolist(), found.due.tolist(), strict=True)
    reactions = [None if effect == NONE_NS else (effect - due) / MS for effect, due in effects]
    return reactions, [age / MS for age in found.data_age.tolist()]


FRAMES_SENT = sent_times([0, 10, 20, 30])
ALL = {
    FRAMES: FRAMES_SENT,
    FRAMES_SINK: arrival_times({0: 1, 1: 11, 2: 21, 3: 31}),
    OBJECTS: sent_times([2, 12, 22, 32]),
    OBJECTS_SINK: arrival_times({0: 3, 1: 13, 2: 23, 3: 33}),
    ORDERS: sent_times([4, 14, 24, 34]),
    ORDERS_SINK: arrival_times({0: 5, 1: 15, 2: 25, 3: 36}),
}
EACH = {
    OBJECTS: [(seq, FRAMES_SINK, seq) for seq in range(4)],
    ORDERS: [(seq, OBJECTS_SINK, seq) for seq in range(4)],
}


def test_each_message_with_an_effect_of_its_own(tmp_path: Path) -> None:
    rows = analyse(tmp_path, ALL, EACH)
    assert times(tmp_path, "reaction") == ([5, 5, 5, 6], [5, 5, 5, 6])
    row = rows["reaction"]
    assert (row["received"], row["lost"], row["missed"], row["deadline_us"]) == (4, 0, 0, 10_000)
    assert (row["reaction_max_us"], row["data_age_max_us"]) == (6000, 6000)
    assert times(tmp_path, "short") == ([3, 3, 3, 3], [3, 3, 3, 3])
    assert rows["short"]["missed"] is None


def test_a_decimated_message_has_its_effect_with_the_next_that_has_one(tmp_path: Path) -> None:
    trial = ALL | {
        OBJECTS: sent_times([12, 32]),
        OBJECTS_SINK: arrival_times({0: 13, 1: 33}),
        ORDERS: sent_times([14, 34]),
        ORDERS_SINK: arrival_times({0: 15, 1: 35}),
    }
    causes = {OBJECTS: [(0, FRAMES_SINK, 1), (1, FRAMES_SINK, 3)], ORDERS: [(0, OBJECTS_SINK, 0), (1, OBJECTS_SINK, 1)]}
    rows = analyse(tmp_path, trial, causes)
    assert times(tmp_path, "reaction") == ([15, 5, 15, 5], [5, 5])
    assert (rows["reaction"]["missed"], rows["reaction"]["missed_in_a_row"], rows["reaction"]["lost"]) == (2, 1, 0)


def test_a_lost_trigger_is_a_miss_unless_a_newer_one_has_an_effect(tmp_path: Path) -> None:
    trial = ALL | {ORDERS_SINK: arrival_times({0: 5, 2: 25})}
    row = analyse(tmp_path, trial, EACH)["reaction"]
    assert times(tmp_path, "reaction") == ([5, 15, 5, None], [5, 5])
    assert (row["received"], row["lost"], row["missed"], row["missed_in_a_row"]) == (3, 1, 2, 1)


def test_the_first_of_several_effects_counts_and_each_has_an_age(tmp_path: Path) -> None:
    trial = ALL | {ORDERS: sent_times([4, 8, 14, 18]), ORDERS_SINK: arrival_times({0: 5, 1: 9, 2: 15, 3: 19})}
    causes = EACH | {ORDERS: [(0, OBJECTS_SINK, 0), (1, OBJECTS_SINK, 0), (2, OBJECTS_SINK, 1), (3, OBJECTS_SINK, 1)]}
    row = analyse(tmp_path, trial, causes)["reaction"]
    assert times(tmp_path, "reaction") == ([5, 5, None, None], [5, 9, 5, 9])
    assert (row["missed"], row["missed_in_a_row"]) == (2, 2)


def test_an_effect_that_overtakes_an_older_one_serves_older_messages_too(tmp_path: Path) -> None:
    trial = ALL | {ORDERS_SINK: arrival_times({1: 14.5, 0: 16, 2: 25, 3: 35})}
    analyse(tmp_path, trial, EACH)
    assert times(tmp_path, "reaction") == ([14.5, 4.5, 5, 5], [16, 4.5, 5, 5])


@pytest.mark.parametrize("missing", [OBJECTS, ORDERS])
def test_a_broken_chain_has_no_effect(tmp_path: Path, missing: int) -> None:
    causes = {end: [] if end == missing else rows for end, rows in EACH.items()}
    row = analyse(tmp_path, ALL, causes)["reaction"]
    assert times(tmp_path, "reaction") == ([None] * 4, [])
    assert (row["received"], row["lost"], row["missed"], row["missed_in_a_row"]) == (0, 4, 4, 4)
    assert row["status"] == "ok" and row["reaction_p50_us"] is None and row["median_us"] is None


def test_a_message_whose_cause_is_a_warm_up_message_has_no_age(tmp_path: Path) -> None:
    causes = EACH | {OBJECTS: [(seq, FRAMES_SINK, seq) for seq in range(1, 4)]}
    analyse(tmp_path, ALL, causes)
    assert times(tmp_path, "reaction") == ([15, 5, 5, 6], [5, 5, 6])


def test_a_message_after_the_last_look_but_one_of_a_flow_with_latest_does_not_count(tmp_path: Path) -> None:
    looking = replace(WORKLOAD.flow("orders"), after=(), latest="objects", rate_hz=50.0)
    one = WORKLOADS_CELL.with_values(workload=replace(WORKLOAD, flows=(*WORKLOAD.flows[:2], looking)))
    trial = ALL | {ORDERS: sent_times([4, 24, 28]), ORDERS_SINK: arrival_times({0: 5, 1: 25, 2: 29})}
    causes = EACH | {ORDERS: [(0, OBJECTS_SINK, 0), (1, OBJECTS_SINK, 2), (2, OBJECTS_SINK, 2)]}
    row = analyse(tmp_path, trial, causes, one)["reaction"]
    assert times(tmp_path, "reaction", one) == ([5, 15, 5], [5, 5, 9])
    assert (row["received"], row["lost"], row["missed"]) == (3, 0, 1), "the frame at 30 ms came after the last looks"


def test_damaged_causes_are_reported_in_the_row(tmp_path: Path) -> None:
    analyse(tmp_path, ALL, EACH)
    (causes,) = tmp_path.rglob("samples/*.causes.parquet")
    causes.write_bytes(b"damaged")
    rows = {row["flow"] or row["path"]: row for row in analyse_run(RunFolder.open(causes.parent.parent))}
    assert rows["reaction"]["status"] == "failed" and rows["reaction"]["reason_code"] == "E-SAMPLES-DAMAGED"
    assert rows["frames"]["status"] != "failed"


def test_the_row_of_the_whole_has_the_misses_of_all_parts(tmp_path: Path) -> None:
    trial = ALL | {FRAMES_SINK: arrival_times({0: 1, 1: 14, 2: 24, 3: 31})}
    rows = analyse(tmp_path, trial, EACH)
    assert (rows["frames"]["missed"], rows["frames"]["missed_in_a_row"]) == (2, 2)
    assert (rows["reaction"]["missed"], rows[""]["missed_part"]) == (0, "frames")
    assert (rows[""]["missed"], rows[""]["missed_share"], rows[""]["missed_in_a_row"]) == (2, 0.25, 2), (
        "of all eight deadlines"
    )
    assert rows[""]["received"] == 12
