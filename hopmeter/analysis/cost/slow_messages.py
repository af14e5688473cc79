"""Explain a cell's slowest messages by what the threads did while these messages were on their way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.cost.thread_time import Mark, Numbers, ThreadTime, Use
from hopmeter.analysis.latency.arrivals import Times, count_lost
from hopmeter.analysis.latency.headline import headline
from hopmeter.analysis.latency.latencies import trim_slice
from hopmeter.analysis.latency.pair import EndpointTimes, Pair
from hopmeter.analysis.latency.percentiles import estimate
from hopmeter.analysis.latency.trial_pairs import pairs
from hopmeter.messages import tag, with_remedy
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.plan.topology import is_chain, topology
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import NONE_NS, Samples
from hopmeter.store.why_folder import WhyFolder

SLOW_SHARE = 0.01
LEAST_SLOW = 10
"""The minimum number of slow messages for an explanation. Fewer slow messages would give a random result."""
PARTS = ("running", "core_wait", "waking", "behind", "work_sleep", "stolen")
"""The parts of a latency, in the column order of `Explained.parts_ns`."""
RUNNING, CORE_WAIT, WAKING, BEHIND, WORK_SLEEP, STOLEN = range(len(PARTS))


@dataclass(frozen=True)
class Explained:
    """The latency of each message of a pair, divided into parts, and the number of page faults per message."""

    latency_ns: Numbers
    parts_ns: Numbers
    """The parts of each message's latency, as an array with one row per message and one column per part."""
    faults: Numbers
    """The page faults of each message, as an array with one row per message and the columns minor and major faults."""
    lost: int
    """The number of lost messages."""


def why_columns(cell: Cell, run: Path) -> dict[str, Any]:
    """Return the `why_…` columns of a cell. If the slow messages cannot be analysed, return only `why_note`."""
    if not is_chain(cell):
        return {"why_note": NO_CHAIN}
    folder = WhyFolder(run)
    try:
        result = folder.results().get(cell.id)
        if result is None:
            return {
                "why_note": tag("W-WHY-NOT-MEASURED", "the run ended before its extra trial; continue it with --resume")
            }
        if not result.good:
            return {"why_note": _failure(cell, result)}
        return _columns(cell, folder, result)
    except StoreError as error:
        return {"why_note": with_remedy(error.message, error.remedy)}


def _failure(cell: Cell, result: TrialResult) -> str:
    """Return why the extra trial for the `why_…` columns failed. If an older version of hopmeter built a node, the
    extra trial fails, because the node rejects the key `readings` in its spec."""
    if "unknown field `readings`" not in result.reason:
        return with_remedy(result.reason, result.remedy)
    said = "the node was built before it could read its threads' counters; run"
    return tag("W-WHY-OLD-NODE", f"{said} `hopmeter build {cell.axes.transport}`")


def _columns(cell: Cell, folder: WhyFolder, result: TrialResult) -> dict[str, Any]:
    threads = {endpoint: ThreadTime(each) for endpoint, each in folder.readings(cell.id).items()}
    found = [
        _explain(cell, pair, number, threads)
        for number, pair in enumerate(pairs(cell, Samples(folder.samples(cell.id))))
    ]
    latency, parts, faults = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("latency_ns", "parts_ns", "faults")
    )
    if len(latency) < 2 * LEAST_SLOW:
        said = f"only {len(latency)} messages arrived; measure {2 * LEAST_SLOW} or more"
        return {"why_note": tag("W-WHY-FEW-MESSAGES", said)}
    slow = np.argsort(latency, kind="stable")[-max(LEAST_SLOW, round(SLOW_SHARE * len(latency))) :]
    has_queue = all(each.has_queue for each in threads.values())
    return {
        "why_messages": len(slow),
        "why_over_us": latency[slow].min() / 1e3,
        "why_mean_us": latency[slow].mean() / 1e3,
        "why_p50_us": _median_us(latency, sum(each.lost for each in found)),
        **_shares(parts[slow], latency[slow], has_queue),
        **_faults(faults, slow),
        "why_steal_percent": result.steal_us / 1e4 / result.wall_s if result.wall_s else None,
        "why_note": None if has_queue else tag("W-WHY-NO-SCHEDSTAT", NO_SCHEDSTAT),
    }


