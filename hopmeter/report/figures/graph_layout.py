"""The positions of participants and hosts in the graph of a workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hopmeter.model.workload import Workload
from hopmeter.report.words.host_words import group_by_host

COLUMN, ROW = 230.0, 92.0
"""The distances between the centres of two participants, in pixels."""
BOX_WIDTH, BOX_HEIGHT = 112.0, 36.0
FRAME, HOST_NAME, APART = 16.0, 20.0, 80.0
"""In pixels: the margin between a host's frame and its participants, the height of the host's name, and the additional
distance between two hosts."""
Places = dict[str, tuple[float, float]]


def place_participants(workload: Workload) -> Places:
    """Return positions: each participant is one row below the first participant that sends to it, and hosts are side by
    side."""
    rows: dict[str, int] = {}
    for flow in workload.flows:
        rows.setdefault(flow.source, 0)
        for target in flow.targets:
            rows.setdefault(target, rows[flow.source] + 1)
    places: Places = {}
    left = 0.0
    for names in names_by_host(rows, workload).values():
        for row in sorted({rows[name] for name in names}):
            _place_row([name for name in names if rows[name] == row], row, left, workload, places)
        left = max(places[name][0] for name in names) + COLUMN + APART
    return places


def names_by_host(names: Iterable[str], workload: Workload) -> dict[str, list[str]]:
    """Return the names of the boxes on each host; the second line of a box name, if any, is the transport of a
    process."""
    hosts = {each.name: each.host for each in workload.participants}
    return group_by_host((name, hosts[name.partition("\n")[0]]) for name in names)


def _place_row(names: list[str], row: int, left: float, workload: Workload, places: Places) -> None:
    """Place participants in one row of their host, whose left edge is at `left`."""
    wanted = {name: _middle_of_sources(name, workload, places) for name in names}
    right = left - COLUMN
    for name in sorted(names, key=lambda name: wanted[name]):
        right = max(right + COLUMN, wanted[name])
        places[name] = (right, row * ROW)


def _middle_of_sources(name: str, workload: Workload, places: Places) -> float:
    """Return the mean horizontal position of the participants that send to this one, so that few arrows cross; 0 if
    none is placed yet."""
    found = [places[flow.source][0] for flow in workload.flows if name in flow.targets and flow.source in places]
    return sum(found) / len(found) if found else 0.0


def frame_hosts(workload: Workload, places: Places) -> list[dict[str, Any]]:
    """Return a frame around the participants of each host, as high as the whole graph; empty if all run on one
    machine."""
    down = max(y for _, y in places.values())
    aside = BOX_WIDTH / 2 + FRAME
    return [
        {
            "x": min(places[name][0] for name in names) - aside,
            "x2": max(places[name][0] for name in names) + aside,
            "y": -BOX_HEIGHT / 2 - FRAME - HOST_NAME,
            "y2": down + BOX_HEIGHT / 2 + FRAME,
            "host": host,
            "name_x": min(places[name][0] for name in names) - BOX_WIDTH / 2,
            "name_y": -BOX_HEIGHT / 2 - HOST_NAME,
        }
        for host, names in names_by_host(places, workload).items()
        if host
    ]
