"""A node is ready only if its own report says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hopmeter import manifest
from hopmeter.manifest import Manifest
from hopmeter.manifest.interpreter import Interpreter
from hopmeter.manifest.readiness import SPEC_FORMAT
from hopmeter.messages import tag
from hopmeter.system import paths
from tests.coded import lacking

SAYS = f'#!/bin/sh\necho asked >>"$0.asked"\necho \'{{"version": "1.2", "spec": {SPEC_FORMAT}, "compiler": "cc"}}\'\n'


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(paths, "node_folders", lambda: [tmp_path])
    return tmp_path / "hopmeter-node-unix-cpp"


@pytest.fixture
def unix() -> Manifest:
    return manifest.every()["unix"]


def write(node: Path, script: str) -> None:
    node.write_text(script)
    node.chmod(0o755)


def test_a_node_that_says_what_it_is_is_ready_and_not_asked_again(node: Path, unix: Manifest) -> None:
    write(node, SAYS)
    first, second = manifest.readiness(unix, "c++"), manifest.readiness(unix, "c++")
    assert first == second
    assert (first.ready, first.version, first.about["compiler"]) == (True, "1.2", "cc")
    assert Path(f"{node}.asked").read_text().count("asked") == 1


def test_a_node_that_was_built_again_is_asked_again(node: Path, unix: Manifest) -> None:
    write(node, SAYS)
    manifest.readiness(unix, "c++")
    write(node, SAYS.replace("1.2", "1.3"))
    os.utime(node, ns=(1, 1))
    assert manifest.readiness(unix, "c++").version == "1.3"


def test_a_node_is_asked_again_once_its_user_says_that_the_library_is_elsewhere(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libxr = manifest.every()["libxr"]
    write(of_libxr := node.with_name("hopmeter-node-libxr-cpp"), SAYS)
    for place in ("/one", "/one", "/another"):
        monkeypatch.setenv("LIBXR_ROOT", place)
        assert manifest.readiness(libxr, "c++").ready
    assert Path(f"{of_libxr}.asked").read_text().count("asked") == 2


@pytest.mark.parametrize(
    ("script", "missing"),
    [
        ("", "E-NOT-BUILT"),
        (
            "#!/bin/sh\necho 'libbus.so.5: cannot open shared object file' >&2\nexit 127\n",
            "E-NODE-BROKEN libbus.so.5: cannot open shared object file",
        ),
        ("#!/bin/sh\nexit 4\n", "E-NODE-BROKEN 4"),
        ("#!/bin/sh\necho '{\"spec\": 1}'\n", "E-NODE-OUTDATED"),
        ("#!/bin/sh\necho hello\n", "E-NODE-BROKEN"),
    ],
)
def test_what_is_missing_is_said_with_the_command_that_gets_it(
    node: Path, unix: Manifest, script: str, missing: str
) -> None:
    if script:
        write(node, script)
    state = manifest.readiness(unix, "c++")
    assert state.as_json() == {
        "transport": "unix",
        "language": "c++",
        "ready": False,
        "version": None,
        "code": missing.split()[0],
        "missing": state.missing,
        "get": "hopmeter build unix",
    }
    assert lacking(tag(state.code, state.missing), missing) == []


def test_a_missing_package_is_cached_until_one_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    packages, asked = tmp_path / "packages", tmp_path / "asked"
    packages.mkdir()
    program = tmp_path / "python"
    write(program, f"#!/bin/sh\necho asked >>{asked}\necho \"loading: No module named 'redis'\" >&2\nexit 2\n")
    monkeypatch.setattr(
        sys.modules["hopmeter.manifest.readiness"], "interpreter", lambda _: Interpreter(program, (packages,))
    )
    redis = manifest.every()["redis"]
    first, second = manifest.readiness(redis, "python"), manifest.readiness(redis, "python")
    assert (first, first.code) == (second, "E-NODE-BROKEN")
    assert asked.read_text().count("asked") == 1
    write(program, SAYS)
    (packages / "redis").mkdir()
    assert manifest.readiness(redis, "python").ready


def test_other_failures_are_not_cached(node: Path, unix: Manifest) -> None:
    write(node, '#!/bin/sh\necho asked >>"$0.asked"\necho "libbus.so.5: cannot open" >&2\nexit 127\n')
    for _ in range(2):
        assert not manifest.readiness(unix, "c++").ready
    assert Path(f"{node}.asked").read_text().count("asked") == 2


def test_two_terminals_with_different_variables_keep_an_answer_each(
    node: Path, unix: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(node, SAYS)
    for folder in ("", "/a", "", "/a"):
        monkeypatch.setenv("PYTHONPATH", folder)
        assert manifest.readiness(unix, "c++").ready
    assert Path(f"{node}.asked").read_text().count("asked") == 2
