"""Check whether spinning or real-time threads of a workload would block a core for other threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import PER_FLOW, Participant, Workload
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.topology import Endpoint, core_of, topology
from hopmeter.plan.workloads.crowding import why_spinning


def why_no_threads(cell: Cell, capabilities: Capabilities) -> str:
    """Return why a workload's threads cannot run on this machine as requested, or an empty string if they can."""
    workload = cell.workload
    assert workload is not None, "an ordinary cell has its own rule"
    return (
        _why_no_limit(workload)
        or _why_no_priority(workload, capabilities)
        or _why_others_starve(cell, capabilities)
        or _why_too_many(cell, capabilities)
    )


def _why_no_limit(workload: Workload) -> str:
    limited = [each.name for each in workload.participants if each.wait == "spin" and each.threads != PER_FLOW]
    if not limited:
        return ""
    said = f"participant {limited[0]}: each of its flows spins on a separate thread, so `threads` has no effect"
    return tag("D-SPINNING-THREADS", f'{said}; use wait = "block" or "callback", or omit threads')


def _why_no_priority(workload: Workload, capabilities: Capabilities) -> str:
    """Return a reason if a participant requests a priority that this user may not set, otherwise an empty string."""
    for each in workload.participants:
        if each.fifo > capabilities.highest_priority:
            most = f"at most {capabilities.highest_priority}" if capabilities.highest_priority else "none"
            said = f"participant.{each.name}.fifo = {each.fifo}: this user may use no such SCHED_FIFO priority ({most})"
            remedy = "run as root, raise the limit `rtprio` in /etc/security/limits.conf, or omit fifo"
            return tag("D-NO-REAL-TIME", f"{said}; {remedy}")
    return ""


def _why_others_starve(cell: Cell, capabilities: Capabilities) -> str:
    """Return a reason if a thread of a participant would keep other threads from running, otherwise an empty string.

    A spinning thread with a SCHED_FIFO priority never yields to threads of lower priority. A spinning real-time thread
    needs a core of its own, and one more core must remain free.
    """
    greedy = [each for each in _spinning_threads(cell) if each.participant.fifo]
    if not greedy:
        return ""
    if len(greedy) >= len(capabilities.machine.allowed):
        threads = f"it and the other participants with fifo have {len(greedy)} spinning threads"
        left = f"of {len(capabilities.machine.allowed)} cores one has to be left"
        return _fifo_reason(greedy[0].participant, f"{threads}, and {left}")
    cores = [core_of(cell, each.end) for each in greedy]
    others = [core_of(cell, end) for end in topology(cell).endpoints if end not in [each.end for each in greedy]]
    for each, core in zip(greedy, cores, strict=True):
        if core is not None and (core in others or cores.count(core) > 1):
            said = f"its spinning thread would keep core {core} from other threads that share it"
            return _fifo_reason(each.participant, said)
    return ""


def _fifo_reason(one: Participant, said: str) -> str:
    named = f'participant.{one.name}.fifo = {one.fifo} with wait = "spin": {said}'
    return tag("D-FIFO-SPINNING", f'{named}; use wait = "block", other cores, or omit fifo')


def _why_too_many(cell: Cell, capabilities: Capabilities) -> str:
    threads, cores = len(list(_spinning_threads(cell))), len(capabilities.machine.allowed)
    return why_spinning(threads, cores) if threads > cores else ""


@dataclass(frozen=True)
class _Thread:
    """A thread that waits for messages or replies, with its endpoint and its participant."""

    end: Endpoint
    participant: Participant


def _spinning_threads(cell: Cell) -> Iterator[_Thread]:
    """Yield the spinning threads of a workload. An endpoint has one thread per concurrent call."""
    workload = cell.workload
    assert workload is not None, "an ordinary cell has its own rule"
    flows = {flow.number: flow for flow in (*workload.flows, *workload.bridges)}
    for end in topology(cell).endpoints:
        flow, participant = flows[end.flow], workload.participants[end.participant]
        if participant.wait == "spin" and (end.role in ("sink", "server") or flow.is_call):
            yield from [_Thread(end, participant)] * flow.concurrency
