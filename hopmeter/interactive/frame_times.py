"""Reads the times of all replies to `hopmeter ask`, and computes when the last reply to each frame arrived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.interactive.frames_scenario import Server, servers_by_transport
from hopmeter.model.cell import Cell
from hopmeter.plan.topology import Endpoint, topology
from hopmeter.store.samples import NONE_NS, Samples

SAMPLED = ("seq", "due_ns", "sent_ns", "arrived_ns")
CALL = np.dtype([(name, np.int64) for name in ("thread", "server", *SAMPLED, "hold_ns")])
"""A reply: its thread, server, frame number and times. `hold_ns` is how long the server held the request, or NONE_NS if
the server's samples are missing."""
FRAME = np.dtype([(name, np.int64) for name in ("seq", "thread", "due_ns", "done_ns")])
"""A frame, with its due time and the arrival time of its last reply."""
Rows = NDArray[Any]


def read_calls(path: Path, cell: Cell, servers: Sequence[Server]) -> tuple[Rows, Rows]:
    """Return the replies that a trial's samples contain, and the requests that received no reply."""
    samples, numbers = Samples(path), {each: number for number, each in enumerate(servers)}
    of_client = [[numbers[each] for each in ours] for ours in servers_by_transport(servers).values()]
    found = []
    for flow, ends in topology(cell).flows.items():
        # If there is one transport, the client of each thread calls all servers. If there are several transports, each
        # transport has one client.
        thread, called = (0, of_client[flow]) if cell.workload else (flow, of_client[0])
        found.append(_calls(samples, ends, thread, np.array(called)))
    calls = np.concatenate(found)
    has_reply = (calls["sent_ns"] != NONE_NS) & (calls["arrived_ns"] != NONE_NS)
    return calls[has_reply], calls[~has_reply]


def _calls(samples: Samples, ends: Sequence[Endpoint], thread: int, called: Rows) -> Rows:
    client, *servers = ends
    found = samples.of(client.id, "copy", *SAMPLED)
    calls = np.zeros(len(found["seq"]), CALL)
    for name in SAMPLED:
        calls[name] = found[name]
    calls["thread"], calls["server"] = thread, called[found["copy"]]
    for place, server in enumerate(servers):
        mine = found["copy"] == place
        calls["hold_ns"][mine] = _holds(samples, server.id, found["seq"][mine])
    return calls


def _holds(samples: Samples, server: int, wanted: Rows) -> Rows:
    """Return, for each request in `wanted`, how long the server held it, or NONE_NS if that time is unknown. The
    samples are validated, because they may come from another machine."""
    found = samples.of(server, "seq", "arrived_ns", "forwarded_ns")
    holds = np.full(1 + wanted.max(initial=0), NONE_NS)
    is_known = (found["seq"] >= 0) & (found["seq"] < len(holds))
    is_known &= (found["arrived_ns"] != NONE_NS) & (found["forwarded_ns"] != NONE_NS)
    holds[found["seq"][is_known]] = (found["forwarded_ns"] - found["arrived_ns"])[is_known]
    return holds[wanted]


def join_frames(calls: Rows, servers: int) -> Rows:
    """Return the frames to which all servers have replied, sorted by thread and frame number."""
    calls = calls[np.lexsort((calls["server"], calls["seq"], calls["thread"]))]
    _, place, many = np.unique(calls[["thread", "seq"]], return_inverse=True, return_counts=True)
    whole = calls[many[place] == servers].reshape(-1, servers)
    frames = np.zeros(len(whole), FRAME)
    for name in ("seq", "thread"):
        frames[name] = whole[name][:, 0]
    frames["due_ns"], frames["done_ns"] = whole["due_ns"].min(axis=1), whole["arrived_ns"].max(axis=1)
    return frames
