"""The rmw that the environment selects: checks that the rmw exists, and returns its version."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from hopmeter.node.contract import AdapterError


def demand_rmw() -> None:
    """Check that the selected rmw exists. Call this function before rclpy is imported, because otherwise the import
    ends the process without naming a remedy."""
    import ament_index_python

    asked = os.environ.get("RMW_IMPLEMENTATION")
    here = sorted(set(ament_index_python.get_resources("rmw_typesupport")) - {"rmw_implementation"})
    if asked and asked not in here:
        raise AdapterError(
            f"RMW_IMPLEMENTATION selects {asked}, which this ROS 2 does not have",
            f"install that rmw, or name one that it has: {', '.join(here)}",
        )


def rmw_version(name: str) -> str:
    """Return the version from the rmw's package.xml, because no rmw reports its own version."""
    import ament_index_python

    with contextlib.suppress(LookupError, OSError):
        text = (Path(ament_index_python.get_package_share_directory(name)) / "package.xml").read_text()
        if found := re.search("<version>([^<]+)</version>", text):
            return f"{name} {found[1]}"
    return name
