"""What somebody measured by hand: the study's figure of its log, with the numbers beside it.

`hopmeter listen` and `publish` leave `listener.csv` or `publisher.csv`, with the columns of the study of objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hopmeter.analysis.percentiles import PERMILLE, quantiles
from hopmeter.errors import UsageError
from hopmeter.plan.cell import Cell
from hopmeter.report import codecs, facts, shapes, words
from hopmeter.report.drawing import Figure, Style
from hopmeter.report.figures import boxes
from hopmeter.report.source import Row, Run
from hopmeter.store.disk import StoreError

PASSING = ("Load before the run", "Stolen since boot, %")
"""What of a machine is another from one minute to the next."""
LOGS = {"listener": "listener.csv", "publisher": "publisher.csv"}
TOLD = "by-hand.json"
"""How it was asked for, and on which machine; not in folders of an older hopmeter."""
NOTCH = 1.57
"""Of the box's length over the root of the messages: the interval of a median, as McGill, Tukey and Larsen draw it."""
MEANS = {
    "listener": "from before its object was encoded to after it was decoded at the receiver",
    "publisher": "that encoding it and handing it over took the sender",
}
CAPTION = (
    "Box: the middle half; notch: about the 95 % interval of the median, as if messages were independent; whiskers: "
    "what lies within 1.5 boxes; dots: some of the messages beyond, the last always."
)


@dataclass(frozen=True)
class Line:
    """One plugin over one middleware; times in µs."""

    middleware: str
    plugin: str
    messages: int
    mean: float
    p50: float | None
    p90: float | None
    p99: float | None
    most: float


@dataclass(frozen=True)
class ByHand:
    """One end's folder."""

    run: Run
    side: str
    lines: list[Line]
    figure: Figure | None

    @property
    def title(self) -> str:
        """`Listener: array 200×200 at 100 Hz`."""
        width, height, rate = (self.run.about.get(name) for name in ("width", "height", "rate"))
        conditions = f": object {width}×{height} at {words.rate(rate)}" if width and height and rate else ""
        return f"{self.side.capitalize()}{conditions}"

    @property
    def means(self) -> str:
        """What is measured."""
        return MEANS[self.side]


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
    """`listener` or `publisher`; empty where it is neither's folder."""
    if (folder / "run.json").exists():
        return ""
    return next((name for name, log in LOGS.items() if (folder / log).exists()), "")


def read(folder: Path, number: int) -> ByHand:
    """The folder of one end. Raises StoreError where its log is damaged, and UsageError where it is empty."""
    run, end = Run(folder, _about(folder), []), side(folder)
    found = [(row, delays) for row, delays in _pairs(run, folder / LOGS[end])]
    if not found:
        raise UsageError(f"{folder / LOGS[end]} holds no message", "measure again, and wait for the first messages")
    run.rows = [row for row, _ in found]
    return ByHand(run, end, [_line(row, delays) for row, delays in found], _figure(run, found, end, number))


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / TOLD).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:
        raise StoreError(
            f"{folder / TOLD} is damaged: {cause}", "remove it, and the log is drawn without it"
        ) from cause
    return about if isinstance(about, dict) else {}


def _pairs(run: Run, log: Path) -> list[tuple[Row, NDArray[np.int64]]]:
    """A row and its delays in ns for each plugin over each middleware, in the order of the log."""
    try:
        table = pl.read_csv(log, schema_overrides={"delay": pl.Float64, "middleware": pl.String, "plugin": pl.String})
        parts = table.drop_nulls("delay").partition_by("middleware", "plugin", as_dict=True, maintain_order=True)
        delays = {key: (part["delay"] * 1e9).round().cast(pl.Int64).to_numpy() for key, part in parts.items()}
    except (OSError, pl.exceptions.PolarsError) as cause:
        raise StoreError(f"{log} is damaged: {cause}", "take it from a copy, or measure again") from cause
    return [(_row(run, str(key[0]), str(key[1]), each), each) for key, each in delays.items()]


def _row(run: Run, middleware: str, plugin: str, delays: NDArray[np.int64]) -> Row:
    """As a cell's, so that the figure of runs draws it."""
    same: dict[str, Any] = {"pattern": "pubsub", "placement": "process", "wait": "block", "cores": "free", "sinks": 1}
    bare: dict[str, Any] = {"payload": "array", "payload_bytes": 0, "touch": "none", "pace": "open", "relays": 0}
    who: dict[str, Any] = {
        "id": f"{middleware}-{plugin}",
        "transport": middleware,
        "language": "python",
        "codec": plugin,
    }
    cell = Cell(**who, **same, **bare, rate_hz=run.about.get("rate"))
    low, high = _notch(delays)
    return Row(run, cell, {"status": "ok", "response_p50_low_us": low, "response_p50_high_us": high})


def _notch(delays: NDArray[np.int64]) -> tuple[float, float]:
    q1, p50, q3 = np.quantile(delays, (0.25, 0.5, 0.75)) / 1000
    half = NOTCH * (q3 - q1) / len(delays) ** 0.5
    return max(float(p50 - half), float(delays.min()) / 1000), float(p50 + half)


def _line(row: Row, delays: NDArray[np.int64]) -> Line:
    found = zip(PERMILLE, quantiles(delays.copy(), PERMILLE.values()), strict=True)
    known = {name: None if value is None else value / 1000 for name, value in found}
    mean, most = float(delays.mean()) / 1000, float(delays.max()) / 1000
    middle = (known["p50"], known["p90"], known["p99"])
    return Line(row.cell.transport, row.cell.codec, len(delays), mean, *middle, most)


def _figure(run: Run, found: Sequence[tuple[Row, NDArray[np.int64]]], end: str, number: int) -> Figure | None:
    boxed = [(row, box) for row, delays in found if (box := shapes.boxed(delays / 1000))]
    if not boxed:
        return None
    placed = codecs.arranged(boxed)
    told = ", ".join(f"{each.name} {words.microseconds(each.box.p50)}" for each in placed)
    caption = f"Of each message the time {MEANS[end]}. {CAPTION}"
    chart = boxes.chart(placed, Style.of([run]))
    return Figure(f"across-by-hand-{number}", "Plugin by plugin", caption, chart, f"Medians: {told}")
