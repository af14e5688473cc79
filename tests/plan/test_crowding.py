"""The plan and the report warn about a workload with far more programs than cores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hopmeter.model.workload import Participant, Workload
from hopmeter.plan.workloads.crowding import crowding
from hopmeter.report.warnings.result_rules import warnings
from tests.cells import cell
from tests.workload_runs import WORKLOAD, Made, make_run


def sentence(programs: int, cores: int, **participant: object) -> str:
    participants = tuple(Participant(f"p{at}", "rust", "block", **participant) for at in range(programs))  # type: ignore[arg-type]
    return crowding([cell(workload=Workload(participants, ()))], range(cores))


@pytest.mark.parametrize(
    ("programs", "cores", "participant", "said"),
    [
        (20, 2, {}, "20 programs on 2 cores,"),
        (9, 2, {}, "9 programs on 2 cores,"),
        (8, 2, {}, ""),
        (20, 5, {}, ""),
        (5, 16, {"core_list": (3,)}, "5 programs on 1 core,"),
        (5, 2, {"transports": ("zeromq", "nng")}, "10 programs on 2 cores,"),
        (20, 0, {}, ""),
    ],
)
def test_more_than_four_programs_for_a_core_are_a_crowd(
    programs: int, cores: int, participant: dict[str, object], said: str
) -> None:
    found = sentence(programs, cores, **participant)
    assert found.startswith(f"The workload runs {said}") if said else found == ""


def test_cells_without_a_workload_are_no_crowd() -> None:
    assert crowding([cell()], [0]) == ""


def test_the_report_warns_of_a_crowd() -> None:
    many = tuple(Participant(name, "rust", "block") for name in ("camera", "motor", "arm", "eye", "ear"))
    run = make_run({"zeromq": Made([0] * 6)}, replace(WORKLOAD, participants=many), machine={"usable_cores": [0]})
    (warning,) = (each for each in warnings([run]) if each.code == "W-CROWDED")
    assert warning.text.startswith("The workload runs 5 programs on 1 core,")
