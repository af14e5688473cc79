"""Packages of messages that no installation of ROS 2 has. The code of these types takes a minute to generate, so all
tests use the same ones."""

from __future__ import annotations

from pathlib import Path

DEFINITIONS = {
    "inner_msgs/msg/Part": "float32 size\nint8[3] place",
    "wheel_msgs/msg/Wheels": "inner_msgs/Part[2] parts\nbool is_on\nstring<=5 name",
    "wheel_msgs/msg/Drive": "std_msgs/Header header\nstring[] names\nWheels wheels\n"
    "wstring wide\nwstring<=4[2] more\nuint8[] data",
}
"""`Wheels` has a limited size and no header, `Drive` a header."""


def write_packages(folder: Path) -> None:
    """Write the definitions into a folder, each at its name."""
    for name, text in DEFINITIONS.items():
        file = folder / f"{name}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
