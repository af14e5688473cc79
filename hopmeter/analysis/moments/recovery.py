"""Measure how long after a restart the next message arrives, and count the messages that the restart loses or
repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.moments.receivers import last_arrival
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.conditions import SINK
from hopmeter.model.trial import TrialResult
from hopmeter.plan.topology import topology
from hopmeter.store.disk import StoreError
from hopmeter.store.samples import Samples

COUNTS = ("lost_by_restart", "repeated_by_restart")


@dataclass(frozen=True)
class Recovery:
    """When the steps of a trial's restart happened, on CLOCK_MONOTONIC, and how many messages the restart lost and
    repeated."""

    killed_ns: int
    """When the killed process had ended."""
    restarted_ns: int
    """When the new process was started."""
    ready_ns: int | None
    """When the new process was found ready to serve, or None if it did not become ready."""
    recovered_ns: int | None
    """When every receiver had got a message that was due after the killed process had ended, or None if a receiver got
    no such message."""
    watched_s: float
    """The time from the start of the new process until the last message was due, in seconds."""
    lost_by_restart: int
    """The number of measured messages that did not arrive at the receiver that lost most."""
    repeated_by_restart: int
    """The number of measured messages that arrived more than once at the receiver with the most repeated messages."""
    error: str = ""
    """Why the restarted process did not serve, or an empty string if it did."""

    @property
    def took_ns(self) -> int | None:
        """Return the time from the start of the new process to the next message, or None if none arrived. The time is 0
        if the next message arrived before the start, as when the killed process carried no messages."""
        return None if self.recovered_ns is None else max(0, self.recovered_ns - self.restarted_ns)

    @property
    def parts_us(self) -> dict[str, float]:
        """Return how long the outage, the restart and the reconnection took, in µs. Return an empty dict if a receiver
        got no message after the restart, or if the new process did not become ready.

        If the next message arrives before hopmeter finds the new process ready, the restart ends with this message.
        """
        if self.recovered_ns is None or self.took_ns is None or self.ready_ns is None:
            return {}
        restart_ns = min(self.ready_ns - self.restarted_ns, self.took_ns)
        outage_ns = self.recovered_ns - self.killed_ns
        parts = {"outage_us": outage_ns, "restart_us": restart_ns, "reconnection_us": self.took_ns - restart_ns}
        return {name: length_ns / 1000 for name, length_ns in parts.items()}


def find_recovery(cell: Cell, result: TrialResult, samples: Samples) -> Recovery:
    """Return when the steps of a trial's restart happened, and how many messages the restart lost and repeated.

    Raises StoreError if the samples are missing or damaged, or if nothing was restarted.
    """
    killed_ns, restarted_ns, ready_ns = result.killed_ns, result.restarted_ns, result.ready_ns
    if killed_ns is None or restarted_ns is None:
        raise StoreError("E-NOT-RECORDED", "the trial has no restart", "measure the trial again")
    receivers = list(_receivers(cell, samples, killed_ns))
    return Recovery(
        killed_ns=killed_ns,
        restarted_ns=restarted_ns,
        ready_ns=ready_ns,
        recovered_ns=last_arrival(each.recovered_ns for each in receivers),
        watched_s=max(each.last_due_ns for each in receivers) / 1e9 - restarted_ns / 1e9,
        lost_by_restart=max(each.lost for each in receivers),
        repeated_by_restart=max(each.repeated for each in receivers),
        error=result.restart_error or "",
    )


def cell_columns(trials: Sequence[Recovery]) -> dict[str, float]:
    """Return the median of each part of the outage over the trials that recovered, and the median numbers of lost and
    repeated messages over all trials."""
    parts = [each.parts_us for each in trials if each.parts_us]
    found = {name: median(each[name] for each in parts) for name in parts[0]} if parts else {}
    return found | ({name: median(getattr(each, name) for each in trials) for name in COUNTS} if trials else {})


def trial_columns(recovery: Recovery) -> dict[str, Any]:
    """Return when a trial recovered, and how many messages it lost and repeated, by column of `trials.parquet`."""
    return {name: getattr(recovery, name) for name in ("recovered_ns", *COUNTS)}


def not_recovered(trials: Sequence[Recovery]) -> list[str]:
    """Return a list with a warning that tells how many trials did not recover, and within how many seconds. The list is
    empty if all trials recovered."""
    failed = [each for each in trials if each.recovered_ns is None]
    if not failed:
        return []
    within_s = min(each.watched_s for each in failed)
    many = "" if len(failed) == len(trials) else f" in {len(failed)} of {len(trials)} trials"
    why = next((f": {each.error}" for each in failed if each.error), "")
    return [tag("W-NOT-RECOVERED", f"does not recover within {within_s:.1f} s{many}{why}")]


@dataclass(frozen=True)
class _Receiver:
    recovered_ns: int | None
    last_due_ns: int
    lost: int
    repeated: int


def _receivers(cell: Cell, samples: Samples, killed_ns: int) -> Iterator[_Receiver]:
    for source, *sinks in topology(cell).flows.values():
        sent = samples.of(source.id, "seq", "due_ns")
        if not len(sent["seq"]):
            raise StoreError("E-NOT-RECORDED", "a source recorded no message", "measure the trial again")
        for sink in sinks:
            got = samples.of(sink.id, "seq", "arrived_ns")
            yield _receiver(sent, got, killed_ns, cell.axes.restart == SINK)


def _receiver(
    sent: Mapping[str, NDArray[np.int64]], got: Mapping[str, NDArray[np.int64]], killed_ns: int, is_restarted: bool
) -> _Receiver:
    """Return what a receiver got and lost. The samples of a restarted receiver contain only the arrivals at its new
    process."""
    after = sent["seq"][sent["due_ns"] > killed_ns]
    expected = after if is_restarted else sent["seq"]
    later = got["arrived_ns"][np.isin(got["seq"], after)]
    _, times = np.unique(got["seq"], return_counts=True)
    return _Receiver(
        recovered_ns=int(later.min()) if len(later) else None,
        last_due_ns=int(sent["due_ns"].max()),
        lost=int((~np.isin(expected, got["seq"])).sum()),
        repeated=int((times > 1).sum()),
    )
