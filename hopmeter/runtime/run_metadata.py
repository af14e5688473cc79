"""The metadata in `run.json`: the requested run, the programs and the machine."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import hopmeter
from hopmeter.manifest import Readiness
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.rules import adapters


def about(plan: Plan, capabilities: Capabilities, command: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a run. The function runs short probes of the machine."""
    nodes = _nodes(plan, capabilities)
    return {
        "scenario_name": plan.name,
        "title": plan.scenario.title,
        "question": plan.scenario.question,
        "quick": plan.scenario.quick,
        "columns": plan.scenario.columns,
        "scenario": plan.scenario.model_dump(exclude_none=True, by_alias=True),
        "seed": plan.seed,
        "command": list(command),
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "hopmeter": hopmeter.__version__,
        "python": platform.python_version(),
        "versions": {name: node.version for name, node in nodes.items()},
        "builds": {name: _build(node) for name, node in nodes.items()},
        "cells": [cell.as_json() for cell in plan.cells],
        **_machine(all(cell.nodes.no_idle_states for cell in plan.runnable)),
    }


def _nodes(plan: Plan, capabilities: Capabilities) -> dict[str, Readiness]:
    found: dict[str, Readiness] = {}
    for carrier, language in (each for cell in plan.runnable for each in adapters(cell)):
        node = capabilities.node(carrier.transport, language, carrier.settings)
        assert node is not None, "the cell is runnable"
        chosen = capabilities.manifests[carrier.transport].for_settings(carrier.settings).choice
        found[f"{carrier.transport} ({', '.join([language, *chosen])})"] = node
    return found


def _build(node: Readiness) -> str:
    said = (str(node.about.get(key) or "") for key in ("compiler", "flags"))
    return " ".join(word for word in said if word)


def _machine(no_idle_states: bool) -> dict[str, Any]:
    """Return the machine description of `hopmeter doctor`. If a probe of the machine fails, the error is stored instead
    of the probe's result, and the run continues."""
    from hopmeter.machine import advice, description, noise

    described: dict[str, Any] = {}
    looks: dict[str, Callable[[], Any]] = {
        "machine": lambda: described.update(description.describe()) or described,
        "doctor": lambda: advice.findings({**described, "no_idle_states": no_idle_states}),
        "noise": noise.noise_probe,
        "instrument": noise.own_cost,
    }
    return {name: _json_or_error(look) for name, look in looks.items()}


def _json_or_error(look: Callable[[], Any]) -> Any:
    try:
        # The conversion to JSON and back raises an error for a value that JSON cannot represent, before the metadata is
        # stored.
        return json.loads(json.dumps(look()))
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, IndexError) as failed:
        return {"unknown": f"{type(failed).__name__}: {failed}"}
