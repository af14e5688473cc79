"""The packages of Python adapters are installed where the manifest specifies, and their nodes start there."""

from __future__ import annotations

import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build import work
from hopmeter.build.command import BuildError
from hopmeter.build.languages import python
from hopmeter.build.targets import Target
from hopmeter.manifest import discovery, interpreter
from hopmeter.messages import tag
from hopmeter.system import paths
from tests.coded import lacking
from tests.plan.capabilities import transport

ADAPTER = """
import sys
import {library} as library

class Transport:
    @staticmethod
    def version():
        return f"{{library.__name__}} for {{sys.prefix}}"
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Act as an installed package, whose nodes cannot import from the checkout."""
    monkeypatch.setenv("HOPMETER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(paths, "checkout", lambda: None)


def target(folder: Path, library: str, **part: Any) -> Target:
    manifest = transport("apart", languages={"python": {"waits": ["block"], "library": "L", **part}})
    manifest._folder = folder / "transports/apart"
    (manifest.folder / "python").mkdir(parents=True)
    (manifest.folder / "python/adapter.py").write_text(ADAPTER.format(library=library))
    return Target(manifest, manifest.offers["python"])


def wheel(folder: Path, name: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"{name}.py", "")
        packed.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        packed.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


def test_packages_of_an_own_environment_are_there_and_nowhere_else(tmp_path: Path) -> None:
    outcome = work.build_one(target(tmp_path, "loner", environment="own", pip=[str(wheel(tmp_path, "loner"))]))
    assert (outcome.error, outcome.detail) == ("", "")
    assert outcome.version == f"loner for {tmp_path}/home/cache/environments/apart"
    assert find_spec("loner") is None


def test_nothing_that_is_installed_beside_hopmeter_gets_into_an_own_environment(tmp_path: Path) -> None:
    assert find_spec("pydantic") is not None
    outcome = work.build_one(target(tmp_path, "pydantic", environment="own"))
    assert "No module named 'pydantic'" in outcome.error


def test_what_the_manifest_no_longer_lists_leaves_an_own_environment(tmp_path: Path) -> None:
    asked = target(tmp_path, "loner", environment="own", pip=[str(wheel(tmp_path, "loner"))])
    assert work.build_one(asked).good
    without = Target(asked.manifest, asked.offer.model_copy(update={"pip": []}))
    assert "No module named 'loner'" in work.build_one(without).error


@pytest.mark.parametrize("distribution", ["kilted", "jazzy"])
def test_ros2_without_a_ready_package_names_the_python_and_the_ros2_that_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    ros2 = discovery.load(Path(__file__).parents[2] / "transports/ros2/transport.toml")
    one = ros2.for_settings({"distribution": distribution})
    with pytest.raises(BuildError) as refused:
        python.build(one, one.offers["python"], tmp_path / "log")
    assert lacking(tag(refused.value.code, refused.value.what), "E-NO-WHEEL ros2 ros-rclpy riscv64") == []
    assert all(word in refused.value.remedy for word in ("PYTHON=python3.12 make all", "setup.bash"))
    assert not (tmp_path / "log").exists(), "nothing was installed"


def test_a_package_for_other_processors_is_told_and_one_that_is_there_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = target(tmp_path, "loner", pip=["loner==11.*; platform_machine == 'x86_64'"])
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    outcome = work.build_one(asked)
    assert lacking(tag(outcome.code, outcome.error), "E-NO-WHEEL loner==11.* aarch64 apart") == []
    assert "from source" in outcome.remedy
    there = target(tmp_path / "other", "numpy", pip=["numpy==11.*; platform_machine == 'x86_64'"])
    assert work.build_one(there).error == ""


def test_a_marker_that_is_none_fails_its_own_build(tmp_path: Path) -> None:
    outcome = work.build_one(target(tmp_path, "loner", pip=["loner; platform = 'x86_64'"]))
    assert outcome.code == "E-VALUE-FORM"
    assert "transport.toml" in outcome.remedy


def test_a_node_runs_on_the_systems_python(tmp_path: Path) -> None:
    try:
        system = interpreter.system()
    except interpreter.NoPythonError as none:
        pytest.skip(f"{none}: {none.remedy}")
    assert system.program != Path(sys.executable)
    outcome = work.build_one(target(tmp_path, "json", interpreter="system"))
    assert outcome.version == "json for /usr"


def test_without_a_python_of_the_system_building_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.confstr", lambda _: str(tmp_path))
    interpreter.system.cache_clear()
    outcome = work.build_one(target(tmp_path, "json", interpreter="system"))
    interpreter.system.cache_clear()
    assert outcome.code == "E-NO-PYTHON"
    assert "python3, 3.10" in outcome.remedy
