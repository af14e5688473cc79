"""The package works without a checkout or Rust: installed into an empty environment and run from an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hopmeter.build import stage, system
from hopmeter.system import paths
from tests.cells import MEASURED

pytestmark = [pytest.mark.package, pytest.mark.slow, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]


class Installation:
    def __init__(self, folder: Path, wheel: Path) -> None:
        self.empty = folder / "empty"
        self.empty.mkdir()
        self.bin = folder / "venv/bin"
        # The environment has neither a home directory nor Cargo, only system tools and the package's own files.
        self.environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(folder),
            "HOPMETER_HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
        }
        uv = [sys.executable, "-m", "uv"]
        must([*uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")])
        must([*uv, "pip", "install", "--quiet", "--python", str(self.bin / "python"), str(wheel)])

    def hopmeter(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "hopmeter"), *words],
            cwd=self.empty,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def must(command: list[str]) -> None:
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    # Socket paths must be short, but the path of the test's folder is too long, and trial folders are outside it
    # anyway.
    folder = tmp_path_factory.mktemp("wheel")
    nodes = stage.stage(CHECKOUT, CHECKOUT / "hopmeter/_data")
    assert {"hopmeter-node-memory-rust", "hopmeter-node-unix-rust"} <= set(nodes), "run `make all` first"
    must([sys.executable, "-m", "maturin", "build", "--release", "--strip", "--out", str(folder / "dist")])
    (wheel,) = (folder / "dist").glob("*.whl")
    return Installation(folder, wheel)


def test_nothing_of_the_checkout_is_at_hand(installation: Installation) -> None:
    asked = "from hopmeter.system import paths; print(paths.PACKAGE, paths.checkout())"
    command = [str(installation.bin / "python"), "-c", asked]
    said = subprocess.run(
        command, cwd=installation.empty, env=installation.environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert said[1] == "None"
    assert CHECKOUT not in Path(said[0]).parents
    assert shutil.which("cargo", path=installation.environment["PATH"]) is None


def test_every_node_can_be_executed(installation: Installation) -> None:
    nodes = list(installation.bin.parent.glob("lib/python*/site-packages/hopmeter/_data/nodes/hopmeter-node-*"))
    assert len(nodes) >= 2
    assert [node.name for node in nodes if not os.access(node, os.X_OK)] == []


def test_a_run_from_an_empty_folder_measures_and_leaves_a_whole_run(installation: Installation, tmp_path: Path) -> None:
    small = ["--messages", "100", "--rate", "1000", "--trials", "1", "--payload", "timing", "--placement", "apart"]
    kept = ["--out", str(tmp_path / "run"), "--json"]
    done = installation.hopmeter("run", "quick", "--transport", "memory,unix", "--language", "rust", *small, *kept)
    assert done.returncode == 0, done.stderr
    cells = {cell["transport"]: cell for cell in map(json.loads, done.stdout.splitlines())}
    for transport in ("memory", "unix"):
        cell = cells[transport]
        assert cell["status"] in MEASURED and (cell["received"], cell["lost"]) == (100, 0), cell
        assert cell["service_p50_us"] > 0
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"run.json", "cells.parquet", "trials.parquet", "samples", "report.html"} <= left


def test_a_python_node_runs_from_the_package(installation: Installation, tmp_path: Path) -> None:
    small = ["--messages", "50", "--rate", "1000", "--trials", "1", "--payload", "timing"]
    kept = ["--out", str(tmp_path / "run"), "--json"]
    done = installation.hopmeter("run", "quick", "--transport", "unix", "--language", "python", *small, *kept)
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    (mine,) = [cell for cell in cells if (cell["transport"], cell["language"]) == ("unix", "python")]
    assert mine["status"] in MEASURED and (mine["received"], mine["lost"]) == (50, 0), mine


FILES = """
import json
from hopmeter.manifest import every
from hopmeter.manifest.examples import find_example
found = [
    each
    for manifest in every().values()
    for language in manifest.offers
    for pattern in ("pubsub", "rpc")
    if (each := find_example(manifest, language, pattern))
]
print(json.dumps([[each.manifest.name, each.language, each.pattern, each.files, each.build] for each in found]))
"""


def test_every_example_of_the_checkout_is_in_the_package(installation: Installation) -> None:
    installed, here = (
        subprocess.run(
            [python, "-c", FILES], cwd=installation.empty, capture_output=True, text=True, check=True, env=env
        )
        for python, env in ((str(installation.bin / "python"), installation.environment), (sys.executable, None))
    )
    assert json.loads(installed.stdout) == json.loads(here.stdout) != []


def test_advice_from_the_package_has_a_program_to_begin_with(installation: Installation, tmp_path: Path) -> None:
    asked = ["advise", "--payload", "bytes:100", "--rate", "200", "--language", "rust", "--transport", "nng,grpc"]
    options = ["--budget", "15s", "--idle-states", "--example", str(tmp_path / "start"), "--out", str(tmp_path / "run")]
    done = installation.hopmeter(*asked, *options, "--json")
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "start/src/main.rs").is_file() is json.loads(done.stdout)["decided"]


@pytest.mark.skipif(bool(system.missing(["libzmq3-dev", "cppzmq-dev"])), reason="libzmq3-dev or cppzmq-dev is missing")
def test_a_cpp_adapter_is_compiled_without_rust(installation: Installation) -> None:
    built = installation.hopmeter("build", "zeromq", "--language", "c++")
    assert built.returncode == 0, built.stdout + built.stderr
    ready = [json.loads(line) for line in installation.hopmeter("transports", "--json").stdout.splitlines()]
    (zeromq,) = [row for row in ready if (row["transport"], row["language"]) == ("zeromq", "c++")]
    assert zeromq["ready"], zeromq
    assert list((Path(installation.environment["HOPMETER_HOME"]) / "nodes").iterdir())


def test_a_new_transport_is_begun_and_built_without_a_checkout(installation: Installation) -> None:
    made = installation.hopmeter("new", "transport", "mine", "--language", "c++,python")
    assert made.returncode == 0, made.stderr
    assert Path(made.stdout.strip()).is_dir()
    built = installation.hopmeter("build", "mine", "--json")
    assert built.returncode == 0, built.stdout + built.stderr
    assert {json.loads(line)["language"] for line in built.stdout.splitlines()} == {"c++", "python"}


def test_the_checkout_itself_is_one() -> None:
    assert paths.checkout() == CHECKOUT
