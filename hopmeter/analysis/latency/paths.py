"""Compute the reaction time and the data age of a workload's paths.

The definitions follow Günzel and others, "On the Equivalence of Maximum Reaction Time and Maximum Data Age for
Cause-Effect Chains" (doi 10.1145/3703630). hopmeter applies these definitions to every message, not only to the
maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.latency.arrivals import Times, minus
from hopmeter.analysis.latency.host_clocks import ClockUncertainty
from hopmeter.analysis.latency.trial_pairs import pairs
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow
from hopmeter.plan.topology import topology
from hopmeter.plan.workloads.workload_cells import flow_cell
from hopmeter.store.causes import Causes, read_causes
from hopmeter.store.samples import NONE_NS, Samples

UNKNOWN = -1
"""The cause number of a message with an unknown cause."""
NEVER = np.iinfo(np.int64).max

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PathTimes:
    """The times of a path in one trial."""

    due: Times
    """The due time of each message of the first flow."""
    effect: Times
    """The arrival time of the first effect of each message of the first flow. The effect of a newer message counts if
    it arrived earlier."""
    data_age: Times
    """The age, in ns, of the first flow's message that caused each message of the last flow. Messages with an unknown
    cause are left out."""
    clock: ClockUncertainty
    """The clock uncertainty of these times, or zero if the path starts and ends on the same clock."""

    @property
    def reaction(self) -> Times:
        """The reaction time, in ns, of each message of the first flow that had an effect."""
        return minus(self.effect, self.due)


def path_times(cell: Cell, file: Path) -> PathTimes:
    """Return the times of a path in one trial. The argument `cell` is the row of the path.

    Raises StoreError if the samples or the causes are damaged.
    """
    assert cell.workload is not None, "only a workload has paths"
    samples, causes = Samples(file), read_causes(file)
    whole = replace(cell, path="")
    flows = cell.workload.route(cell.path)
    first, last = (next(pairs(flow_cell(whole, flow), samples)) for flow in (flows[0], flows[-1]))
    origin = _origins(whole, flows, causes, last.messages)
    due, host = first.due_times, first.lanes[0].host
    done, uncertainty = last.completion_on(host)
    known = (origin != UNKNOWN) & (origin < len(due)) & (done != NONE_NS)
    effect = _first_effects(origin[known], done[known], len(due))
    in_time = due <= _last_but_one_look(whole, flows[1:], samples, host)
    return PathTimes(due[in_time], effect[in_time], minus(done[known], due[origin[known]]), uncertainty)


def _last_but_one_look(cell: Cell, flows: Sequence[Flow], samples: Samples, host: str) -> int:
    """Return the time of the second-to-last lookup of the newest message, on the clock of `host`. If several flows of
    the path use the newest message (`latest`), the earliest of their lookups is returned.

    If a message is due after the second-to-last lookup, its effect may come only after the trial. A message without an
    effect before the end of the trial would give a reaction time that says nothing about the transport.
    """
    looks = (next(pairs(flow_cell(cell, flow), samples)).due_on(host) for flow in flows if flow.latest)
    return min((int(np.sort(times)[-2:][0]) for times in looks if len(times)), default=NEVER)


def _origins(cell: Cell, flows: Sequence[Flow], causes: Causes, messages: int) -> Numbers:
    """Return, for each message of the last flow, the number of the first flow's message that caused it. The number is
    UNKNOWN if any cause in the chain is unknown."""
    numbers = np.arange(messages)
    for before, flow in reversed(list(pairwise(flows))):
        numbers = _step(_cause_numbers(cell, before, flow, causes), numbers)
    return numbers


def _step(caused_by: Numbers, numbers: Numbers) -> Numbers:
    known = (numbers != UNKNOWN) & (numbers < len(caused_by))
    stepped = np.full(len(numbers), UNKNOWN)
    stepped[known] = caused_by[numbers[known]]
    return stepped


def _cause_numbers(cell: Cell, before: Flow, flow: Flow, causes: Causes) -> Numbers:
    """Return, for each message of a flow, the number of the previous flow's message that caused it."""
    ends = topology(cell).flows
    sender = ends[flow.number][0].id
    receiver = ends[before.number][1 + before.targets.index(flow.source)].id
    mine = (causes["endpoint"] == sender) & (causes["cause_endpoint"] == receiver)
    seqs = causes["seq"][mine]
    numbers = np.full(int(seqs.max(initial=UNKNOWN)) + 1, UNKNOWN)
    numbers[seqs] = causes["cause_seq"][mine]
    return numbers


def _first_effects(origin: Numbers, done: Times, messages: int) -> Times:
    """Return when the first effect of each message arrived at the end of the path. If the effect of a newer message
    arrived earlier, the earlier arrival is used. The time of a message without effect is NONE_NS."""
    earliest = np.full(messages, NEVER)
    np.minimum.at(earliest, origin, done)
    effect: Times = np.minimum.accumulate(earliest[::-1])[::-1]
    return np.where(effect == NEVER, NONE_NS, effect)
