"""However a bench ends, its programs are stopped, and no files with their names remain."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import wait_for

pytestmark = pytest.mark.slow

BENCHES = Path(__file__).parents[2] / "benches"
PATIENCE_S = 60
SHARED = "/dev/shm/*hm_{run}_*"
BENCH = """
import os, sys
sys.path.insert(0, sys.argv[1])
import programs
from ending import Run, orderly
from rows import FASTDDS
{more}
raise SystemExit(orderly(main))
"""
MEETS = """
programs.PATIENCE_S = float(sys.argv[2])
def main():
    FASTDDS.path  # built first
    with Run() as run:
        print(run.name, run.directory, flush=True)
        programs.number_of(run, FASTDDS, 1 + os.getpid() % 200, 64, 100_000_000, 0, 0)
"""
# A program that ignores SIGTERM, and has a child in a separate session, a file in /tmp and a shared-memory segment.
STUBBORN = """
import os, signal, tempfile, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
tempfile.mkstemp()
Path(f"/dev/shm/hm_{os.environ['HOPMETER_BENCH_RUN']}_file").touch()
if os.fork() == 0:
    os.setsid()
time.sleep(600)
"""
STAYS = f"""
def main():
    with Run(grace_s=0.1) as run:
        print(run.name, run.directory, flush=True)
        run.start([sys.executable, "-c", {STUBBORN!r}]).wait()
"""

needs_fastdds = pytest.mark.skipif(
    not shutil.which("fastddsgen") or not Path("/usr/include/fastdds").is_dir(), reason="Fast DDS is not installed"
)


@contextmanager
def bench(more: str, *words: object) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    command = [sys.executable, "-c", BENCH.format(more=more), str(BENCHES), *map(str, words)]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=BENCHES.parent, text=True, **quiet) as process:
        try:
            assert process.stdout is not None
            run, folder = process.stdout.readline().split()
            yield process, run, Path(folder)
        finally:
            process.kill()


def living(run: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] if run.encode() in path.read_bytes() else []
    return found


def segments(run: str) -> set[Path]:
    """Return the Fast DDS shared-memory segments that the processes of a run have mapped."""
    maps = []
    for pid in living(run):
        with contextlib.suppress(OSError):
            maps += Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {Path(line.split()[-1]) for line in maps if "/dev/shm/fastrtps_" in line}


def shared_memory(run: str) -> list[str]:
    return [str(path) for path in Path("/").glob(SHARED.format(run=run).lstrip("/"))]


def end(process: subprocess.Popen[str], number: signal.Signals | None) -> int:
    if number is not None:
        process.send_signal(number)
    return process.wait(PATIENCE_S)


@needs_fastdds
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (None, 1)], ids=["ctrl-c", "term", "exception"]
)
def test_fast_dds_alone_leaves_no_segment(number: signal.Signals | None, code: int) -> None:
    with bench(MEETS, 4 if number is None else PATIENCE_S) as (process, run, folder):
        found = wait_for(lambda: len(both := segments(run)) >= 6 and both)
        assert end(process, number) == code
    assert not (living(run) or folder.exists())
    # The list includes locks and mutexes.
    left = [each for path in found for each in Path("/dev/shm").glob(f"*{path.name}*")]
    assert left == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_programs_that_do_not_want_to_end_are_ended(number: signal.Signals) -> None:
    with bench(STAYS) as (process, run, folder):
        wait_for(lambda: shared_memory(run))
        assert len(living(run)) >= 1
        assert end(process, number) == 130
    assert not (living(run) or shared_memory(run) or folder.exists())
