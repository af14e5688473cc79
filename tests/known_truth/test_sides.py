"""Known changes between both sides of a real run are judged correctly, and a broken new side fails the gate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.command import hopmeter
from tests.known_truth.measuring import Case, run

pytestmark = pytest.mark.slow

OLD_US = 40_000
"""The planned delay of the old side. At 40 ms, wake-up delays of a millisecond on a busy machine do not hide a change
of 10 %."""
CHANGES_US = {"equal": OLD_US, "3 %": 1.03 * OLD_US, "10 %": 1.1 * OLD_US, "faster": OLD_US / 1.5}
BREAKS = {"loses": {"lose_every": 19}, "saturates": {"max_rate_hz": 100}, "crashes": {"corrupt_every": 40}}
AGAINST = f"set:delay_us={OLD_US},seed=2,lose_every=0,max_rate_hz=0,corrupt_every=0"
SHORT: Case = {"rate": 200, "messages": 40}
CASES: dict[str, Case] = {
    **{name: {**SHORT, "trials": 8, "plan": {"delay_us": new_us}} for name, new_us in CHANGES_US.items()},
    **{name: {**SHORT, "trials": 3, "plan": {"delay_us": OLD_US, **plan}} for name, plan in BREAKS.items()},
}


@dataclass(frozen=True)
class Ran:
    """The command's exit code, its changes by case name, and its output files."""

    code: int
    said: str
    changes: dict[str, dict[str, Any]]
    folder: Path

    def failing_cells(self) -> list[str]:
        """Return the cells that fail the gate according to the JUnit file."""
        suite = ET.parse(self.folder / "junit.xml").getroot()
        return [test.attrib["name"] for test in suite if test.find("failure") is not None]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run both sides of all cases in one command."""
    folder = tmp_path_factory.mktemp("sides")
    files = ("--junit", str(folder / "junit.xml"), "--summary", str(folder / "summary.md"))
    done = run(folder, CASES, "--against", AGAINST, "--fail-if", "slower:5%", *files)
    lines = hopmeter("compare", folder / "run", "--json").stdout.splitlines()
    changes = dict(zip(CASES, map(json.loads, lines), strict=True))
    return Ran(done.returncode, done.stdout + done.stderr, changes, folder)


@pytest.mark.parametrize(
    ("case", "right"),
    [
        ("equal", {"same", "undecided"}),
        ("3 %", {"same", "slower", "undecided"}),
        ("10 %", {"much_slower"}),
        ("faster", {"much_faster"}),
    ],
)
def test_a_change_by_plan_is_judged_as_what_it_is(ran: Ran, case: str, right: set[str]) -> None:
    change = ran.changes[case]
    assert change["verdict"] in right, ran.said
    assert change["low"] <= 1.005 * CHANGES_US[case] / OLD_US
    assert change["high"] >= 0.995 * CHANGES_US[case] / OLD_US


def test_what_is_slower_by_more_than_five_percent_or_breaks_fails_the_gate_and_nothing_else(ran: Ran) -> None:
    settings = [f"delay_us={CHANGES_US['10 %']}", *(setting for plan in BREAKS.values() for setting in plan)]
    failing = ran.failing_cells()
    assert len(failing) == len(settings), ran.said
    assert all(setting in cell for setting, cell in zip(settings, failing, strict=True)), failing


def test_the_gate_exits_with_three_although_a_cell_failed_too(ran: Ran) -> None:
    assert ran.code == 3, ran.said
    assert ran.changes["crashes"]["new_status"] == "failed"
    assert "**The gate failed:**" in (ran.folder / "summary.md").read_text()
