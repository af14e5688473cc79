"""The names of the previous release, which scenarios, command lines and stored runs may still use for one release."""

from __future__ import annotations

import warnings
from typing import Any

KEYS = {"asking": "dispatch", "awake": "no_idle_states", "busy": "retry"}
"""Keys of a scenario."""
VALUES = {"heap": {"kept": "retain"}, "columns": {"asking": "dispatch"}}
"""Values, by key or column."""
Table = dict[str, Any]


def with_new_names(table: Table, source: str) -> Table:
    """Return a scenario's table, cases included, with today's names. Warns about each old name in `source`."""
    return _renewed(table, source)


def stored(table: Table) -> Table:
    """Do the same for a stored run, without warnings, since you cannot change it."""
    return _renewed(table, "")


def _renewed(table: Table, source: str) -> Table:
    renewed = {_key(key, source): _value(key, value, source) for key, value in table.items()}
    if isinstance(cases := renewed.get("case"), list):
        renewed["case"] = [_renewed(case, source) if isinstance(case, dict) else case for case in cases]
    return renewed


def _key(key: str, source: str) -> str:
    if key not in KEYS:
        return key
    _warn(f'"{key}" is now "{KEYS[key]}"', source)
    return KEYS[key]


def _value(key: str, value: Any, source: str) -> Any:
    if isinstance(value, list):
        return [_value(key, each, source) for each in value]
    new = VALUES.get(key, {}).get(value) if isinstance(value, str) else None
    if new is None:
        return value
    _warn(f'{key} "{value}" is now "{new}"', source)
    return new


def _warn(text: str, source: str) -> None:
    if source:
        warnings.warn(f"{source}: {text}; the next release no longer reads the old name", FutureWarning, stacklevel=2)
