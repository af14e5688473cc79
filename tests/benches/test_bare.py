"""Bare programs in C and C++ build, and those that peers are held against print a figure: a change of what they share
would else be found by whoever measures next."""

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
    print(json.dumps([len(built) + len(asked), [each.median_us("0", 64, rounds) for each in asked]]))
    return 0
raise SystemExit(orderly(main))
"""


@pytest.mark.parametrize("source", SOURCES)
def test_a_bare_program_builds_and_measures(source: str) -> None:
    if source == "cold_libxr.cpp" and not os.environ.get("LIBXR_ROOT"):
        pytest.skip("LibXR is in no registry, and LIBXR_ROOT names none")
    command = [sys.executable, "-c", ASKED, str(BENCHES), source, str(ROUNDS)]
    done = subprocess.run(command, cwd=BENCHES.parent, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    uses, figures = json.loads(done.stdout.splitlines()[-1])
    assert uses, "no bench uses it"
    assert all(figure > 0 for figure in figures)
