"""Two sourced distributions of ROS 2, and one for another Python, are refused before rclpy is imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from hopmeter.node.contract import AdapterError
from hopmeter.system import paths

THIS = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def sourced() -> ModuleType:
    path = paths.transport_folders()[0] / "ros2/python/sourced.py"
    spec = importlib.util.spec_from_file_location("sourced_of_ros2", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prefix(folder: Path, version: str, python: str = THIS) -> Path:
    (folder / "share/rclpy").mkdir(parents=True)
    (folder / "share/rclpy/package.xml").write_text(f"<package><version>{version}</version></package>")
    (folder / f"lib/{python}/site-packages/rclpy").mkdir(parents=True)
    (folder / f"lib/{python}/site-packages/rclpy/__init__.py").touch()
    return folder


def source(monkeypatch: pytest.MonkeyPatch, *prefixes: Path) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", ":".join(map(str, prefixes)))


def test_an_overlay_of_the_same_distribution_is_good(
    sourced: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(monkeypatch, prefix(tmp_path / "overlay", "9.2.0"), prefix(tmp_path / "kilted", "9.1.2"), tmp_path / "own")
    sourced.demand_ros2()


def test_two_distributions_are_refused(sourced: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source(monkeypatch, prefix(tmp_path / "kilted", "9.1.2"), prefix(tmp_path / "jazzy", "7.1.5"))
    with pytest.raises(AdapterError, match=r"rclpy 7.1.5 in .*jazzy and rclpy 9.1.2 in .*kilted") as refused:
        sourced.demand_ros2()
    assert "source only one" in refused.value.remedy


@pytest.mark.parametrize(
    ("versions", "is_good"), [(["9.2.0", "9.3.1"], True), (["9.2.0", "10.1.3"], False), ([], True)]
)
def test_a_build_refuses_two_distributions(tmp_path: Path, versions: list[str], is_good: bool) -> None:
    prefixes = [tmp_path / version for version in versions]
    for folder in prefixes:
        (folder / "share/rcl").mkdir(parents=True)
        (folder / "share/rcl/package.xml").write_text(
            f'<?xml version="1.0"?>\n<package format="2">\n  <version>{folder.name}</version>\n</package>\n'
        )
    script = paths.transport_folders()[0] / "ros2/interfaces/cmake/one_distribution.cmake"
    path = ":".join(map(str, [*prefixes, tmp_path / "own"]))
    done = subprocess.run(
        ["cmake", "-P", script],
        env={**os.environ, "AMENT_PREFIX_PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == is_good, done.stderr
    assert is_good or all(str(folder) in "".join(done.stderr.split()) for folder in prefixes)


@pytest.mark.parametrize("is_importable", [True, False])
def test_a_ros2_for_another_python_is_refused(
    sourced: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_importable: bool
) -> None:
    other = prefix(tmp_path / "jazzy", "7.1.5", "python3.99")
    source(monkeypatch, other)
    origin = str(other / "lib/python3.99/site-packages/rclpy/__init__.py")
    found = ModuleSpec("rclpy", None, origin=origin) if is_importable else None
    monkeypatch.setattr(sourced, "find_spec", lambda _: found)
    with pytest.raises(AdapterError, match=rf"python3\.99.*{THIS}") as refused:
        sourced.demand_ros2()
    assert "distribution=kilted" in refused.value.remedy


def test_the_packages_of_the_registry_need_nothing_sourced(
    sourced: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")  # so that it is restored: the adapter sets it
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    prefix(tmp_path, "9.1.2")
    (tmp_path / "share/ament_index").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    sourced.demand_ros2()
    assert sourced.os.environ["AMENT_PREFIX_PATH"] == str(tmp_path)


def test_the_middleware_is_read_from_the_loaded_libraries(sourced: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "7f00-7f01 r-xp 00000000 fe:00 1                  /opt/ros/jazzy/lib/lib{}\n"
    for name, said in (
        ("fastrtps.so.2.14.5", "Fast DDS 2.14.5"),
        ("ddsc.so.0.10.5", "Cyclone DDS 0.10.5"),
        ("c.so", ""),
    ):
        monkeypatch.setattr(Path, "read_text", lambda _, name=name: line.format(name) + line.format("rcl.so"))
        assert sourced.middleware() == said
