"""Finds and reads scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.model.old_names import rename_old_names
from hopmeter.scenario.model import Scenario
from hopmeter.system import paths, toml_files
from hopmeter.system.toml_files import SUFFIX
from hopmeter.system.toml_lines import line_of


def every() -> dict[str, Path]:
    """Return the paths of the built-in scenarios, by name."""
    return {path.stem: path for path in sorted(paths.scenario_folder().glob("*.toml"))}


def find_shipped(name: str) -> Path:
    """Return the path of a built-in scenario.

    Raises UsageError with the most similar name if there is no such scenario.
    """
    known = every()
    if name not in known:
        raise UsageError("E-UNKNOWN-SCENARIO", f"scenario {toml_files.one_of(name, known)}", "or name a .toml file")
    return known[name]


def find(asked: str) -> Path:
    """Return the path of a scenario, given its name or path.

    The suffix `.toml` may be omitted from the path unless a built-in scenario has the same name.
    """
    if asked.endswith(SUFFIX):
        return Path(asked)
    if "/" in asked:
        return toml_files.complete_name(Path(asked))
    written = Path(f"{asked}{SUFFIX}")
    return written if asked not in every() and written.is_file() else find_shipped(asked)


def load(path: Path) -> tuple[Scenario, dict[str, Any]]:
    """Return a scenario and its TOML table. Raises a UsageError that lists all errors in the file."""
    written, text = toml_files.read_with_text(path)
    table = rename_old_names(written, str(path))
    _check_tables(table, path, text)
    if isinstance(folders := table.get("include"), list):
        table["include"] = [
            str(path.parent / Path(each).expanduser()) if isinstance(each, str) else each for each in folders
        ]
    return toml_files.validate(Scenario, table, str(path), text), table


def _check_tables(table: dict[str, Any], path: Path, text: str) -> None:
    """Raise UsageError if all tables of a workload are empty, because such a scenario would be read as one without a
    workload."""
    named = [name for name in ("participant", "flow", "path") if name in table]
    if named and not any(table[name] for name in named):
        needs = "a workload needs participants and flows in it, and any other scenario must omit it"
        said = f"{named[0]}: the table is empty; {needs}"
        line = line_of(text, (named[0],))
        raise UsageError("E-MISSING-KEY", f"{path}:{line}: {said}", "fill in the tables, or remove them")


def schema() -> dict[str, Any]:
    """Return the JSON Schema that editors use to complete and validate a scenario."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(),
        "title": "hopmeter scenario",
    }
