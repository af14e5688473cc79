"""Servers that call another server before they reply must not deadlock, even with twenty nested calls in one
process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.cases import READINESS, READY, Case, for_each
from conformance.shared_broker import turn
from hopmeter import plan
from hopmeter.model.trial import TrialResult
from hopmeter.plan import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import execute_trial
from hopmeter.runtime.work import Work, programs
from hopmeter.scenario import Scenario
from hopmeter.system.scratch_dir import ScratchDir

CALLS = 10
RELAYS = 20
HARDEST_FIRST = ("callback", "block", "spin")
"""The waits, most difficult first. A callback may call a server from the thread that must deliver the server's
reply."""
SCENARIO = {
    "title": "Nested calls",
    "question": "Does every call come back?",
    "pattern": "rpc",
    "placement": "thread",
    "relays": RELAYS,
    "cores": "free",
    "payload": "timing",
    "pace": "closed",
    "messages": CALLS,
    "warmup": 0,
    "trials": 1,
    "timeout": "30s",
}


def nesting_cases() -> list[Case]:
    """Return a case, with its most difficult wait, for every adapter that supports calls within one process."""
    offers = [(manifest, language, manifest.offers[language]) for manifest, language in READY]
    return [
        Case(manifest, language, language, next(wait for wait in HARDEST_FIRST if wait in offer.waits))
        for manifest, language, offer in offers
        if "rpc" in offer.patterns and "thread" in offer.placements and not offer.objects
    ]


@for_each(nesting_cases())
def test_calls_pass_twenty_servers_of_one_process(case: Case, tmp_path: Path) -> None:
    result = run_trial(case, tmp_path)
    assert result.good, f"{result.reason}; {result.remedy}; {log_tails(tmp_path)}"
    endpoints = [each for node in result.nodes for each in node.get("endpoints", [])]  # brokers have no endpoints
    assert len(endpoints) == RELAYS + 2
    assert [each["received"] for each in endpoints] == [CALLS] * len(endpoints), endpoints


def run_trial(case: Case, folder: Path) -> TrialResult:
    """Run one trial with new nodes and a new broker, and return its result."""
    cell = plan_cell(case)
    work = Work(cell, 0, 0, 0, case.manifest, programs(cell, READINESS), logs=folder)
    with turn(case.manifest), Alarm() as alarm, ScratchDir() as scratch, execute_trial(work, scratch, alarm) as outcome:
        return outcome.result


def plan_cell(case: Case) -> Cell:
    """Return the cell of the case without its floors."""
    name = case.manifest.name
    scenario: dict[str, Any] = {**SCENARIO, "transport": name, "language": case.sender, "wait": case.wait}
    capabilities = Capabilities(
        {name: case.manifest}, {key: each for key, each in READINESS.items() if key[0] == name}, Machine.here()
    )
    cells = plan.make("nesting", Scenario.model_validate(scenario), capabilities).cells
    candidates = [cell for cell in cells if cell.axes.transport == name]
    # `synthetic` is not ranked, and `memory` is its own floor.
    cell = next((cell for cell in candidates if cell.comparison.ranked), candidates[0])
    assert not cell.dropped, cell.dropped
    return cell


def log_tails(folder: Path) -> str:
    """Return the last lines of each node's log."""
    return "\n".join(log.read_text(errors="replace")[-2000:] for log in sorted(folder.iterdir()) if log.is_file())
