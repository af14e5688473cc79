"""The capabilities of a machine for planning tests: transport manifests without built nodes."""

from __future__ import annotations

from typing import Any

from hopmeter.manifest import Manifest, Readiness
from hopmeter.plan import Plan, make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.scenario import Scenario
from hopmeter.system.toml_files import validate

LANGUAGE = {"waits": ["spin", "block"], "library": "L"}


def transport(name: str, **given: Any) -> Manifest:
    table = {
        "name": name,
        "title": name,
        "summary": "S.",
        "placements": ["thread", "process"],
        "patterns": ["pubsub", "rpc"],
        "rpc": "duplex",
        "send": "nonblocking",
        "max_payload_bytes": 1000,
        "languages": {"rust": LANGUAGE, "python": LANGUAGE},
        **given,
    }
    return Manifest.model_validate(table)


def capabilities(
    *manifests: Manifest, unready: tuple[tuple[str, str], ...] = (), machine: Machine | None = None
) -> Capabilities:
    only_rust = {"rust": {"waits": ["spin", "block", "callback"], "library": "L"}}
    floors = [
        transport("memory", placements=["thread"], languages=only_rust),
        transport("shm", placements=["process"], languages=only_rust),
    ]
    known = {each.name: each for each in [*floors, *manifests]}
    ready = {
        (name, language): Readiness(name, language, ready=(name, language) not in unready, missing="it is not built")
        for name, one in known.items()
        for language in one.offers
    }
    return Capabilities(known, ready, machine or Machine((0, 1)))


def make_plan(where: Capabilities, **given: Any) -> Plan:
    """Plan a scenario with the given keys; keys with the value None are left out."""
    table = {"title": "t", "question": "q?", "transport": "bus", "language": "rust", "seed": 1, **given}
    scenario = {key: value for key, value in table.items() if value is not None}
    return make("s", validate(Scenario, scenario, "test"), where)
