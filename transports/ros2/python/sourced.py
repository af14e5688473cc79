"""Checks the ROS 2 in the environment before the import of rclpy, whose errors name no remedy."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from hopmeter.node.contract import AdapterError

ANOTHER = (
    "use a shell in which no ROS 2 is sourced, so that hopmeter uses the Python registry (--set distribution=kilted)"
)
LIBRARIES = {"fastdds": "Fast DDS", "fastrtps": "Fast DDS", "ddsc": "Cyclone DDS", "zenohc": "zenoh"}
"""The middlewares' libraries, without the prefix `lib`, and the middlewares' names."""


def demand_ros2() -> None:
    """Check that the ROS 2 in the environment was built for this Python. Raises AdapterError."""
    # The ROS 2 packages from PyPI need no sourcing.
    if not os.environ.get("AMENT_PREFIX_PATH") and Path(sys.prefix, "share/ament_index").is_dir():
        os.environ["AMENT_PREFIX_PATH"] = sys.prefix
    _demand_python([Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if each])


def _demand_python(prefixes: list[Path]) -> None:
    """Raise AdapterError if rclpy was built for another Python version."""
    spec, this = find_spec("rclpy"), f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = (
        [Path(spec.origin)] if spec and spec.origin else [each for one in prefixes for each in one.glob("l*/**/rclpy")]
    )
    words = {word for place in places for word in place.parts if re.fullmatch(r"python3\.\d+", word)}
    if words and this not in words:
        other = max(words)
        raise AdapterError(
            f"the sourced ROS 2 is for {other}, but its nodes run with {this} ({sys.executable})",
            f"make {other} the system's python3, or {ANOTHER}",
        )


def middleware() -> str:
    """Return the name and version of the loaded middleware, or an empty string if the middleware is unknown."""
    loaded = Path("/proc/self/maps").read_text()
    found = re.search(rf"/lib({'|'.join(LIBRARIES)})\.so\.(\d[\d.]*)$", loaded, re.MULTILINE)
    return f"{LIBRARIES[found[1]]} {found[2]}" if found else ""


def segments() -> str:
    """Return the sizes of the Fast DDS shared-memory segments that this process has mapped, without ports and locks.

    Return an empty string if the process has mapped no segments.
    """
    paths = re.findall(
        r"(/dev/shm/fast(?:dds|rtps)_(?!port)[0-9a-f]+)$", Path("/proc/self/maps").read_text(), re.MULTILINE
    )
    sizes = set()
    for path in set(paths):
        with contextlib.suppress(OSError):
            sizes.add(Path(path).stat().st_size)
    return ", ".join(f"{size} bytes" for size in sorted(sizes))
