"""A full disk is reported with the file and the remedy; finished trials remain, and the run can be resumed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.failure.running import command, row, run

pytestmark = pytest.mark.slow

# Mounts are made in a separate mount namespace, so the small disks are private and disappear with the command.
PRIVATE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
MOUNT = "mount -t tmpfs -o size={size} tmpfs {place}"
Ran = subprocess.CompletedProcess[str]


def privately(script: str, folder: Path) -> Ran:
    environment = {**os.environ, "XDG_RUNTIME_DIR": ""}
    words = [*PRIVATE, "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, timeout=120, check=False)


@pytest.fixture
def mountable(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for mounting small disks. Skip the test if mounting is forbidden."""
    # A short name, because socket paths have a length limit.
    place = Path(tempfile.mkdtemp(prefix="small-", dir="/tmp"))
    tried = privately(MOUNT.format(size="64k", place=place), tmp_path)
    if tried.returncode == 0:
        yield place
    place.rmdir()
    if tried.returncode != 0:
        pytest.skip(f"no right to mount a small disk here: {tried.stderr.strip()}")


def test_results_that_do_not_fit_are_told_and_the_run_goes_on_with_room(mountable: Path, tmp_path: Path) -> None:
    small = command(tmp_path, "--messages", "20000", "--rate", "20000", "--trials", "2", "--json")
    small[small.index("--out") + 1] = str(mountable / "run")
    resume = [sys.executable, "-m", "hopmeter", "run", "--resume", str(mountable / "run"), "--no-report", "--json"]
    done = privately(
        f"""{MOUNT.format(size="280k", place=mountable)}
        {" ".join(small)} >first.out 2>first.err; echo $? >first.code
        wc -l <{mountable}/.run.partial/trials.jsonl >first.kept
        mount -o remount,size=50m {mountable}
        exec {" ".join(resume)}""",
        tmp_path,
    )
    first = (tmp_path / "first.err").read_text()
    assert (tmp_path / "first.code").read_text() == "1\n", first
    assert "the disk is full: " in first
    assert str(mountable) in first
    assert "free space, or name another folder with --out; finished trials are stored, continue with --resume" in first
    assert "Traceback" not in first
    assert int((tmp_path / "first.kept").read_text()) >= 1, "what was finished stays"
    assert done.returncode == 0, done.stderr
    resumed = row(done, "unix")
    assert (resumed["trials_good"], resumed["received"]) == (2, 2 * 20000)


def test_raw_samples_that_do_not_fit_fail_their_trial_before_it_begins(mountable: Path, tmp_path: Path) -> None:
    words = command(tmp_path, "--messages", "50000", "--json")
    done = privately(
        f"{MOUNT.format(size='1m', place=mountable)}; XDG_RUNTIME_DIR={mountable} exec {' '.join(words)}", tmp_path
    )
    failed = row(done, "unix")
    assert done.returncode == 1, done.stderr
    assert (failed["status"], failed["trials_good"]) == ("failed", 0)
    assert "No space left on device" in failed["reason"]
    assert "free disk space in the results folder, choose another folder with --out" in failed["reason"]


@pytest.mark.parametrize("transport", ["unix", "memory", "zeromq"])
def test_files_that_may_not_grow_are_told_before_anything_is_measured(transport: str, tmp_path: Path) -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    language = "c++" if transport == "zeromq" else "rust"
    placement = "thread" if transport == "memory" else "process"
    options = ("--transport", transport, "--language", language, "--placement", placement, "--messages", "50000")
    done = run(tmp_path, *options, before=little)
    failed = row(done, transport)
    assert done.returncode == 1, done.stderr
    assert (failed["status"], failed["trials_good"]) == ("failed", 0)
    assert "File too large" in failed["reason"]
    assert "free disk space in the results folder, choose another folder with --out" in failed["reason"]
