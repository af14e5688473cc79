"""Find and read scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.model.old_names import rename_old_names
from hopmeter.scenario.model import Scenario
from hopmeter.system import paths, toml_files


def every() -> dict[str, Path]:
    """Return the scenarios that hopmeter ships, by name."""
    return {path.stem: path for path in sorted(paths.scenario_folder().glob("*.toml"))}


def find_shipped(name: str) -> Path:
    """Return the path of a shipped scenario. If there is no such scenario, raises UsageError with the most similar
    name."""
    known = every()
    if name not in known:
        raise UsageError("E-UNKNOWN-SCENARIO", f"scenario {toml_files.one_of(name, known)}", "or name a .toml file")
    return known[name]


def find(asked: str) -> Path:
    """Return the path of a scenario, given its name or its path."""
    return Path(asked) if asked.endswith(".toml") or "/" in asked else find_shipped(asked)


def load(path: Path) -> tuple[Scenario, dict[str, Any]]:
    """Return a scenario, and the TOML table that it was read from. Raises UsageError with all errors at once."""
    written, text = toml_files.read_with_text(path)
    table = rename_old_names(written, str(path))
    return toml_files.validate(Scenario, table, str(path), text), table


def schema() -> dict[str, Any]:
    """Return the JSON Schema that editors use to complete a scenario."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(),
        "title": "hopmeter scenario",
    }
