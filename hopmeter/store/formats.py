"""Define the format of a run folder, and convert folders from earlier formats to the current format.

In format 1, a cell's values were in a flat table, some columns and values had different names, and endpoints were
called participants.
"""

from __future__ import annotations

from typing import Any

import hopmeter
from hopmeter.errors import UsageError
from hopmeter.model import old_names
from hopmeter.model.cell import Cell

FORMAT = 2
OF_TRIALS = {f"misses{end}": f"missed{end}" for end in ("", "_least", "_most")}
RENAMED = {
    "cells": old_names.VALUES["columns"],
    "samples": {"participant": "endpoint", "intended_ns": "due_ns"},
    "trials": OF_TRIALS,
    "flows": OF_TRIALS,
}
"""The renamed columns of earlier runs, by table."""
OLD_KEYS = {"asking": "dispatch", "awake": "no_idle_states", "busy_s": "retry_s"}
"""The renamed keys of a cell in format 1."""


def convert_run(about: dict[str, Any]) -> dict[str, Any]:
    """Convert the content of `run.json` to the current format. Raises UsageError if a later version of hopmeter wrote
    the file."""
    stored = about.get("format", 1)
    if stored == FORMAT:
        return _rename_columns(about)
    if not isinstance(stored, int) or stored > FORMAT:
        raise UsageError(
            "E-RUN-FORMAT",
            f"the run has format {stored}, but this hopmeter reads up to {FORMAT}",
            f"read it with a newer hopmeter{_maker(about)}",
        )
    converted = {**about, "format": FORMAT, "cells": [_cell(row) for row in about.get("cells", [])]}
    if isinstance(scenario := about.get("scenario"), dict):
        converted["scenario"] = old_names.convert_stored(scenario)
    return _rename_columns(converted)


def _rename_columns(about: dict[str, Any]) -> dict[str, Any]:
    """Rename the additional columns in a scenario to the columns' current names."""
    columns = about.get("columns")
    return {**about, "columns": [RENAMED["cells"].get(name, name) for name in columns]} if columns else about


def _maker(about: dict[str, Any]) -> str:
    """Return a text that names the version of hopmeter that wrote the run. A development version may have the version
    number of the running hopmeter and still be newer."""
    made = about.get("hopmeter")
    if made is None:
        return ""
    return f": a newer state of this version, {made}, made it" if made == hopmeter.__version__ else f": {made} made it"


def _cell(row: dict[str, Any]) -> dict[str, Any]:
    return Cell.of(**_rename(row, OLD_KEYS)).as_json()


def convert_row(row: dict[str, Any]) -> dict[str, Any]:
    """Convert the column names of a row of `cells.parquet` to the current names. If an old row lacks the column
    `carried_by`, its column `path` has the meaning of `carried_by`."""
    names = RENAMED["cells"] if "carried_by" in row else RENAMED["cells"] | {"path": "carried_by"}
    return _rename(row, names)


def convert_nodes(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert the reports of a trial's nodes and broker to the current format."""
    return [_rename(node, {"participants": "endpoints"}) | _facts(node) for node in nodes]


def _facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a node with current key names, or an empty dict if the node has no facts."""
    return {"facts": _rename(node["facts"], {"daemon": "broker"})} if "facts" in node else {}


def _rename(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Replace former names of keys and values with current names."""
    return {names.get(name, name): _word(name, value) for name, value in values.items()}


def _word(name: str, value: Any) -> Any:
    words = old_names.VALUES.get(name)
    return words.get(value, value) if words else value
