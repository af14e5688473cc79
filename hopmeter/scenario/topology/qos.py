"""Converts a topology's quality of service to settings of the transports that support it.

Policies that no transport supports are reported as notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.discovery import every
from hopmeter.manifest.model import Manifest
from hopmeter.scenario.topology.nodes import ENDS, End, Keys, Node

PREFIX = "qos_"
DEFAULTS: dict[str, Any] = {"reliability": "reliable", "durability": "volatile", "history": "keep-last", "depth": 10}
"""The policies that transports have as settings, each with the value for endpoints that do not name the policy."""
NO_EFFECT = ("default", "system-default", "false", "unknown")
"""The values that leave a policy unchanged."""
WEAKER = {"reliability": "best-effort", "durability": "volatile"}
"""The value that applies to a connection if either endpoint has it."""


def policies(keys: Keys) -> dict[str, Any]:
    """Return the policies that an endpoint names, without values that have no effect."""
    named = {key.removeprefix(PREFIX): value for key, value in keys.items() if key.startswith(PREFIX)}
    plain = {name: _plain(name, value) for name, value in named.items()}
    return {name: value for name, value in plain.items() if value not in NO_EFFECT}


def _plain(policy: str, value: Any) -> Any:
    """Convert a value to the form of settings.

    Older topology files contain values such as `RMW_QOS_POLICY_RELIABILITY_RELIABLE`.
    """
    if not isinstance(value, str):
        return value
    word = value.lower().removeprefix("rmw_qos_").removeprefix("policy_").removeprefix(f"{policy}_")
    return word.replace("_", "-")


def flow_policies(ends: Iterable[End]) -> dict[str, Any]:
    """Return the policies of the flow between a sender and its receivers. The first element of `ends` must be the
    sender."""
    every_end = [{**DEFAULTS, **policies(end.keys)} for end in ends]
    shared = {name: every_end[0][name] for name in DEFAULTS}
    weak = {name: value for name, value in WEAKER.items() if any(end[name] == value for end in every_end)}
    return shared | weak


def settings_for(flows: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the settings of each transport that supports the flows' common policies, and notes on policies that cannot
    be set."""
    chosen: dict[str, Any] = {}
    notes = []
    for policy, default in DEFAULTS.items():
        names: dict[Any, list[str]] = {}
        for name, each in flows.items():
            names.setdefault(each[policy], []).append(name)
        if len(names) > 1:
            listed = "; ".join(f"{value} for {', '.join(of)}" for value, of in names.items())
            notes.append(f"Not part of the workload: {PREFIX}{policy}, because all flows of a cell share it: {listed}.")
        elif names and default not in names:
            chosen[policy] = next(iter(names))
    return _by_transport(chosen), notes


def _by_transport(chosen: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = {
        name: {key: value for key, value in chosen.items() if _has(one, key, value)} for name, one in every().items()
    }
    return {name: values for name, values in found.items() if values}


def _has(manifest: Manifest, name: str, value: Any) -> bool:
    """Return whether a transport supports this policy value as a setting.

    Without the setting `reliability`, settings such as `depth` have a different meaning.
    """
    if "reliability" not in manifest.settings or name not in manifest.settings:
        return False
    try:
        manifest.settings[name].check(value)
    except RefusedValueError:
        return False
    return True


def other_policies(nodes: Iterable[Node]) -> list[str]:
    """Return notes on the policies that no transport supports as a setting."""
    found = [
        (name, value) for node in nodes for kind in ENDS for end in node.ends(kind) for name, value in _others(end)
    ]
    return [
        f"Not part of the workload: {PREFIX}{name} = {value}, of {found.count((name, value))} publishers, subscribers, "
        "clients or servers."
        for name, value in dict.fromkeys(found)
    ]


def _others(end: End) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in policies(end.keys).items() if name not in DEFAULTS]
