"""Write the first file of a workload: a commented example, or a topology of another benchmark."""

from __future__ import annotations

from pathlib import Path

from hopmeter.errors import HopmeterError, UsageError
from hopmeter.scenario.topology_import import format_scenario, read_topology

EXAMPLE = Path(__file__).with_name("workload_example.toml")


def create_workload(file: Path, topology: Path | None, overwrite: bool) -> None:
    """Write the example, or the workload of a topology file.

    Raises UsageError if the file exists and must not be overwritten, or if the topology cannot be read.
    """
    if file.suffix != ".toml":
        raise UsageError("E-NAME", f"{file} does not end with .toml", f"write {file.name}.toml")
    text = EXAMPLE.read_text(encoding="utf-8")
    if topology is not None:
        title = topology.stem.replace("_", " ").replace("-", " ").title()
        text = format_scenario(read_topology(topology), title, topology.name)
    try:
        with file.open("w" if overwrite else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError as cause:
        raise UsageError("E-EXISTS", f"{file} exists already", "choose another name, or give --force") from cause
    except OSError as cause:
        raise HopmeterError(
            "E-WRITE-FAILED", f"{file} cannot be written: {cause.strerror}", "check the path"
        ) from cause
