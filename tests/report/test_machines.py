"""A report on several machines ranks the rows of each machine separately, and marks rows whose rank differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.results import machine_names, machine_order
from hopmeter.analysis.results.distributions import Box
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report import write
from hopmeter.report.sections import environment, machine_table
from hopmeter.report.studies.judging import same_order
from hopmeter.report.words import codec_rows
from hopmeter.report.words.conditions import title
from tests.report import fixture
from tests.report.rows import cell, run_of


def marks(found: machine_order.Comparison) -> dict[str, str]:
    return {name: machine_table.mark(name, found.flips) for name in found.rows[0]}


def on(model: str, around: float = 0.02, machine: dict[str, Any] | None = None, **p50s: float) -> Run:
    rows = (cell(name, p50, p50 * (1 - around), p50 * (1 + around)) for name, p50 in p50s.items())
    return run_of(*rows, machine={"cpu_model": model, "kernel": "6.1.0", **(machine or {})}, scenario_name=model)


def compare(*runs: Run) -> machine_order.Comparison:
    (found,) = machine_order.compare_machines(groups(runs))
    return found


def test_each_host_of_a_run_has_its_facts() -> None:
    far = {"here": False, "address": "10.0.0.2", "name": "jetson", "hopmeter": "1", "round_trip_us": 120.0}
    machine_names = {"robot": {"here": True, "address": "10.0.0.1"}, "arm": {**far, "machine": {"cpu_model": "Cortex"}}}
    parts = {part.title: dict(part.terms) for part in environment.section([run_of(hosts=machine_names)]).parts}
    assert parts["Host robot"]["Address"] == "10.0.0.1"
    assert parts["Host arm"]["Processor"] == "Cortex" and parts["Host arm"]["Fastest round trip"].startswith("120")


HERE = {"shm": 10.0, "unix": 20.0, "tcp": 30.0, "zenoh": 60.0}


def test_the_same_order_is_a_correlation_of_one() -> None:
    found = compare(on("A", **HERE), on("B", **{name: 3 * p50 for name, p50 in HERE.items()}))
    (one,) = found.correlations
    assert (one.first, one.second, one.rows) == ("A", "B", 4)
    assert (one.spearman, one.kendall) == (pytest.approx(1), pytest.approx(1))
    assert found.flips == []
    assert set(marks(found).values()) == {""}


def test_a_ranking_that_flips_is_marked_on_both_rows() -> None:
    found = compare(on("A", **HERE), on("B", **(HERE | {"unix": 40.0})))
    (flip,) = found.flips
    assert (flip.one, flip.other, flip.significant) == ("unix (Rust)", "tcp (Rust)", True)
    assert marks(found)["unix (Rust)"] == "flips with tcp (Rust)"
    assert marks(found)["tcp (Rust)"] == "flips with unix (Rust)"
    assert marks(found)["shm (Rust)"] == ""
    (one,) = found.correlations
    assert one.spearman == pytest.approx(0.8)
    assert one.kendall == pytest.approx(2 / 3)
    assert "unix (Rust) is faster than tcp (Rust) on A, and slower on B." in machine_table.summary(found)


def test_a_flip_of_overlapping_intervals_may_be_chance() -> None:
    found = compare(on("A", 0.4, **HERE), on("B", 0.4, **(HERE | {"unix": 40.0})))
    assert [flip.significant for flip in found.flips] == [False]
    assert marks(found)["unix (Rust)"] == "may flip with tcp (Rust)"
    assert len(machine_table.summary(found)) == 1


def test_machines_share_no_ranking() -> None:
    found = groups([on("A", shm=10.0, unix=20.0), on("B", shm=30.0, unix=50.0)])
    assert [(group.machine, len(group.rows)) for group in found] == [("A", 2), ("B", 2)]
    assert title(found[0]).endswith(", A")


def test_runs_of_one_machine_are_one_group() -> None:
    (group,) = groups([on("A", shm=10.0), on("A", unix=20.0)])
    assert group.machine == ""
    assert "A" not in title(group)


def test_a_name_tells_machines_apart() -> None:
    kernels = [on("A", shm=1.0), on("A", shm=1.0, machine={"kernel": "6.9.0"})]
    assert list(machine_names.names(kernels).values()) == ["A (kernel 6.1.0)", "A (kernel 6.9.0)"]
    inside = [on("A", shm=1.0, machine={"container": name}) for name in ("none", "docker")]
    assert list(machine_names.names(inside).values()) == ["A (container: none)", "A (container: docker)"]
    (body,) = machine_table.machines(inside).bodies
    assert [line.values[3].text for line in body.lines] == ["none", "docker"]
    assert body.lines[0].values[2].text == "6.1.0"


def test_too_few_rows_have_no_correlation() -> None:
    found = compare(on("A", shm=10.0, unix=20.0), on("B", shm=10.0, unix=20.0))
    assert found.correlations[0].spearman is None
    assert "too few" in machine_table.summary(found)[0]


def test_what_one_machine_lacks_is_shown_as_not_measured() -> None:
    runs = [on("A", **HERE), on("B", shm=10.0, unix=20.0, tcp=30.0)]
    (section,) = machine_table.sections(runs, groups(runs))
    (line,) = (line for line in section.parts[0].tables[0].bodies[0].lines if line.values[0].text == "zenoh (Rust)")
    assert line.values[2].notes == ("not measured",)
    assert compare(*runs).correlations[0].rows == 3


def test_the_claim_that_hardware_does_not_change_the_order() -> None:
    flipped = HERE | {"unix": 40.0}
    assert same_order([on("A", **HERE), on("B", **HERE)]).answer == "holds"
    assert same_order([on("A", **HERE), on("B", **flipped)]).answer == "does not hold"
    assert same_order([on("A", 0.4, **HERE), on("B", 0.4, **flipped)]).answer == "not resolved"
    assert same_order([on("A", **HERE)]).answer == "not measured"


def test_the_report_shows_machines_side_by_side(tmp_path: Path) -> None:
    folders = []
    for name, slow in (("first", 1.0), ("second", 2.5)):
        cells = tuple(fixture.Made(each, us=us) for each, us in (("shm", 10.0), ("unix", 20.0 * slow), ("tcp", 30.0)))
        machine = {
            "cpu_model": f"The {name} processor",
            "kernel": "6.1.0",
            "container": "docker",
            "distribution": "Debian",
        }
        folders.append(fixture.build(tmp_path / name, cells, messages=300, machine=machine))
    text = write(folders, tmp_path / "report.html").read_text()
    assert "Comparison of the machines" in text
    assert "The first processor and The second processor: rank correlation over 3 rows ρ = 0.50" in text
    assert "flips with tcp (Rust)" in text
    assert "docker" in text


def test_the_way_of_the_messages_is_told_once_for_all_cells_that_agree() -> None:
    counted = "shared memory for {} of 300 frames received, tcp on the loopback device"
    run = run_of(
        cell("ros2", 9.0, language="c++", carried_by="rmw_cyclonedds_cpp"),
        cell("zenoh", 9.0, language="rust", carried_by=counted.format(298)),
        cell("zenoh", 9.0, language="rust", carried_by=counted.format(299)),
        cell("zenoh", 9.0, language="rust", carried_by="tcp on the loopback device", profile="shared_memory=off"),
    )
    way = "shared memory, tcp on the loopback device"
    told = [
        ("ros2 (C++)", "rmw_cyclonedds_cpp"),
        ("zenoh (Rust)", f"{way}; tcp on the loopback device [shared_memory=off]"),
    ]
    assert environment.paths([run]) == told


def test_a_way_that_not_all_runs_took_is_told_with_its_runs() -> None:
    runs = [
        run_of(cell("ros2", 9.0, carried_by=rmw), cell("tcp", 9.0, carried_by="lo")) for rmw in ("rmw_one", "rmw_two")
    ]
    for run, name in zip(runs, ("first", "second"), strict=True):
        run.folder = Path(f"results/{name}")
    told = [("ros2 (Rust)", "rmw_one (in first); rmw_two (in second)"), ("tcp (Rust)", "lo")]
    assert environment.paths(runs) == told


def test_objects_on_a_gpu_are_told_as_a_multiple_of_those_in_memory() -> None:
    def stand(codec: str, device: str, p50: float, share: str = "none") -> codec_rows.PlacedBox:
        (row,) = run_of(cell("zeromq", p50, language="python", codec=codec, device=device, share=share)).measured_rows
        return codec_rows.PlacedBox(row, Box(p50, p50, p50, p50, p50, ()), codec, "zeromq", 0.0)

    both = [
        stand("torch", "cpu", 200.0),
        stand("torch", "gpu", 260.0),
        stand("torch", "gpu", 100.0, "cuda-ipc"),
        stand("cupy", "gpu", 90.0),
        stand("numpy", "cpu", 50.0),
    ]
    assert codec_rows.gpu_factors(both) == ["torch over zeromq 1.30×", "torch over zeromq by cuda-ipc 0.500×"]
