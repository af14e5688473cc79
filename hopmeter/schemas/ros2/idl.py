"""Reads `.idl` definitions.

ROS 2's own parser reads an `.idl` file, and hopmeter then writes a `.msg` or `.srv` file with the same fields.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.schemas.ros2.parser import read_definition
from hopmeter.system import paths

SUFFIX = ".idl"
PARSER = "rosidl_parser"
PROGRAM = Path(__file__).with_name("idl_program.py")
PATIENCE_S = 60
SYSTEM = "/usr/lib/python3/dist-packages"
"""The package directory that contains the parser's dependencies on a Linux distribution."""
REMEDY = "run `hopmeter build ros2`, or source a ROS 2"


def convert(file: Path) -> Path:
    """Return the file `PACKAGE/msg/TYPE.msg` or `PACKAGE/srv/TYPE.srv` with the fields of an `.idl` file. Each `.idl`
    file is converted only once, because the converted file is stored.

    Raises UsageError if no ROS 2 installation can parse the file, or if the file contains unsupported constructs.
    """
    text = read_definition(file)
    digest = blake2b(text.encode() + PROGRAM.read_bytes(), digest_size=8).hexdigest()
    folder = paths.codec_folder() / f".idl-{digest}"
    known = next(folder.glob(f"*/*/{file.stem}.*"), None) or _write(folder, _parse(text, file))
    if known.stem != file.stem or known.parent.name != file.parent.name:
        what = f"{file} defines {known.parent.parent.name}/{known.parent.name}/{known.stem}"
        raise UsageError("E-SCHEMA", what, f"name the file {known.parent.name}/{known.stem}{SUFFIX}, as ROS 2 does")
    return known


def _write(folder: Path, parsed: dict[str, str]) -> Path:
    file = folder / f"{parsed['name']}.{parsed['name'].split('/')[1]}"
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(parsed["text"])
    partial.rename(file)
    return file


def _parse(text: str, file: Path) -> dict[str, str]:
    """Return the full name and the `.msg` or `.srv` text of an IDL definition.

    Raises UsageError if the definition cannot be parsed.
    """
    places = list(_places())
    if not places:
        raise UsageError(
            "E-FRAMEWORK-MISSING", f"{PARSER} of ROS 2 reads {SUFFIX} files, but ROS 2 is not installed here", REMEDY
        )
    command = [sys.executable, "-I", str(PROGRAM), *places, SYSTEM]
    try:
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as cause:
        what = f"{PARSER} did not read {file} within {PATIENCE_S} s"
        raise UsageError("E-SCHEMA", what, "shorten the file") from cause
    if ran.returncode != 0:
        why = (ran.stderr.strip().splitlines() or [f"it ended with {ran.returncode}"])[-1]
        raise UsageError("E-SCHEMA", f"{file} is not read: {why}", "correct the file, or write a .msg or .srv file")
    return dict(json.loads(ran.stdout))


def _places() -> Iterator[str]:
    """Yield each directory that contains ROS 2's IDL parser.

    The sourced ROS 2 comes before the ROS 2 installations that hopmeter has created.
    """
    prefixes = [Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if each]
    for prefix in (*prefixes, *sorted(paths.environment_folder().glob("*"))):
        for pattern in ("lib", "local/lib"):
            yield from (str(each.parent) for each in sorted(prefix.glob(f"{pattern}/python*/*-packages/{PARSER}")))
