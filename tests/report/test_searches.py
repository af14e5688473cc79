"""A search for the highest sustained rate reports the rate, and why the next higher rate was not sustained."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import answer
from hopmeter.report.sections.highest_rates import search_groups
from tests.report.rows import cell, run_of


def step(transport: str, rate: float, failed: str | None, bracket: tuple[float | None, float | None]) -> dict[str, Any]:
    found = {"highest_rate_hz": bracket[0], "lowest_failing_hz": bracket[1], "search_failed": failed}
    return cell(transport, 20.0 + rate / 1000, rate_hz=rate, search=f"first-{transport}", **found)


def searched_run() -> Run:
    lost, slow = "5 of 100 messages were lost", "p99 was 9000 us"
    return run_of(
        *(step("unix", rate, slow if rate == 4000 else None, (2000, 4000)) for rate in (1000, 2000, 4000)),
        *(step("shm", rate, lost if rate == 8000 else None, (4000, 8000)) for rate in (1000, 4000, 8000)),
        step("zenoh", 1000, lost, (None, 1000)),
        step("tcp", 1000, None, (1000, None)),
    )


def test_the_highest_rate_comes_first_with_why_the_next_failed() -> None:
    (found,) = search_groups([searched_run()])
    assert [each.name for each in found.searches] == ["shm", "unix", "tcp", "zenoh"]
    shm = found.searches[0]
    assert (shm.holds_hz, shm.fails_hz, shm.why) == (4000, 8000, "5 of 100 messages were lost")
    assert shm.row["rate_hz"] == 4000, "figures are those of the rate that held"
    assert found.searches[2].highest.endswith("or more")
    assert found.searches[3].highest == "no rate held"


def test_the_answer_is_the_rates() -> None:
    run = searched_run()
    said = answer([run], groups([run]))[0]
    assert said.startswith("Highest rate that held")
    assert "shm 4,000\N{NARROW NO-BREAK SPACE}Hz, unix 2" in said


def test_a_search_beside_another_run_leaves_that_its_answer() -> None:
    runs = [searched_run(), run_of(cell("shm", 10.0, 9.0, 11.0, relays=3), cell("unix", 20.0, 19.0, 21.0, relays=3))]
    said = answer(runs, groups(runs))
    assert said[0].startswith("Highest rate that held")
    assert " shm is fastest" in said[1]


def test_other_runs_have_no_searches() -> None:
    assert search_groups([run_of(cell("shm", 10.0))]) == []
