"""Add floors.

The floor of a cell is the cheapest way to send a message over the cell's hop on this machine, measured in the same run
as the cell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hopmeter.messages import tag
from hopmeter.model.cell import AXES, Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.rules import why_not

FLOORS = {"thread": "memory", "process": "shm"}
LANGUAGE = "rust"
NO_FLOORS = tag("W-FLOOR-SEARCH", "no floors: a search compares rates, and a floor is a latency")
SAME = (*AXES, "reply", "fifo", "mlock", "no_idle_states", "messages", "warmup", "limit_s")
"""The fields that have the same values in a cell and in its floor."""


def add_floors(cells: list[Cell], capabilities: Capabilities) -> list[Cell]:
    """Return the cells with their floors. If the floor of a cell is missing from the plan, it is added as a cell that
    is not ranked."""
    floors = {_key(cell): cell for cell in cells if _is_floor(cell) and not cell.dropped}
    added: dict[tuple[Any, ...], Cell] = {}
    reasons: dict[tuple[Any, ...], str] = {}
    for cell in cells:
        key = _key(cell)
        if cell.dropped or cell.workload is not None or key in floors or key in reasons:
            continue
        candidate = _floor_of(cell, capabilities)
        reason = candidate if isinstance(candidate, str) else why_not(candidate, capabilities)
        if reason:
            reasons[key] = f"no floor: {reason}"
        elif isinstance(candidate, Cell):
            floors[key] = added[key] = candidate
    numbered = _number_cells([*cells, *added.values()])
    ids = {_key(cell): cell.id for cell in numbered if _is_floor(cell) and not cell.dropped}
    return [_set_floor(cell, ids, reasons) for cell in numbered]


def skip_floors(cells: list[Cell]) -> list[Cell]:
    """Mark the cells as the first steps of searches.

    Searches need no floors, because they compare rates instead of latencies.
    """
    numbered = _number_cells(cells)
    return [cell.with_values(search=cell.id, floor_reason=NO_FLOORS) for cell in numbered]


def _key(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell[name] for name in SAME)


def _is_floor(cell: Cell) -> bool:
    return (
        cell.axes.transport == FLOORS.get(cell.axes.placement)
        and cell.axes.language == LANGUAGE
        and not cell.carriage.profile
        and not cell.nodes.hosts
    )


def no_floor(why: str) -> str:
    """Return the reason why a cell has no floor, followed by the code of the reason."""
    return tag("W-NO-FLOOR", why)


def _floor_of(cell: Cell, capabilities: Capabilities) -> Cell | str:
    if cell.nodes.hosts:
        return tag("W-FLOOR-HOSTS", "floors are measured on one machine, but this cell runs on several")
    if cell.axes.begins_at_once:
        return tag("W-FLOOR-FIRST", "floors are the fastest way to send a message, not to open a connection")
    if cell.axes.has_restart:
        return tag("W-FLOOR-RESTART", "floors are the fastest way to send a message, and restart nothing")
    if cell.axes.codec != "none":
        return tag("W-FLOOR-OBJECT", "floors carry bytes, but this cell carries an object")
    manifest = capabilities.manifests.get(FLOORS[cell.axes.placement])
    if manifest is None or LANGUAGE not in manifest.offers:
        return no_floor(f"the transport {FLOORS[cell.axes.placement]} in {LANGUAGE} is missing here")
    offer = manifest.offers[LANGUAGE]
    return cell.with_values(
        transport=manifest.name,
        language=LANGUAGE,
        profile="",
        ranked=False,
        installable=manifest.installable,
        rpc=manifest.rpc or "duplex",
        system_copies=manifest.system_copies,
        settings=manifest.resolve_settings({}),
        forward=offer.forward,
        send=offer.send,
    )


def _number_cells(cells: list[Cell]) -> list[Cell]:
    width = len(str(len(cells)))
    return [replace(cell, id=_id(number, width, cell)) for number, cell in enumerate(cells, 1)]


def _id(number: int, width: int, cell: Cell) -> str:
    language = cell.axes.language.replace("c++", "cpp").replace(">", "-")
    return f"c{number:0{width}}-{cell.axes.transport}-{language}"


def _set_floor(cell: Cell, ids: dict[tuple[Any, ...], str], reasons: dict[tuple[Any, ...], str]) -> Cell:
    if cell.dropped or cell.workload is not None:
        return cell
    floor = ids.get(_key(cell))
    return cell.with_values(floor=floor, floor_reason="" if floor else reasons.get(_key(cell), ""))
