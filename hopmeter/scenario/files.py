"""Finding and reading scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.model.old_names import with_new_names
from hopmeter.scenario.model import Scenario
from hopmeter.system import paths, toml_files


def every() -> dict[str, Path]:
    """The scenarios that come with hopmeter, by name."""
    return {path.stem: path for path in sorted(paths.scenario_folder().glob("*.toml"))}


def find_shipped(name: str) -> Path:
    """One that comes with hopmeter; `UsageError` where there is none, with the nearest that is."""
    known = every()
    if name not in known:
        raise UsageError(f"scenario {toml_files.one_of(name, known)}", "or name a .toml file")
    return known[name]


def find(asked: str) -> Path:
    """A scenario by its name or its path."""
    return Path(asked) if asked.endswith(".toml") or "/" in asked else find_shipped(asked)


def load(path: Path) -> tuple[Scenario, dict[str, Any]]:
    """A scenario and the table it was read from; `UsageError` lists everything that is wrong with it."""
    table = with_new_names(toml_files.read(path), str(path))
    return toml_files.validate(Scenario, table, str(path)), table


def schema() -> dict[str, Any]:
    """The JSON Schema by which editors complete a scenario."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(),
        "title": "hopmeter scenario",
    }
