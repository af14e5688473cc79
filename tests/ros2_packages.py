"""ROS 2 message packages that no installation contains.

All tests share the packages, because generating their code takes a minute.
"""

from __future__ import annotations

from pathlib import Path

DEFINITIONS = {
    "inner_msgs/msg/Part": "float32 size\nint8[3] place",
    "wheel_msgs/msg/Wheels": "inner_msgs/Part[2] parts\nbool is_on\nstring<=5 name",
    "wheel_msgs/msg/Drive": "std_msgs/Header header\nstring[] names\nWheels wheels\n"
    "wstring wide\nwstring<=4[2] more\nuint8[] data",
}
"""The message definitions: `Wheels` has a bounded size and no header, and `Drive` has a header."""


def write_packages(folder: Path) -> None:
    """Write each definition to a file that has the definition's name."""
    for name, text in DEFINITIONS.items():
        file = folder / f"{name}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
