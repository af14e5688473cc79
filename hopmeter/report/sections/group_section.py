"""The section of a group: its table, process resources, slowest messages and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hopmeter.analysis.results.encrypted_rows import compares_encryption
from hopmeter.analysis.results.groups import Group
from hopmeter.report.sections import process_section, why_slow
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.run_tables import group_table
from hopmeter.report.words.workload_words import is_whole

if TYPE_CHECKING:
    from hopmeter.report.drawing.charts import Figure


def section(group: Group, figures: Sequence[Figure], in_answer: bool = False) -> Section:
    """Return the section of a group. If `in_answer` is set, omit the sentences that the page's answer already
    contains."""
    table, covered = group_table(group, in_answer), compares_encryption(group)
    return Section(
        table.label,
        sentences=[] if group.has_sides or covered else table.sentences,
        chips=table.chips,
        tables=[] if covered else [table],
        parts=[*process_section.sections(group), *([] if is_whole(group) else why_slow.sections(group))],
        figures=figures,
        id=group.id,
        style="group",
        fold="closed" if group.has_sides and not is_whole(group) else "open",
    )
