"""Accept the names of the previous release for one more release: in scenarios, command lines, stored runs and
manifests."""

from __future__ import annotations

import warnings
from typing import Any

KEYS = {"asking": "dispatch", "awake": "no_idle_states", "busy": "retry"}
"""The renamed keys of a scenario."""
VALUES = {
    "heap": {"kept": "retain"},
    "columns": {
        "asking": "dispatch",
        "copies_per_hop": "forward_copies_per_message",
        "misses": "missed",
        "miss_run": "missed_in_a_row",
        "miss_part": "missed_part",
        **{f"miss_share{end}": f"missed_share{end}" for end in ("", "_low", "_high")},
    },
}
"""The renamed values, by key or column."""
MANIFEST_KEYS = {"daemon": "broker", "tried": "conformance", "takes": "build_cost", "leaves": "leftover_files"}
"""The renamed keys of a manifest, including its language tables and its broker table."""
Table = dict[str, Any]


def rename_old_names(table: Table, source: str) -> Table:
    """Return a scenario's table in which old names are replaced with current names. Names in the table's cases are
    replaced too. The user is warned about each old name.

    `source` says in the warnings where the table comes from.
    """
    return _convert(table, source)


def convert_stored(table: Table) -> Table:
    """Return a stored run's table in which old names are replaced with current names. The user gets no warnings about
    old names in a stored run, because the user cannot change the run."""
    return _convert(table, "")


def rename_old_manifest_names(table: Table, source: str) -> Table:
    """Return a manifest's table in which old names are replaced with current names. The user is warned about each old
    name.

    `source` says in the warnings where the table comes from.
    """
    renamed: Table = _rename_keys(table, source)
    if isinstance(languages := renamed.get("languages"), dict):
        renamed["languages"] = {name: _rename_keys(part, source) for name, part in languages.items()}
    return renamed | {name: _rename_keys(renamed[name], source) for name in ("broker",) if name in renamed}


def _rename_keys(table: Any, source: str) -> Any:
    if not isinstance(table, dict):
        return table  # the later validation of the manifest reports the malformed table
    return {_key(key, source, MANIFEST_KEYS): value for key, value in table.items()}


def _convert(table: Table, source: str) -> Table:
    renamed = {_key(key, source, KEYS): _value(key, value, source) for key, value in table.items()}
    if isinstance(cases := renamed.get("case"), list):
        renamed["case"] = [_convert(case, source) if isinstance(case, dict) else case for case in cases]
    return renamed


def _key(key: str, source: str, names: dict[str, str]) -> str:
    if key not in names:
        return key
    _warn(f'"{key}" is now "{names[key]}"', source)
    return names[key]


def _value(key: str, value: Any, source: str) -> Any:
    if isinstance(value, list):
        return [_value(key, each, source) for each in value]
    new = VALUES.get(key, {}).get(value) if isinstance(value, str) else None
    if new is None:
        return value
    _warn(f'{key} "{value}" is now "{new}"', source)
    return new


def warn_of_old_option(old: str, new: str) -> None:
    """Warn the user about a command-line option that was renamed."""
    _warn(f'"{old}" is now "{new}"', "the command line")


def _warn(text: str, source: str) -> None:
    if source:
        warnings.warn(f"{source}: {text}; the next release will not accept the old name", FutureWarning, stacklevel=2)
