"""Both sides of real runs over `synthetic`, whose delays are planned: known changes are judged rightly, and a new side
that breaks fails the gate."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.alone

SCENARIO = """
title = "Known changes"
question = "Is a change by plan judged as exactly that?"
transport = "synthetic"
language = "rust"
placement = "thread"
wait = "block"
cores = "cross"
payload = "bytes:100"
rate = 200
messages = 40
drain = "100ms"
"""
OLD_US = 10_000
CHANGES = {
    "equal": {"delay_us": OLD_US},
    "3 %": {"delay_us": 1.03 * OLD_US},
    "10 %": {"delay_us": 1.1 * OLD_US},
    "50 %": {"delay_us": 1.5 * OLD_US},
    "faster": {"delay_us": OLD_US / 1.5},
}
BREAKS = {
    "loses": {"delay_us": OLD_US, "lose_every": 20},
    "saturates": {"delay_us": OLD_US, "max_rate_hz": 100},
    "crashes": {"delay_us": OLD_US, "corrupt_every": 40},
}
AGAINST = f"set:delay_us={OLD_US},seed=2,lose_every=0,max_rate_hz=0,corrupt_every=0"
Cases = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Ran:
    """What the command did: its exit code, its changes by the names of the cases, and the files it wrote."""

    code: int
    said: str
    changes: dict[str, dict[str, Any]]
    folder: Path


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("changed"), CHANGES, 12)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("broken"), BREAKS, 3)


def run(folder: Path, cases: Cases, trials: int) -> Ran:
    """Measure both sides of all cases in one run of the command."""
    listed = [f"[[case]]\nsettings.synthetic = {_format(plan)}\n" for plan in cases.values()]
    (folder / "changes.toml").write_text(f"{SCENARIO}trials = {trials}\n{''.join(listed)}")
    asked = ["run", folder / "changes.toml", "--against", AGAINST, "--out", folder / "run", "--fail-if", "slower:5%"]
    done = hopmeter(*asked, "--junit", folder / "junit.xml", "--summary", folder / "summary.md")
    lines = hopmeter("compare", folder / "run", "--json").stdout.splitlines()
    changes = dict(zip(cases, map(json.loads, lines), strict=True))
    return Ran(done.returncode, done.stdout + done.stderr, changes, folder)


def hopmeter(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hopmeter", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


def _format(plan: dict[str, float]) -> str:
    return f"{{ {', '.join(f'{name} = {value}' for name, value in plan.items())} }}"


@pytest.mark.parametrize(
    ("case", "right"),
    [
        ("equal", {"same", "undecided"}),
        ("3 %", {"same", "slower", "undecided"}),
        ("10 %", {"much_slower"}),
        ("50 %", {"much_slower"}),
        ("faster", {"much_faster"}),
    ],
)
def test_a_change_by_plan_is_judged_as_what_it_is(changed: Ran, case: str, right: set[str]) -> None:
    change = changed.changes[case]
    assert change["verdict"] in right, changed.said
    assert change["low"] <= 1.005 * CHANGES[case]["delay_us"] / OLD_US
    assert change["high"] >= 0.995 * CHANGES[case]["delay_us"] / OLD_US


def test_only_what_is_slower_by_more_than_five_percent_fails_the_gate(changed: Ran) -> None:
    assert changed.code == 3, changed.said
    assert failing_cells(changed) == [
        f"synthetic (rust) delay_us={CHANGES[case]['delay_us']}" for case in ("10 %", "50 %")
    ]


def failing_cells(ran: Ran) -> list[str]:
    """The cells that fail the gate, according to the JUnit file."""
    suite = ET.parse(ran.folder / "junit.xml").getroot()
    return [test.attrib["name"] for test in suite if test.find("failure") is not None]


@pytest.mark.parametrize("case", BREAKS)
def test_a_new_side_that_breaks_fails_the_gate(broken: Ran, case: str) -> None:
    setting = next(name for name in BREAKS[case] if name != "delay_us")
    assert any(setting in name for name in failing_cells(broken)), broken.said


def test_the_gate_exits_with_three_although_a_cell_failed_too(broken: Ran) -> None:
    assert broken.code == 3, broken.said
    assert broken.changes["crashes"]["new_status"] == "failed"
    assert "**The gate failed:**" in (broken.folder / "summary.md").read_text()
