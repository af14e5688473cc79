"""Section on what limits the throughput of several concurrent pairs."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from hopmeter.analysis.cost.pair_limits import Echo, echoes
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.model import Column, Line, Value, notes, table
from hopmeter.report.words import formatting

COLUMNS = (
    Column("Transport", heads=True),
    Column("Pairs", "number"),
    Column("MB/s", "number", "each way"),
    Column("Relative to one core's copy speed", "number"),
    Column("Cores busy", "number"),
    Column("Copying", "number", "of the CPU time"),
    Column("TCP", "number", "of the CPU time"),
    Column("Limited by"),
)
CAPTION = Markup(
    "Throughput of all pairs together. <em>Copying</em> is the share of the CPU time that the kernel needs to copy "
    "requests and replies, if it copies as fast as one core that only copies. <em>TCP</em> is the share of the CPU "
    "time that the same echo saves over Unix sockets. <em>Wanted</em> is the number of cores that all pairs would "
    "keep busy if each pair used as much CPU as one pair on its own. The cores are the limit if 90 % of them are "
    "busy, or if 75 % are busy and more are wanted than exist; otherwise the limit is the largest part of the work."
)


def name(echo: Echo) -> str:
    """Return the row's name, such as `tcp (rust)`."""
    return formatting.row_name(echo.row)


def sentence(echo: Echo) -> str:
    """Return a sentence on what limits the throughput, with the measured values as evidence."""
    shares = {"copying": echo.copying, "TCP": echo.tcp}
    known = [f"{word} takes {formatting.percent(share)}" for word, share in shares.items() if share is not None]
    parts = f"; {formatting.join(known)} of the CPU time" if known else ""
    wanted = f" ({_wanted_cores(echo)})" if _wanted_cores(echo) else ""
    return (
        f"{name(echo)}, {formatting.plural(echo.pairs, 'pair')}: {formatting.number(echo.mb_s)} MB/s each way "
        f"({formatting.times(echo.mb_s / echo.memory_mb_s)} the copy speed of one core), limited by {echo.limit}; "
        f"{formatting.number(echo.busy)} of {formatting.plural(echo.cores, 'core')} busy{wanted}{parts}."
    )


def _wanted_cores(echo: Echo) -> str:
    return f"{formatting.number(echo.wanted_cores)} wanted" if echo.wanted_cores and echo.pairs > 1 else ""


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a list with the section on throughput limits, or an empty list if no run measured echo with different
    numbers of pairs."""
    title, lines = "What limits several pairs at once", list(map(_line, echoes(runs)))
    return [Section(title, tables=[table(title.lower(), COLUMNS, lines, CAPTION)], id="limits")] if lines else []


def _line(echo: Echo) -> Line:
    values = [
        Value(name(echo)),
        Value(str(echo.pairs)),
        Value(formatting.number(echo.mb_s)),
        Value(formatting.times(echo.mb_s / echo.memory_mb_s)),
        Value(f"{formatting.number(echo.busy)} of {echo.cores}", notes(_wanted_cores(echo))),
        Value(formatting.percent(echo.copying)),
        Value(formatting.percent(echo.tcp)),
        Value(echo.limit),
    ]
    return Line(values)
