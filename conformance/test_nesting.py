"""A server that asks the next one before it answers, twenty deep and all in one process: nobody waits for himself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.cases import ANSWERS, READY, Case, every
from hopmeter import plan
from hopmeter.model.trial import TrialResult
from hopmeter.plan import Cell
from hopmeter.plan.cores import Machine
from hopmeter.plan.expand import World
from hopmeter.runtime.signals import Alarm
from hopmeter.runtime.trial import Work, executed
from hopmeter.scenario import Scenario
from hopmeter.system.scratch_dir import ScratchDir

CALLS = 10
RELAYS = 20
HARDEST_FIRST = ("callback", "block", "spin")
"""A server that is called may be called on the thread that has to bring it its own reply."""
ASKED = {
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


def nested() -> list[Case]:
    """Every adapter with calls that one process can hold, in the hardest wait it has."""
    offers = [(manifest, language, manifest.offers[language]) for manifest, language in READY]
    return [
        Case(manifest, language, language, next(wait for wait in HARDEST_FIRST if wait in offer.waits))
        for manifest, language, offer in offers
        if "rpc" in offer.patterns and "thread" in offer.placements and not offer.objects
    ]


@every(nested())
def test_calls_pass_twenty_servers_of_one_process(case: Case, tmp_path: Path) -> None:
    result = measured(case, tmp_path)
    assert result.good, f"{result.reason}; {result.remedy}; {said(tmp_path)}"
    told = [each for node in result.nodes for each in node.get("participants", [])]  # brokers have none
    assert len(told) == RELAYS + 2
    assert [each["received"] for each in told] == [CALLS] * len(told), told


def measured(case: Case, folder: Path) -> TrialResult:
    """One trial of the one cell, with fresh nodes and daemons."""
    cell = planned(case)
    ready = {case.sender: ANSWERS[case.manifest.name, case.sender]}
    work = Work(cell, 0, 0, 0, case.manifest, ready, logs=folder)
    with Alarm() as alarm, ScratchDir() as ground, executed(work, ground, alarm) as outcome:
        return outcome.result


def planned(case: Case) -> Cell:
    """What is asked, without the floors that come along."""
    name = case.manifest.name
    asked: dict[str, Any] = {**ASKED, "transport": name, "language": case.sender, "wait": case.wait}
    world = World({name: case.manifest}, {key: each for key, each in ANSWERS.items() if key[0] == name}, Machine.here())
    cells = plan.make("nesting", Scenario.model_validate(asked), world).cells
    candidates = [cell for cell in cells if cell.axes.transport == name]
    # The synthetic transport is in no ranking, and memory is its own floor.
    cell = next((cell for cell in candidates if cell.comparison.ranked), candidates[0])
    assert not cell.dropped, cell.dropped
    return cell


def said(folder: Path) -> str:
    """The ends of the nodes' logs."""
    return "\n".join(log.read_text(errors="replace")[-2000:] for log in sorted(folder.iterdir()) if log.is_file())
