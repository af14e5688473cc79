"""Describe, for the spec of a node, which received messages cause an endpoint to send a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.model.workload import Flow
from hopmeter.plan.topology import Endpoint


def causes(
    folder: Path, one: Endpoint, flow: Flow, hosted: Sequence[Endpoint], flows: Mapping[int, Flow]
) -> dict[str, Any]:
    """Return the spec entries that describe what causes the messages of a sending endpoint, or an empty dict if nothing
    does.

    Each cause is a receiving endpoint on the node of the sending endpoint. The sender follows the cause, takes the
    newest message of the cause, or waits for messages that return to the cause.
    """
    arrivals = _arrivals(hosted, flows)
    if one.role in ("sink", "server") or not (flow.after or flow.latest or flow.during or flow.returns):
        return {}
    if flow.returns:
        return {"returns": arrivals[flow.returns]}
    told: dict[str, Any] = {"causes": str(folder / f"{one.id}.causes")}
    if flow.latest:
        return told | {"latest": arrivals[flow.latest]}
    names = [flow.during] if flow.during else flow.after
    return told | {
        "after": [arrivals[name] for name in names],
        "join": flow.join,
        "every": flow.every,
        "repeat": flow.repeat,
    }


def _arrivals(hosted: Sequence[Endpoint], flows: Mapping[int, Flow]) -> dict[str, int]:
    """Return the receiving endpoint of each flow that arrives at a node, directly or over a bridge, keyed by flow
    name."""
    ends = [(flows[each.flow], each.id) for each in hosted if each.role in ("sink", "server")]
    return {flow.bridged or flow.name: number for flow, number in ends}
