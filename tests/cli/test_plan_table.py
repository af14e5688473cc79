"""Tests for the dry run of a workload: its participants, processes and bridges."""

from __future__ import annotations

import io
from typing import Any

from hopmeter.cli.output.plan_table import print_plan
from hopmeter.plan.placement.cores import Machine
from hopmeter.system.terminal import Console
from tests.plan.capabilities import capabilities, make_plan, transport

FLOWS = {
    "frames": {"from": "camera", "to": "gateway", "rate": 30, "payload": "bytes:500", "transport": "shuttle"},
    "orders": {"from": "gateway", "to": "motor", "after": "frames"},
}


def dry_run(**given: Any) -> str:
    table = {"participant": {"camera": {}, "gateway": {}, "motor": {}}, "flow": FLOWS, **given}
    where = capabilities(transport("bus"), transport("shuttle"), machine=Machine((0, 1)))
    said = io.StringIO()
    made = make_plan(where, wait="block", cores="free", duration="1s", **table)
    print_plan(Console(file=said, width=200), made)
    return said.getvalue()


def test_a_dry_run_says_which_participants_are_several_processes_and_what_is_bridged() -> None:
    said = dry_run(transport="bus")
    assert "2 processes: shuttle and bus" in said
    assert "bridge in gateway: passes frames on to orders" in said
    assert "over shuttle" in said and "This list shows" not in said


def test_of_several_cells_it_shows_one_that_is_split_and_names_it() -> None:
    said = dry_run(transport=["shuttle", "bus"])
    assert "2 processes: shuttle and bus" in said
    assert "processes and bridges of c2-bus-rust" in said
    assert "processes" not in dry_run(transport="shuttle")
