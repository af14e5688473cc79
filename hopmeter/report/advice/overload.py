"""Transports that could not keep up with the requested rate, and the command that measures their highest rates."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hopmeter.analysis.results.run_results import Row
from hopmeter.model.cell import DEFAULTS
from hopmeter.report.advice.decision import Decision
from hopmeter.report.advice.row_words import names
from hopmeter.report.words import formatting

COMMAND = ("hopmeter", "run", "throughput")
CONDITIONS = {"payload": "--payload", "codec": "--codec", "sinks": "--sinks", "relays": "--relays", "pairs": "--pairs"}
"""The conditions that the command repeats if they differ from their defaults, and their options."""


def overload_rows(found: Decision) -> list[Row]:
    """For an ordinary table with messages in one direction, return the rows that could not keep up with the rate."""
    rows = [row for row in found.missing if row["status"] == "saturated" and row["rate_hz"]]
    return [row for row in rows if row["pattern"] == "pubsub" and row.cell.workload is None]


def overload_sentence(found: Decision) -> str:
    """Return a sentence on the rows that could not keep up, with the command that measures the rows' highest rates.
    Return an empty string if all rows kept up."""
    rows = overload_rows(found)
    if not rows:
        return ""
    rate, command = formatting.rate(rows[0]["rate_hz"]), shlex.join(throughput_command(rows))
    whose = "its highest rate" if len(rows) == 1 else "their highest rates"
    return f"{names(found.group, rows)} could not keep up with {rate}; `{command}` measures {whose}"


def throughput_command(rows: Sequence[Row]) -> list[str]:
    """Return the command that measures the highest rates of the given rows with unchanged messages."""
    first = rows[0]
    given = {option: str(first.get(name)) for name, option in CONDITIONS.items() if _differs(first, name)}
    given["--transport"] = ",".join(formatting.distinct(str(row["transport"]) for row in rows))
    given["--language"] = ",".join(formatting.distinct(str(row["language"]) for row in rows))
    return [*COMMAND, *(word for pair in given.items() for word in pair)]


def _differs(row: Row, name: str) -> bool:
    return name == "payload" or row.get(name) not in (None, DEFAULTS.get(name))
