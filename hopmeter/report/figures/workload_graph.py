"""Workload graph: the participants, and the flows between participants."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import altair as alt

from hopmeter.analysis.cost.process_use import processes
from hopmeter.analysis.results.groups import Group
from hopmeter.model.workload import Carrier, Flow, Workload
from hopmeter.plan.carriers import axis_carrier
from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Figure, Style
from hopmeter.report.figures.graph_layout import BOX_HEIGHT, BOX_WIDTH, Places, frame_hosts, place_participants
from hopmeter.report.words import formatting
from hopmeter.report.words.pace_words import rate_words
from hopmeter.report.words.workload_words import graph_lines, is_whole, most_split

ORDER = 5
BELOW = 8.0
"""The distance from the middle of a box to each of its two text lines, in pixels."""
ROOM = 30.0
SLANTED = 0.35
"""The relative position of a label on a slanted arrow. The label is close to the sender, away from other arrows that
end at the receiver."""
SPREAD, LINE = 22.0, 13.0
"""In pixels: the distance between flows of the same participants, and between the labels of these flows."""
LARGE = 10
"""CPU percentages of at least this value are shown without decimals."""


def draw(group: Group, style: Style) -> Figure | None:
    """Return the graph, drawn from top to bottom along the flows. Return None if the group is not a whole workload."""
    del style
    cell = most_split(row.cell for row in group.rows)
    if cell is None or cell.workload is None or not is_whole(group):
        return None
    workload, is_only = cell.workload, len({row["transport"] for row in group.rows}) == 1
    drawn = _with_processes(workload, axis_carrier(cell).name if is_only else "the row's transport")
    places, late, used = place_participants(drawn), _late_flows(group), _cpu_texts(group)
    edges = [edge for flow in drawn.flows for edge in _edges(flow, places, flow.name in late, drawn)]
    boxes = [_box(place) | _box_words(name, place, used) for name, place in places.items()]
    is_split = any(each.transports for each in workload.participants)
    split = (
        " A participant drawn as several boxes runs one process per box; a dashed arrow is a bridge."
        if is_split
        else ""
    )
    frames = frame_hosts(drawn, places)
    hosts = " Each frame is a host." if frames else ""
    return Figure(
        "workload",
        "Participants and flows",
        "Each arrow is a flow; a flow is red if its messages missed deadlines over at least one transport. Each box "
        "shows the CPU of its participant in % of a core: the lowest and highest value of all "
        f"transports.{split}{hosts}",
        _chart(boxes, edges, frames, places),
        "; ".join(graph_lines(workload)),
    )


def _with_processes(workload: Workload, axis: str) -> Workload:
    """Return a workload for drawing, in which each process counts as a participant. The result lists each bridge
    directly before the flow to which the bridge sends. `axis` names the transport of the flows that have no carrier of
    their own."""
    split = {each.name for each in workload.participants if each.transports}

    def box(participant: str, flow: Flow) -> str:
        if participant not in split:
            return participant
        return f"{participant}\n{_shortest(flow.carrier, workload) if flow.carrier else axis}"

    def ends(flow: Flow) -> Flow:
        before = workload.flow(flow.bridged) if flow.bridged else flow
        after = workload.flow(flow.bridged_to[0]) if flow.bridged else flow
        targets = tuple(box(each, after) for each in flow.targets)
        return replace(flow, source=box(flow.source, before), targets=targets)

    def flows_in_order() -> Iterator[Flow]:
        for flow in workload.flows:
            yield from (bridge for bridge in workload.bridges if bridge.bridged_to[0] == flow.name)
            yield flow

    return replace(workload, flows=tuple(map(ends, flows_in_order())))


def _shortest(carrier: Carrier, workload: Workload) -> str:
    """Return the name of a carrier's transport. The name includes the carrier's settings if other carriers use the
    transport too."""
    others = {each.carrier.name for each in workload.flows if each.carrier}
    alike = [name for name in others if name.split()[0] == carrier.transport]
    return carrier.transport if len(alike) == 1 else carrier.name


def _late_flows(group: Group) -> set[str]:
    """Return the names of the flows that missed a deadline."""
    graph = group.rows[0].cell.graph
    rows = [row for run in {id(row.run): row.run for row in group.rows}.values() for row in run.rows]
    return {str(row["flow"]) for row in rows if row.cell.graph == graph and row["flow"] and row["missed"]}


def _cpu_texts(group: Group) -> dict[str, str]:
    """Return the CPU use of each participant as text, such as `12 % CPU`. If CPU use differs between the transports,
    the text shows a range."""
    shares: dict[str, list[float]] = {}
    for row in group.rows:
        for process in processes(row):
            if used := process["cpu_percent"]:
                shares.setdefault(process.name.partition(",")[0], []).append(used.middle)
    return {name: f"{_range(each)}{formatting.THIN}% CPU" for name, each in shares.items()}


def _range(values: list[float]) -> str:
    ends = formatting.distinct(f"{end:.1f}" if end < LARGE else f"{end:.0f}" for end in (min(values), max(values)))
    return "–".join(ends)


def _edges(flow: Flow, places: Places, is_late: bool, workload: Workload) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for target in flow.targets:
        between = [each.name for each in workload.flows if {flow.source, target} <= {each.source, *each.targets}]
        place = between.index(flow.name) - (len(between) - 1) / 2
        # `aside` has the same sign for flows in both directions between two boxes
        aside = SPREAD * (place if flow.source < target else -place)
        label = flow.name if found else _label(flow)
        edge: dict[str, Any] = dict(_edge(places[flow.source], places[target], aside))
        edge["label_y"] += place * LINE  # prevents overlapping labels of parallel flows
        found.append(edge | {"late": is_late, "label": label, "bridge": bool(flow.bridged)})
    return found


def _label(flow: Flow) -> str:
    if flow.bridged:
        return f"bridge {flow.name}, {formatting.payload_bytes(flow.payload_bytes)}"
    causes = [*flow.after, *filter(None, [flow.during])]
    rate = rate_words(flow) or f"after {formatting.join(causes)}"
    return f"{flow.name}, {formatting.payload_bytes(flow.mean_bytes)}, {rate}"


def _edge(source: tuple[float, float], target: tuple[float, float], aside: float) -> dict[str, Any]:
    """Return an arrow between the edges of two boxes, moved sideways by `aside`."""
    (x, y), (x2, y2) = source, target
    length = math.hypot(x2 - x, y2 - y) or 1.0
    along = ((x2 - x) / length, (y2 - y) / length)
    x, x2 = x - along[1] * aside, x2 - along[1] * aside
    y, y2 = y + along[0] * aside, y2 + along[0] * aside
    sides = zip((BOX_WIDTH / 2, BOX_HEIGHT / 2), along, strict=True)
    # A label extends to the right of its position. On an arrow to the left, the label starts further from the sender,
    # so that it does not cover the sender's box.
    slanted = SLANTED if x2 >= x else 1 - SLANTED
    away = min(half / abs(part) for half, part in sides if abs(part) > 1e-6)
    return {
        "x": x + along[0] * away,
        "y": y + along[1] * away,
        "x2": x2 - along[0] * away,
        "y2": y2 - along[1] * away,
        "angle": math.degrees(math.atan2(along[0], -along[1])),
        "label_x": x + (x2 - x) * slanted + 5,
        "label_y": y + (y2 - y) * (0.5 if x == x2 else slanted) - 4,
    }


def _box(place: tuple[float, float]) -> dict[str, float]:
    x, y = place
    return {
        "x": x - BOX_WIDTH / 2,
        "x2": x + BOX_WIDTH / 2,
        "y": y - BOX_HEIGHT / 2,
        "y2": y + BOX_HEIGHT / 2,
        "middle_x": x,
    }


def _box_words(name: str, place: tuple[float, float], used: Mapping[str, str]) -> dict[str, Any]:
    """Return a participant's name and, on a second line, the participant's CPU use or transport."""
    first, _, second = name.partition("\n")
    below = second or used.get(first, "")
    return {
        "name": first,
        "below": below,
        "name_y": place[1] - (BELOW - 1 if below else 0),
        "below_y": place[1] + BELOW,
    }


def _chart(
    boxes: list[dict[str, Any]], edges: list[dict[str, Any]], frames: list[dict[str, Any]], places: Places
) -> Any:
    right, down = (max(place[axis] for place in places.values()) for axis in (0, 1))
    scales = {
        "x": alt.Scale(domain=[-BOX_WIDTH / 2 - ROOM, right + BOX_WIDTH / 2 + ROOM], nice=False, zero=False),
        "y": alt.Scale(domain=[down + BOX_HEIGHT + ROOM, -BOX_HEIGHT - ROOM], nice=False, zero=False),
    }

    def at(x: str, y: str) -> dict[str, Any]:
        return {
            "x": alt.X(f"{x}:Q", scale=scales["x"], axis=None),
            "y": alt.Y(f"{y}:Q", scale=scales["y"], axis=None),
        }

    colour = alt.condition("datum.late", alt.value(theme.MISSED), alt.value(theme.SOFT))
    dash = alt.condition("datum.bridge", alt.value([4, 3]), alt.value([1, 0]))
    lines, rects, hosts = (alt.Chart(alt.InlineData(values=each)) for each in (edges, boxes, frames))
    around = [
        hosts.mark_rect(cornerRadius=8, fillOpacity=0.04, stroke=theme.SOFT, strokeOpacity=0.6).encode(
            **at("x", "y"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")
        ),
        hosts.mark_text(fontSize=12, align="left", color=theme.SOFT).encode(
            **at("name_x", "name_y"), text=alt.Text("host:N")
        ),
    ]
    return alt.layer(
        *(around if frames else []),
        lines.mark_rule(strokeWidth=1.3).encode(
            **at("x", "y"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), color=colour, strokeDash=dash
        ),
        lines.mark_point(shape="triangle-up", size=60, filled=True, opacity=1).encode(
            **at("x2", "y2"), angle=alt.Angle("angle:Q", scale=None), color=colour
        ),
        lines.mark_text(fontSize=11, align="left").encode(
            **at("label_x", "label_y"), text=alt.Text("label:N"), color=colour
        ),
        rects.mark_rect(cornerRadius=4, fillOpacity=0.12, stroke=theme.SOFT).encode(
            **at("x", "y"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")
        ),
        rects.mark_text(fontSize=12, fontWeight="bold").encode(**at("middle_x", "name_y"), text=alt.Text("name:N")),
        rects.mark_text(fontSize=10.5, color=theme.SOFT).encode(**at("middle_x", "below_y"), text=alt.Text("below:N")),
    ).properties(width=right + BOX_WIDTH + 2 * ROOM, height=down + 2 * BOX_HEIGHT + 2 * ROOM)
