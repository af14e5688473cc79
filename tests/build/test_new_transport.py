"""`hopmeter new transport` creates a folder that builds and passes conformance unchanged in every language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hopmeter.build.languages import rust

CHECKOUT = Path(__file__).parents[2]
PARTS = (
    "Cargo.toml",
    "Cargo.lock",
    "benches/rust/websocket",
    "instrument",
    "cpp",
    "hopmeter",
    "conformance",
    "pyproject.toml",
)
CLUTTER = shutil.ignore_patterns("__pycache__", "_data", "target", "build.log")

pytestmark = [pytest.mark.nightly, pytest.mark.package, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout whose only transport is the template, so that the test does not change the real checkout."""
    tree = tmp_path_factory.mktemp("tree")
    for part in PARTS:
        if (CHECKOUT / part).is_dir():
            shutil.copytree(CHECKOUT / part, tree / part, ignore=CLUTTER)
        else:
            shutil.copy2(CHECKOUT / part, tree / part)
    shutil.copytree(CHECKOUT / "transports/_template", tree / "transports/_template", ignore=CLUTTER)
    return tree


def within(tree: Path, *command: str) -> str:
    # A separate target folder, so that crates of this workspace do not replace those of the real builds.
    target = Path(rust.metadata(CHECKOUT)["target_directory"]) / "apart"
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "CARGO_TARGET_DIR": str(target),
        "HOPMETER_HOME": str(tree / "home"),
    }
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def test_it_builds_and_passes_conformance_as_it_stands(tree: Path) -> None:
    folder = Path(within(tree, "hopmeter", "new", "transport", "my-bus").strip())
    assert folder == tree / "transports/my-bus"
    within(tree, "hopmeter", "build", "my-bus")
    beside = str((os.cpu_count() or 1) + 2)  # more workers than cores, because the tests mostly wait
    said = within(tree, "pytest", "-v", "-n", beside, "-p", "no:cacheprovider", "conformance")
    for case in ("my-bus-rust-", "my-bus-cpp-", "my-bus-python-", "my-bus-rust>python-", "my-bus-python>cpp-"):
        assert any(case in line and "PASSED" in line for line in said.splitlines()), f"{case} was not tested\n{said}"