def _median_us(latency_ns: Numbers, lost: int) -> float | None:
    (found,) = estimate(latency_ns, (0.5,), lost)
    return found and found / 1e3


NO_CHAIN = tag(
    "W-WHY-NO-CHAIN",
    "threads are read only along a chain or a call; in a scatter, in a ring and in a workload they are not",
)
NO_SCHEDSTAT = (
    "this kernel does not count how long a thread waits for a core (no /proc/thread-self/schedstat, or only zeros): "
    "that time counts as waking, or as stolen if the thread did not sleep; "
    "use a kernel with CONFIG_SCHED_INFO, and not gVisor"
)


def _shares(parts: Numbers, latency: Numbers, has_queue: bool) -> dict[str, float | None]:
    """Return what fraction of the messages' total latency each part of the latency makes up."""
    whole = max(1.0, latency.sum())
    shares: dict[str, float | None] = {f"why_{name}": parts[:, at].sum() / whole for at, name in enumerate(PARTS)}
    shares["why_unknown"] = max(0.0, 1 - parts.sum() / whole)
    return shares if has_queue else shares | {"why_core_wait": None}


def _faults(faults: Numbers, slow: NDArray[np.intp]) -> dict[str, float]:
    """Return the mean number of page faults per slow message and per other message."""
    usual = np.ones(len(faults), np.bool_)
    usual[slow] = False
    minor, major = faults[slow].mean(axis=0)
    return {"why_minor_faults": minor, "why_major_faults": major, "why_usual_minor_faults": faults[usual, 0].mean()}


def _explain(cell: Cell, pair: Pair, number: int, threads: Mapping[int, ThreadTime]) -> Explained:
    """Divide the latency of each message of a pair into parts. Trimmed messages, and messages that did not reach every
    receiver, are left out."""
    ids = [each.id for each in topology(cell).flows[number]]
    start = pair.due_times if headline(cell) == "response" else pair.send_times
    done = pair.completion_times
    chosen = np.zeros(pair.messages, np.bool_)
    chosen[trim_slice(pair)] = True
    seqs = np.flatnonzero(chosen & (start != NONE_NS) & (done != NONE_NS))
    way = _Way(pair, threads, ids, seqs)
    faults = [
        sum(threads[each].faults(name, pair.messages) for each in ids) for name in ("minor_faults", "major_faults")
    ]
    latency_ns = (done - start)[seqs].astype(np.float64)
    lost = count_lost(done[chosen], start[chosen])
    return Explained(latency_ns, way.parts(start), np.stack(faults, axis=1)[seqs], lost)


