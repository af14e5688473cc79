"""Compare each encrypted row, round by round, with the row that differs only in not being encrypted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hopmeter import manifest
from hopmeter.analysis.ranking.paired_rounds import compare_rounds
from hopmeter.analysis.ranking.rounds import Bounds, Values
from hopmeter.manifest.tables.setting import OFF, SECURITY
from hopmeter.model.cell import Cell

CPU = "cpu_us"
"""The key of a trial's CPU time per message. Stored trials do not contain this value."""
COLUMNS = {"times_unsecured": "median_us", "cpu_times_unsecured": CPU}


def set_security_cost(cells: Iterable[Cell], rows: Sequence[dict[str, Any]], trials: Sequence[Values]) -> None:
    """Fill in the columns of each encrypted row that tell what encryption costs. Each trial must contain `cpu_us`."""
    known = [cell for cell in cells if SECURITY in cell.carriage.settings and not cell.dropped]
    by_id, plain = (
        {row["cell"]: row for row in rows},
        {_without_security(cell): cell for cell in known if not _is_on(cell)},
    )
    for cell in filter(_is_on, known):
        row, other = by_id[cell.id], plain.get(_without_security(cell))
        row["security"], row["security_covers"] = cell.carriage.settings[SECURITY], _covers(cell)
        if other is None:
            continue
        row["unsecured"] = other.id
        if row["status"] == by_id[other.id]["status"] == "ok":
            for name, column in COLUMNS.items():
                row |= _columns(name, compare_rounds(other.id, cell.id, trials, column))


def _is_on(cell: Cell) -> bool:
    return bool(cell.carriage.settings[SECURITY] != OFF)


def _without_security(cell: Cell) -> tuple[Any, ...]:
    """Return all conditions of a cell except the setting `security`."""
    others = {name: value for name, value in cell.carriage.settings.items() if name != SECURITY}
    return cell.group, cell.axes, cell.flow, cell.path, tuple(sorted(others.items()))


def _covers(cell: Cell) -> str:
    """Return what the encryption of a transport protects, in the words of the manifest."""
    known = manifest.every().get(cell.axes.transport)
    setting = known.settings.get(SECURITY) if known else None
    return setting.choice_help.get(str(cell.carriage.settings[SECURITY]), "") if setting else ""


def _columns(name: str, bounds: Bounds) -> Mapping[str, float | None]:
    return {f"{name}{end}": value for end, value in zip(("", "_low", "_high"), bounds, strict=True)}
