"""What came of asking servers, in words and figures: mean, std, len as the study prints them, and percentiles."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.percentiles import PERMILLE, quantiles
from hopmeter.byhand.servers import Answers, Asking
from hopmeter.report import words


def rows(asking: Asking, found: Answers) -> list[list[str]]:
    """All servers together, then each; in milliseconds."""
    if not len(found.rows):
        return []
    together = "one after the other" if asking.in_turn else "all at once"
    lines = [_row(together, "", found.rows[:, 0])]
    for place, (name, transport) in enumerate(zip(asking.names, found.transports, strict=True), start=1):
        lines.append(_row(name, transport, found.rows[:, place]))
    return lines


def _row(name: str, transport: str, values: Any) -> list[str]:
    spread = values.std(ddof=1) if len(values) > 1 else None
    p50, p99 = quantiles(values.copy(), [PERMILLE["p50"], PERMILLE["p99"]])
    shown = [_ms(values.mean()), _ms(spread), words.count(len(values)), _ms(p50), _ms(p99)]
    return [name, transport, *shown]


def _ms(value: float | None) -> str:
    return words.number(None if value is None else float(value) / 1e6, 4)


def lines(asking: Asking, found: Answers) -> list[str]:
    """What stands below the table."""
    said = [f"frames of {found.pictures}"] if found.pictures else []
    said += [found.failure] if found.failure else []
    if found.wrong:
        said.append(f"{found.wrong} replies were not the frame that was sent")
    if not len(found.rows):
        return said
    mean_ns = float(found.rows[:, 0].mean())
    if found.ideal_ns:
        over = (mean_ns - found.ideal_ns) / 1e6
        said.append(f"the work alone takes {found.ideal_ns / 1e6:g} ms: {over:.3f} ms over it on average")
    both_ways = 2 * found.size[0] * found.size[1] * 3 * len(asking.names) * len(found.rows)
    said.append(f"{both_ways / 1e6 / (found.elapsed_ns / 1e9):.1f} MB/s both ways, all threads together")
    return said
