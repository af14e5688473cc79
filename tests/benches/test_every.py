"""Tests for `benches/every.py`: a failing bench does not stop the others, and the final table lists every failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

BENCHES = Path(__file__).parents[2] / "benches"
PATIENCE_S = 60
EVERY = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import every
every.HERE = Path(sys.argv[2])
every.BENCHES = tuple(every.Bench(name, 30) for name in sys.argv[3:])
raise SystemExit(every.orderly(lambda: every.main([])))
"""


def every(folder: Path, **benches: str) -> subprocess.Popen[str]:
    for name, text in benches.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-c", EVERY, str(BENCHES), str(folder), *benches]
    env = {**os.environ, "HOPMETER_PAIRS": "10"}
    return subprocess.Popen(command, cwd=BENCHES.parent, env=env, stdout=subprocess.PIPE, text=True)


def ending(said: str) -> list[str]:
    lines = said.rpartition("bench ")[2].splitlines()[1:]
    return [" ".join(word for word in line.split() if word != "s" and not word.isdecimal()) for line in lines]


def test_each_is_told_at_the_end_with_what_it_missed(tmp_path: Path) -> None:
    missed = "print('a row    1.20   limit 1.05: MISSED'); print('another: holds'); raise SystemExit(1)"
    process = every(tmp_path, missed=missed, broken="raise KeyError('row')", good="print('left out, run this')")
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert said.startswith("3 benches of 10 pairs: about 2 minutes, up to three times as long")
    assert ending(said) == [
        *("missed missed", "a row 1.20 limit 1.05: MISSED"),
        *("broken failed", "it ended with 1: KeyError: 'row'"),
        *("good holds", "left out, run this", "all"),
    ]


def test_what_was_measured_is_told_where_it_is_stopped(tmp_path: Path) -> None:
    process = every(tmp_path, good="", long="import time; print('on its way'); time.sleep(600)", never="")
    assert process.stdout is not None
    begun = ""
    while "on its way" not in begun:
        begun += process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert ending(said) == ["good holds", "all"]
