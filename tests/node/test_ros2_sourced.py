"""A sourced ROS 2 for another Python version is refused before rclpy is imported."""

from __future__ import annotations

import importlib
import importlib.util
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
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")  # so that the test restores the variable that the adapter sets
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