class _Way:
    """Follows the selected messages through the threads of a pair, from the source to the last receiver."""

    def __init__(self, pair: Pair, threads: Mapping[int, ThreadTime], ids: list[int], seqs: NDArray[np.intp]) -> None:
        self._pair, self._seqs = pair, seqs
        self._threads = [threads[each] for each in ids]
        self._parts = np.zeros((len(seqs), len(PARTS)))

    def parts(self, start: Times) -> Numbers:
        """Return the parts of each message's latency, in nanoseconds."""
        pair, origin = self._pair, self._threads[0]
        everything = np.arange(len(self._seqs))
        sends = origin.times_of(Mark.SEND, pair.messages)
        left, returned = pair.lanes[0].handover_times, origin.times_of(Mark.SENT, pair.messages)
        self._add(origin, start, left, sends, everything)
        for place, thread in zip(pair.relays, self._threads[1:], strict=False):
            self._hop(thread, left, place.arrived, self._threads[0], returned, everything)
            self._add(thread, place.arrived, place.forwarded, place.arrived, everything)
            left, returned = place.forwarded, thread.times_of(Mark.DONE, pair.messages)
        self._arrive(left, returned, sends)
        return self._parts

    def _arrive(self, left: Times, returned: Times, sends: Times) -> None:
        """Add the last hop, which leads to the sink that received the message last, or to the server and back."""
        pair, behind = self._pair, len(self._pair.relays)
        sender, ends = self._threads[behind], self._threads[behind + 1 :]
        last = np.argmax(np.stack([each[self._seqs] for each in pair.delivery_times]), axis=0)
        for at, (place, thread) in enumerate(zip(pair.ends, ends, strict=True)):
            chosen = np.flatnonzero(last == at)
            self._hop(thread, left, place.arrived, sender, returned, chosen)
            if pair.one_way:
                self._decode(thread, place, chosen)
            else:
                self._add(thread, place.arrived, place.forwarded, place.arrived, chosen)
                self._reply(thread, place, sends, chosen)

    def _decode(self, thread: ThreadTime, place: EndpointTimes, chosen: NDArray[np.intp]) -> None:
        if place.decoded is not None:
            self._add(thread, place.arrived, place.decoded, place.arrived, chosen)

    def _reply(self, server: ThreadTime, place: EndpointTimes, sends: Times, chosen: NDArray[np.intp]) -> None:
        client, lane = self._threads[0], self._pair.lanes[0]
        answered = server.times_of(Mark.DONE, self._pair.messages)
        self._hop(client, place.forwarded, lane.replied, server, answered, chosen, sends)
        if lane.decoded is not None:
            self._add(client, lane.replied, lane.decoded, sends, chosen)

    def _add(self, thread: ThreadTime, start: Times, end: Times, own: Times, chosen: NDArray[np.intp]) -> Numbers:
        """Add the time that a thread spent in each state between `start` and `end`. Before the time `own`, the thread
        handles other messages; from `own` on, the thread handles this message."""
        seqs = self._seqs[chosen]
        begin, finish = start[seqs], end[seqs]
        turn = np.clip(own[seqs], begin, np.maximum(begin, finish))
        before, after = thread.between(begin, turn), thread.between(turn, finish)
        both = before + after
        new = np.zeros((len(seqs), len(PARTS)))
        new[:, RUNNING] = both[:, Use.RUNNING] + after[:, Use.ACTING]
        new[:, CORE_WAIT], new[:, STOLEN], new[:, WAKING] = (
            both[:, Use.QUEUED],
            both[:, Use.STOLEN],
            both[:, Use.ASLEEP],
        )
        new[:, BEHIND] = before[:, Use.ACTING] + before[:, Use.ACTING_ASLEEP]
        new[:, WORK_SLEEP] = after[:, Use.ACTING_ASLEEP]
        self._parts[chosen] += new
        return new[:, WAKING]

    def _hop(
        self,
        receiver: ThreadTime,
        left: Times,
        arrived: Times,
        sender: ThreadTime,
        returned: Times,
        chosen: NDArray[np.intp],
        own: Times | None = None,
    ) -> None:
        """Add the parts of one hop's latency. If the receiver sleeps while the sender is still in its send call, the
        sender's state explains the delay."""
        waking = self._add(receiver, left, arrived, arrived if own is None else own, chosen)
        seqs = self._seqs[chosen]
        handing = sender.between(left[seqs], np.clip(returned[seqs], left[seqs], np.maximum(left[seqs], arrived[seqs])))
        for use, part in ((Use.QUEUED, CORE_WAIT), (Use.STOLEN, STOLEN), (Use.ACTING, RUNNING)):
            moved = np.minimum(waking, handing[:, use])
            self._parts[chosen, part] += moved
            self._parts[chosen, WAKING] -= moved
            waking = waking - moved
