"""The bare programs in C and C++ build, and those that peers are compared with print a latency."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

BENCHES = Path(__file__).parents[2] / "benches"
SOURCES = sorted(each.name for each in (BENCHES / "bare").iterdir() if each.suffix in (".c", ".cpp"))
PATIENCE_S = 300
ROUNDS = 20
ASKED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import cold, rows
from ending import orderly
from programs import Program
from tools import Bare
source, rounds = sys.argv[2], int(sys.argv[3])
peers = [row.peer for row in rows.LIMITED if isinstance(row.peer, Bare)]
named = list(vars(cold).values())
named.append(cold.libxr())
def main():
    asked = [each for each in peers if getattr(each.program, "source", "") == source]
    built = [str(each.path) for each in named if isinstance(each, Program) and each.source == source]
    absent = sorted({each.missing for each in asked if each.missing})
    figures = [each.median_us("0", 64, rounds) for each in asked if not each.missing]
    print(json.dumps([len(built) + len(asked), figures, absent]))
    return 0
raise SystemExit(orderly(main))
"""


def _has_rclcpp() -> bool:
    sourced = [Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if each]
    return any((each / "share/rclcpp").is_dir() for each in sourced)


@pytest.mark.parametrize("source", SOURCES)
def test_a_bare_program_builds_and_measures(source: str) -> None:
    if source == "cold_libxr.cpp" and not os.environ.get("LIBXR_ROOT"):
        pytest.skip("LibXR is in no registry, and LIBXR_ROOT names none")
    command = [sys.executable, "-c", ASKED, str(BENCHES), source, str(ROUNDS)]
    done = subprocess.run(command, cwd=BENCHES.parent, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    uses, figures, absent = json.loads(done.stdout.splitlines()[-1])
    assert uses, "no bench uses it"
    if absent:
        pytest.skip(f"its library is in no registry, and {absent[0]} names none")
    assert all(figure > 0 for figure in figures)


STUDIED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ros2
from ending import orderly
def main():
    # A search for the highest rate finds none while other programs are busy.
    once = {study.way: study for study in ros2.STUDIES if not isinstance(study, ros2.HighestRate)}
    found = {way: study.theirs() for way, study in once.items()}
    print(json.dumps({way: [each.value, each.lost] for way, each in found.items()}))
    return 0
raise SystemExit(orderly(main))
"""


@pytest.mark.skipif(not _has_rclcpp(), reason="rclcpp is in no registry, and no ROS 2 with rclcpp is sourced")
def test_rclcpp_alone_builds_and_measures_in_each_way() -> None:
    environment = {**os.environ, "HOPMETER_SECONDS": "1"}
    command = [sys.executable, "-c", STUDIED, str(BENCHES)]
    done = subprocess.run(
        command, cwd=BENCHES.parent, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == {"chain", "call", "apart", "intra"}
    assert all(value > 0 for value, _ in found.values())
    assert found["call"][1] == 0, "calls lose nothing"
