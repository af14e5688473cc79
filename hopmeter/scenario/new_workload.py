"""Writes a first workload file: a commented example, or a workload converted from another benchmark's topology."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import HopmeterError, UsageError
from hopmeter.scenario.model import Scenario
from hopmeter.scenario.topology.converter import read_topology
from hopmeter.scenario.topology.nodes import topology_error
from hopmeter.scenario.topology.text import format_scenario
from hopmeter.system.toml_files import SUFFIX, validate

EXAMPLE = Path(__file__).with_name("workload_example.toml")


@dataclass(frozen=True)
class NewWorkload:
    """The file that was written, and notes about parts of the topology that were changed or omitted."""

    file: Path
    notes: Sequence[str] = ()


def create_workload(named: Path | None, topologies: Sequence[Path], overwrite: bool) -> NewWorkload:
    """Write the example workload, or a workload converted from topology files. The suffix `.toml` is added if it is
    missing.

    Raises UsageError if the file exists and must not be overwritten, or if the topology cannot be read.
    """
    file = _file_of(named, topologies)
    text, notes = _topology_text(topologies) if topologies else (EXAMPLE.read_text(encoding="utf-8"), [])
    try:
        with file.open("w" if overwrite else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError as cause:
        raise UsageError("E-EXISTS", f"{file} exists already", "choose another name, or give --force") from cause
    except OSError as cause:
        raise HopmeterError(
            "E-WRITE-FAILED", f"{file} cannot be written: {cause.strerror}", "check the path"
        ) from cause
    return NewWorkload(file, notes)


def _file_of(named: Path | None, topologies: Sequence[Path]) -> Path:
    if named is None:
        return Path(f"{topologies[0].stem.replace('_', '-')}{SUFFIX}" if topologies else f"workload{SUFFIX}")
    return named if named.suffix == SUFFIX else named.with_name(f"{named.name}{SUFFIX}")


def _topology_text(topologies: Sequence[Path]) -> tuple[str, list[str]]:
    """Return a topology's scenario text, and notes about it.

    The scenario text is validated like a scenario that a user wrote.
    """
    title = topologies[0].stem.replace("_", " ").replace("-", " ").title()
    graph = read_topology(topologies)
    text = format_scenario(graph, title, " and ".join(each.name for each in topologies))
    try:
        validate(Scenario, tomllib.loads(text), str(topologies[0]), text)
    except UsageError as wrong:
        raise topology_error(topologies[0], f"its workload would not be valid: {wrong.what}") from wrong
    return text, graph.notes
