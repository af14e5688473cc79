"""A sentence on whether the medians reached the precision requested with `until = "±5%"`."""

from __future__ import annotations

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.words import formatting


def precision_sentence(run: Run) -> str:
    """Return how many medians reached the requested precision, and the widest interval. Return an empty string if no
    precision was requested."""
    until = str(run.part("scenario").get("until") or "")
    rows = _rows_in_question(run)
    if not until.startswith("±") or not rows:
        return ""
    within = float(until[1:-1]) / 100
    known = [(width, row) for row in rows if (width := _width(row)) is not None]
    reached = sum(width <= within for width, _ in known)
    words = [f"{reached} of {formatting.plural(len(rows), 'median')} reached ±{100 * within:g}{formatting.THIN}%"]
    if known:
        width, row = max(known, key=lambda each: each[0])
        words.append(f"the widest interval is that of {formatting.row_name(row)}, ±{formatting.percent(width)}")
    if len(known) < len(rows):
        unknown = formatting.plural(len(rows) - len(known), "median has", "medians have")
        words.append(f"{unknown} no interval")
    return f"{'; '.join(words)}."


def rounds_factor(run: Run) -> float | None:
    """Return the factor by which the number of rounds must grow to reach the requested precision, or None if an
    interval is unknown."""
    widths = [_width(row) for row in _rows_in_question(run)]
    known = [width for width in widths if width is not None]
    if not widths or len(known) < len(widths):
        return None
    within = float(str(run.part("scenario")["until"])[1:-1]) / 100
    return (max(known) / within) ** 2


def _rows_in_question(run: Run) -> list[Row]:
    """Return the rows that must reach the requested precision before the run ends. If some rows were measured with idle
    cores kept awake, return only those rows."""
    rows = [row for row in run.measured_rows if row.ok]
    rows = [row for row in rows if row.cell.comparison.ranked] or rows
    awake = [row for row in rows if row.cell.nodes.no_idle_states]
    return awake or rows


def _width(row: Row) -> float | None:
    """Return the larger distance from the median to an interval bound, relative to the median. Return None if the
    interval is unknown."""
    if row.bounds is None or not row.p50:
        return None
    return max(row.p50 - row.bounds[0], row.bounds[1] - row.p50) / row.p50
