"""The section of the report that tells what encryption costs."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.results.run_results import Run
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.security import security_tables


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a section with a table for each group of rows, or an empty list if no row is encrypted."""
    tables = security_tables(runs)
    return [Section("What security costs", tables=tables)] if tables else []
