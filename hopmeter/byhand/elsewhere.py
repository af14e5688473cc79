"""`PYTHON elsewhere.py MINOR first|last FOLDER ARGUMENTS…`: a participant on a Python without hopmeter.

It is lent hopmeter, and the packages installed beside hopmeter in FOLDER: before its own ones or after them. So a
middleware that only the system's Python has can carry objects of frameworks that only hopmeter's has.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

INSTALLED = ("site-packages", "dist-packages")


def join(place: str, folder: str) -> None:
    """Puts what is installed beside hopmeter on the search path."""
    own = [index for index, entry in enumerate(sys.path) if Path(entry).name in INSTALLED]
    sys.path.insert(own[0] if own and place == "first" else len(sys.path), folder)


def main(minor: str, place: str, folder: str, *arguments: str) -> None:
    """Runs it, where both Pythons can load the same compiled packages."""
    here = ".".join(map(str, sys.version_info[:2]))
    if here != minor:
        sys.exit(f"this transport's Python is {here} and hopmeter's {minor}: they cannot share packages")
    join(place, folder)
    package = Path(__file__).resolve().parents[1]
    runpy.run_path(str(package / "node/start.py"))["lend"](package)
    sys.argv = ["participant", *arguments]
    runpy.run_module("hopmeter.byhand.participant", run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
