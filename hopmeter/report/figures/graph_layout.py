"""Positions of participants and hosts in the workload graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hopmeter.model.workload import Workload
from hopmeter.report.words.host_words import group_by_host

COLUMN, ROW = 230.0, 92.0
"""The distances between the centres of adjacent participants, in pixels."""
BOX_WIDTH, BOX_HEIGHT = 112.0, 36.0
FRAME, HOST_NAME, APART = 16.0, 20.0, 80.0
"""In pixels: the margin between a host's frame and its participants, the height of the host name, and the gap between
hosts."""
Places = dict[str, tuple[float, float]]


def place_participants(workload: Workload) -> Places:
    """Return the position of each participant. A participant is placed one row below the first of its senders.
    Participants on different hosts are placed side by side."""
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
    """Return the box names of each host. A box name may have a second line, which names a transport."""
    hosts = {each.name: each.host for each in workload.participants}
    return group_by_host((name, hosts[name.partition("\n")[0]]) for name in names)


def _place_row(names: list[str], row: int, left: float, workload: Workload, places: Places) -> None:
    """Place participants of one host in one row of the graph, starting at the horizontal position `left`."""
    wanted = {name: _middle_of_sources(name, workload, places) for name in names}
    right = left - COLUMN
    for name in sorted(names, key=lambda name: wanted[name]):
        right = max(right + COLUMN, wanted[name])
        places[name] = (right, row * ROW)


def _middle_of_sources(name: str, workload: Workload, places: Places) -> float:
    """Return the mean horizontal position of the participants that send to the participant `name`. Placing a
    participant below its senders prevents arrows from crossing. Return 0 if no sender has a position yet."""
    found = [places[flow.source][0] for flow in workload.flows if name in flow.targets and flow.source in places]
    return sum(found) / len(found) if found else 0.0


def frame_hosts(workload: Workload, places: Places) -> list[dict[str, Any]]:
    """Return a frame around the participants of each host. Each frame is as high as the graph. Return an empty list if
    the workload runs on a single machine."""
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
