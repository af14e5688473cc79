"""What somebody measured by hand: the figures of its log, with the numbers beside them.

`hopmeter listen`, `publish` and `ask` leave a folder each: a CSV with the columns of the study, and `by-hand.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hopmeter.analysis.percentiles import PERMILLE, estimate, quantiles
from hopmeter.errors import UsageError
from hopmeter.model.cell import Cell
from hopmeter.report import facts, formatting
from hopmeter.report.drawing import Figure
from hopmeter.report.source import Row, Run
from hopmeter.store.disk import StoreError
from hopmeter.store.run_folder import BY_HAND
from hopmeter.system.input_files import read_text
from hopmeter.system.untrusted_json import parse

PASSING = ("Load before the run", "Stolen since boot, %")
"""What of a machine is another from one minute to the next."""
LOGS = {"listener": "listener.csv", "publisher": "publisher.csv", "asker": "asker.csv"}
NOTCH = 1.57
"""Of the box's length over the root of the messages: the interval of a median, as McGill, Tukey and Larsen draw it."""
CAPTION = (
    "Box: the middle half; notch: about the 95 % interval of the median, as if messages were independent; whiskers: "
    "what lies within 1.5 boxes; dots: some of the messages beyond, the last always."
)
Delays = NDArray[np.int64]
"""Of each message, in nanoseconds, in the order of the log."""


@dataclass(frozen=True)
class Figured:
    """A number of a table, as it is sorted and as it is shown; none where it is not resolved."""

    value: float | None
    shown: str


@dataclass(frozen=True)
class Line:
    """A row of a table: who, and figures under the heads of its part."""

    names: tuple[str, str]
    messages: int
    mean: float
    """Times are in µs."""
    p50: float | None
    p90: float | None
    p99: float | None
    most: float
    more: tuple[Figured, ...] = ()

    @property
    def cells(self) -> tuple[Figured, ...]:
        """Under the heads."""
        times = (self.p50, self.p90, self.p99, self.most, self.mean)
        return (*(Figured(value, formatting.number(value)) for value in times), *self.more)


HEADS = ("p50, µs", "p90, µs", "p99, µs", "Longest, µs", "Mean, µs")


@dataclass(frozen=True)
class ByHand:
    """One participant's folder."""

    run: Run
    title: str
    asked: str
    """What else was asked for, in a line."""
    means: str
    """What is measured of each message."""
    names: tuple[str, str]
    """What the first two columns are."""
    heads: tuple[str, ...]
    lines: list[Line]
    figures: list[Figure]
    notes: list[str]
    """What a reader has to know beside the figures: what is missing, wrong or cut off."""


def machines(parts: Sequence[ByHand]) -> list[tuple[str, facts.Facts]]:
    """Where each end was, under the name of its folder; once where they were on the same machine."""
    known = [(part.run.folder.name, facts.machine(part.run)) for part in parts if part.run.part("machine")]
    alike = {str([pair for pair in told if pair[0] not in PASSING]) for _, told in known}
    return [("Machine", known[0][1])] if len(alike) == 1 else [(f"Machine of {name}", told) for name, told in known]


def are(folders: Sequence[Path]) -> bool:
    """Whether these were measured by hand; UsageError where some were and some were not."""
    found = [side(folder) != "" for folder in folders]
    if any(found) and not all(found):
        raise UsageError(
            "what was measured by hand and runs do not go into one report", "give each a report of its own"
        )
    return any(found)


def side(folder: Path) -> str:
    """`listener`, `publisher` or `asker`; empty where it is nobody's folder."""
    if (folder / "run.json").exists():
        return ""
    return next((name for name, log in LOGS.items() if (folder / log).exists()), "")


def opened(folder: Path) -> Run:
    """The folder, without rows yet. Raises StoreError where what was told is damaged."""
    return Run(folder, _about(folder), [])


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = parse(read_text(folder / BY_HAND))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:
        raise StoreError(
            f"{folder / BY_HAND} is damaged: {cause}", "remove it, and the log is drawn without it"
        ) from cause
    return about if isinstance(about, dict) else {}


def delays(log: Path, names: tuple[str, str]) -> dict[tuple[str, str], Delays]:
    """By what two columns of a log say, in its order. Raises StoreError where it is damaged, UsageError where empty."""
    texts: dict[str, Any] = dict.fromkeys(names, pl.String)
    try:
        table = pl.read_csv(log, schema_overrides={"delay": pl.Float64, **texts})
        table = table.drop_nulls("delay").with_columns(pl.col(*names).fill_null(""))
        parts = table.partition_by(*names, as_dict=True, maintain_order=True)
        found = {key: (part["delay"] * 1e9).round().cast(pl.Int64).to_numpy() for key, part in parts.items()}
    except (OSError, pl.exceptions.PolarsError) as cause:
        raise StoreError(f"{log} is damaged: {cause}", "take it from a copy, or measure again") from cause
    if not found:
        raise UsageError(f"{log} holds no message", "measure again, and wait for the first messages")
    return {(str(first), str(second)): each for (first, second), each in found.items()}


def row(run: Run, transport: str, codec: str, pattern: str, known: Delays) -> Row:
    """As a cell's, so that the figures of runs draw it."""
    same: dict[str, Any] = {"placement": "process", "wait": "block", "cores": "free", "sinks": 1}
    bare: dict[str, Any] = {"payload": "array", "payload_bytes": 0, "touch": "none", "pace": "open", "relays": 0}
    who: dict[str, Any] = {"id": f"{transport}-{codec}", "transport": transport, "language": "python", "codec": codec}
    cell = Cell.of(**who, **same, **bare, pattern=pattern, rate_hz=run.about.get("rate"))
    low, high = _notch(known)
    return Row(run, cell, {"status": "ok", "response_p50_low_us": low, "response_p50_high_us": high})


def _notch(known: Delays) -> tuple[float, float]:
    q1, p50, q3 = (value / 1000 for value in estimate(known, (0.25, 0.5, 0.75)))
    half = NOTCH * (q3 - q1) / len(known) ** 0.5
    return max(p50 - half, float(known.min()) / 1000), p50 + half


def line(names: tuple[str, str], known: Delays, more: tuple[Figured, ...]) -> Line:
    """The figures of these messages."""
    found = zip(PERMILLE, quantiles(known.copy(), PERMILLE.values()), strict=True)
    us = {name: None if value is None else value / 1000 for name, value in found}
    mean, most = float(known.mean()) / 1000, float(known.max()) / 1000
    return Line(names, len(known), mean, us["p50"], us["p90"], us["p99"], most, more)


def counted(value: float | None) -> Figured:
    """A whole number for a table."""
    return Figured(value, formatting.count(value))
