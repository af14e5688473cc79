"""Section on the resources of each process of a group."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.groups import Group
from hopmeter.report.sections.section import Fold, Section
from hopmeter.report.tables.processes import ProcessRow, each_table, is_sampled, process_rows, used_table, what_used


def sections(group: Group) -> list[Section]:
    """Return a list with the section on processes, or an empty list if no row recorded its processes. The section is
    expanded if the scenario samples CPU."""
    rows = process_rows(group)
    if not rows:
        return []
    parts = [_single(group, rows, each) for each in rows if len(each.by_role) < len(each.processes)]
    fold: Fold = "open" if is_sampled(rows) else "closed"
    return [Section(what_used(group), tables=[used_table(group, rows)], parts=parts, style="processes", fold=fold)]


def _single(group: Group, rows: Sequence[ProcessRow], row: ProcessRow) -> Section:
    title = f"All {len(row.processes)} processes of {row.name}"
    return Section(title, tables=[each_table(group, rows, row, title)], style="each", fold="closed")
