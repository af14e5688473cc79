"""Formats and stores the results of `hopmeter ask`. The table contains percentiles, and the columns mean, std and len,
which the study of native objects reports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hopmeter.analysis.latency.percentiles import PERMILLE, quantiles, state
from hopmeter.interactive.frame_times import CALL, SAMPLED, Rows, join_frames
from hopmeter.interactive.frames_scenario import Frames, Server, frame_period_s, servers_by_transport
from hopmeter.interactive.result_folder import ResultFolder
from hopmeter.model import units
from hopmeter.report.words import formatting
from hopmeter.store.arrow_arrays import to_arrow
from hopmeter.store.samples import NONE_NS

LOG = ("server", "transport", "timestamp", "count", "delay", "thread")


@dataclass(frozen=True)
class Answers:
    """The results of one `hopmeter ask` run."""

    asked: Frames
    servers: Sequence[Server]
    size: tuple[int, int]
    """The width and height of each frame."""
    calls: Rows = field(default_factory=lambda: np.zeros(0, CALL))
    """The replies that arrived."""
    unanswered: Rows = field(default_factory=lambda: np.zeros(0, CALL))
    """The requests without a reply."""
    wrong: int = 0
    """The number of replies that differed from the frame that was sent."""
    pictures: str = ""
    """A description of the file with the frames, or an empty string if there is no file."""
    failure: str = ""
    interrupted: bool = False

    @cached_property
    def frames(self) -> Rows:
        """Return the frames to which all servers have replied."""
        return join_frames(self.calls, len(self.servers))

    @property
    def together(self) -> str:
        """Return the label of the table row that combines all servers. No server can have a name that equals this
        label."""
        return "one after the other" if self.asked.sequential else "all at once"

    @property
    def names(self) -> str:
        """Return a text with the names of the servers and the number of frames that each thread sends."""
        each = f" by each of {self.asked.threads} threads" if self.asked.threads > 1 else ""
        return f"{' '.join(server.name for server in self.servers)}: {self.asked.frames} frames{each}"

    def frame_times_ns(self) -> Rows:
        """Return, for each frame, how many nanoseconds passed from its due time to its last reply."""
        return np.asarray(self.frames["done_ns"] - self.frames["due_ns"])

    def calls_of(self, server: int) -> Rows:
        """Return the replies of the server with this index."""
        return np.asarray(self.calls[self.calls["server"] == server])

    @property
    def lost(self) -> int:
        """Return the number of requests that received no reply."""
        return len(self.unanswered)

    def lost_calls(self, server: int) -> int:
        """Return the number of unanswered requests to the server with this index."""
        return int((self.unanswered["server"] == server).sum())

    @property
    def lost_frames(self) -> int:
        """Return the number of frames with at least one missing reply."""
        return len(np.unique(self.unanswered[["thread", "seq"]]))

    @property
    def elapsed_ns(self) -> int:
        """Return the number of nanoseconds from the due time of the first frame to the last reply."""
        return int(self.calls["arrived_ns"].max() - self.calls["due_ns"].min()) if len(self.calls) else 0

    @property
    def exit_code(self) -> int:
        """Return 0 if every frame came back from every server without an error, otherwise 1."""
        return int(bool(self.failure or self.wrong or self.lost or not len(self.frames)))


def rows(found: Answers) -> Iterator[list[str]]:
    """Yield a table row for all servers together, then a row for each server, in milliseconds."""
    if len(found.frames):
        yield [found.together, "", *_statistics(found.frame_times_ns(), found.lost_frames), ""]
    for number, server in enumerate(found.servers):
        if len(mine := found.calls_of(number)):
            held = mine["hold_ns"][mine["hold_ns"] != NONE_NS]
            hold = _ms(held.mean()) if len(held) else "–"
            yield [
                server.name,
                server.transport,
                *_statistics(mine["arrived_ns"] - mine["sent_ns"], found.lost_calls(number)),
                hold,
            ]


def _statistics(values: Rows, lost: int) -> list[str]:
    spread = values.std(ddof=1) if len(values) > 1 else None
    percentiles = [_percentile_text(values, PERMILLE[name], lost) for name in ("p50", "p99")]
    return [_ms(values.mean()), _ms(spread), formatting.count(len(values)), *percentiles]


def _percentile_text(values: Rows, permille: int, lost: int) -> str:
    """Return a percentile in milliseconds as text, or `lost` if the percentile falls on a lost message."""
    if state(len(values), lost, permille) == "lost":
        return formatting.LOST
    return _ms(quantiles(values.copy(), [permille], lost)[0])


def _ms(value: float | None) -> str:
    return formatting.number(None if value is None else float(value) / 1e6, 4)


def lines(found: Answers) -> Iterator[str]:
    """Yield the sentences that are printed below the table."""
    if found.pictures:
        yield f"frames of {found.pictures}"
    if found.interrupted:
        yield "interrupted: fewer frames than requested"
    if found.failure:
        yield found.failure
    if found.wrong:
        yield f"replies that differ from the sent frame: {found.wrong}"
    if found.lost:
        yield f"requests without a reply: {found.lost}"
    if not len(found.frames):
        return
    if ideal_ns := found.asked.ideal_ns(found.servers):
        beyond_ms = (float(found.frame_times_ns().mean()) - ideal_ns) / 1e6
        yield f"the work alone takes {ideal_ns / 1e6:g} ms; a frame takes {beyond_ms:.3f} ms more on average"
    if (processes := len(servers_by_transport(found.servers))) > 1:
        period_ms = frame_period_s(found.asked, found.servers) * 1000
        yield f"the time of a frame is computed from the samples of {processes} processes, one for each transport"
        yield f"a frame is due every {period_ms:.1f} ms"
    both_ways = 2 * units.payload_bytes(found.asked.payload) * len(found.calls)
    threads = ", all threads together" if found.asked.threads > 1 else ""
    yield f"{both_ways / 1e6 / (found.elapsed_ns / 1e9):.1f} MB/s in both directions together{threads}"


class AskerFolder(ResultFolder):
    """The result directory of `hopmeter ask`. Raises UsageError if the directory already contains a measurement."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Create the writer. `about` contains the requested options and a description of the machine."""
        super().__init__("asker", folder)
        self._about = about
        # The difference between the wall clock, which the log uses, and the monotonic clock of the measurement.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def write(self, found: Answers) -> str:
        """Write all results, and return their location, or an empty string if nothing was measured."""
        if len(found.calls):
            self.write_about({**self._about, **describe(found)})
            self.add_log(LOG, self._log(found))
            self.add_samples("", _samples(found))
        return self.where

    def _log(self, found: Answers) -> Iterator[tuple[Any, ...]]:
        """Yield one line of the log for each frame, then one line for each reply."""
        for one in found.frames:
            yield self._line(found.together, "", one, one["due_ns"], one["done_ns"])
        for one in found.calls[np.lexsort((found.calls["seq"], found.calls["thread"], found.calls["server"]))]:
            server = found.servers[one["server"]]
            yield self._line(server.name, server.transport, one, one["sent_ns"], one["arrived_ns"])

    def _line(self, name: str, transport: str, one: Any, from_ns: int, to_ns: int) -> tuple[Any, ...]:
        timestamp, delay = (from_ns + self._epoch_ns) / 1e9, (to_ns - from_ns) / 1e9
        return name, transport, f"{timestamp:.6f}", one["seq"], f"{delay:.9f}", one["thread"]


