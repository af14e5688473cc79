"""Generate the column tables in docs/metrics.md. The command is `python -m hopmeter.model.columns_page
docs/metrics.md`.

In the page, each table is between `<!-- columns: SECTION -->` and `<!-- end -->`. All other text of the page is written
by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from hopmeter.model.columns import LATENCY_TABLE, TABLE, Columns
from hopmeter.system.markdown import table

MARKED = re.compile(r"(<!-- columns: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill_in_tables(page: str) -> str:
    """Return the page with the tables that are generated from `columns.toml`."""
    return MARKED.sub(lambda found: found[1] + section(found[2]) + found[3], page)


def section(name: str) -> str:
    """Return a Markdown table of the columns in one section."""
    return latencies() if name == "latencies" else columns(TABLE[name])


def latencies() -> str:
    """Return the table of all latencies as Markdown."""
    rows = [(f"`{each.name}`", each.between, each.samples, each.applies_to) for each in LATENCY_TABLE]
    return table(("latency", "from → to", "samples", "applies to"), rows)


def columns(several: Sequence[Columns]) -> str:
    """Return a Markdown table of the given columns. The table has no column "null when" if none of the given columns
    can be null."""
    rows = [[" ".join(f"`{name}`" for name in each), each.meaning, each.null_when] for each in several]
    width = 3 if any(each.null_when for each in several) else 2
    return table(("column", "meaning", "null when")[:width], [row[:width] for row in rows])


if __name__ == "__main__":
    pages = Path(sys.argv[1])
    pages.write_text(fill_in_tables(pages.read_text(encoding="utf-8")), encoding="utf-8")
