"""Every latency has a floor, which is measured once for all cells with the same conditions."""

from __future__ import annotations

from tests.coded import lacking

from .capabilities import capabilities, make_plan, transport

BUS = transport("bus")


def test_a_floor_is_added_once_for_each_set_of_conditions() -> None:
    made = make_plan(capabilities(BUS), language="each", rate=[10, 100], placement=["thread", "process"])
    added = [cell for cell in made.cells if not cell.comparison.ranked]
    assert sorted((cell.axes.transport, cell.axes.rate_hz) for cell in added) == [
        ("memory", 10),
        ("memory", 100),
        ("shm", 10),
        ("shm", 100),
    ]
    floors = {cell.id: cell for cell in made.cells}
    for cell in made.cells:
        assert cell.comparison.floor is not None
        assert (floors[cell.comparison.floor].axes.rate_hz, floors[cell.comparison.floor].axes.placement) == (
            cell.axes.rate_hz,
            cell.axes.placement,
        )


def test_a_floor_that_is_asked_for_is_not_added_again_and_is_ranked() -> None:
    made = make_plan(capabilities(BUS), transport=["shm", "bus"])
    assert [(cell.axes.transport, cell.comparison.ranked, cell.comparison.floor) for cell in made.cells] == [
        ("shm", True, "c1-shm-rust"),
        ("bus", True, "c1-shm-rust"),
    ]


def test_another_profile_of_the_floor_is_no_floor() -> None:
    slots = transport("shm", placements=["process"], settings={"slots": {"default": 4, "min": 1, "help": "S."}})
    made = make_plan(capabilities(slots), transport="shm", settings={"shm": {"slots": [8]}})
    assert [(cell.carriage.profile, cell.comparison.floor) for cell in made.cells] == [
        ("slots=8", "c2-shm-rust"),
        ("", "c2-shm-rust"),
    ]


def test_where_there_is_no_floor_the_cell_says_why() -> None:
    made = make_plan(capabilities(BUS, unready=(("shm", "rust"),)))
    (cell,) = made.cells
    assert cell.comparison.floor is None
    assert (
        lacking(
            cell.comparison.floor_reason,
            "D-NOT-BUILT shm (rust) `hopmeter build shm`",
        )
        == []
    )
    made = make_plan(capabilities(transport("bus", max_payload_bytes=5000)), payload="bytes:2000")
    assert lacking(made.cells[0].comparison.floor_reason, "D-TOO-LARGE 2000 shm (1000)") == []


def test_a_floor_that_cannot_serve_so_many_is_not_tried() -> None:
    few = capabilities(transport("bus"), transport("shm", placements=["process"], max_receivers=64))
    for sinks, reason in ((64, ""), (65, "D-RECEIVERS 65 shm (64)")):
        (bus, *floors) = make_plan(few, sinks=sinks).cells
        assert (lacking(bus.comparison.floor_reason, reason), bus.dropped, len(floors)) == ([], "", not reason)
    (shm,) = make_plan(few, transport="shm", sinks=65).cells
    assert lacking(shm.dropped, "D-RECEIVERS 65 shm (64)") == []


def test_dropped_cells_need_no_floor() -> None:
    assert [cell.axes.transport for cell in make_plan(capabilities(BUS), wait="callback").cells] == ["bus"]


def test_cells_that_differ_only_in_how_much_is_measured_are_one_with_the_most_of_it() -> None:
    cases = [{"messages": 300, "warmup": 50}, {"messages": 10, "warmup": 2}, {"messages": 400, "warmup": 2, "rate": 30}]
    made = make_plan(capabilities(BUS), rate=100, case=cases)
    assert [
        (cell.axes.transport, cell.axes.rate_hz, cell.schedule.messages, cell.schedule.warmup) for cell in made.cells
    ] == [
        ("bus", 100, 300, 50),
        ("bus", 30, 400, 2),
        ("shm", 100, 300, 50),
        ("shm", 30, 400, 2),
    ]