def describe(found: Answers) -> dict[str, Any]:
    """Return all facts about a run of `hopmeter ask` except the delays. All times in the returned facts are in
    nanoseconds."""
    asked = {name: getattr(found.asked, name) for name in ("frames", "coef", "threads", "sequential", "language")}
    known = {"ideal_ns": found.asked.ideal_ns(found.servers), "works_ns": found.asked.works_ns(found.servers)}
    ended = {name: getattr(found, name) for name in ("elapsed_ns", "wrong", "lost", "failure", "interrupted")}
    each = {server.name: found.lost_calls(number) for number, server in enumerate(found.servers)}
    ended["lost_each"] = {found.together: found.lost_frames, **each}
    what = {"width": found.size[0], "height": found.size[1], "pictures": found.pictures}
    return {**asked, **what, "servers": [vars(each) for each in found.servers], **known, **ended}


def _samples(found: Answers) -> dict[str, Any]:
    """Return a row for each reply, with the columns that docs/metrics.md lists for a scatter client."""
    calls = found.calls
    words = {
        name: pa.array([getattr(each, name) for each in found.servers], pa.string()) for name in ("transport", "name")
    }
    transport, server = (each.take(pa.array(calls["server"])) for each in words.values())
    places = {"participant": to_arrow(calls["thread"]), "copy": to_arrow(calls["server"])}
    times = {name: to_arrow(calls[name], calls[name] != NONE_NS) for name in (*SAMPLED, "hold_ns")}
    return {"transport": transport, "server": server, **places, **times}
