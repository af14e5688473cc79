"""What came out by hand: a table in the terminal, the study's logs as CSV, and our samples as Parquet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from hopmeter.analysis.percentiles import PERMILLE, quantiles
from hopmeter.byhand.kept import Kept
from hopmeter.byhand.moments import COLUMNS, NULL
from hopmeter.report import formatting
from hopmeter.store.samples import TIMES
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

LOG = ("middleware", "plugin", "timestamp", "count", "delay")
SHOWN = {
    "listener": ("mean", "p50", "p90", "p99", "max", "decode p50"),
    "publisher": ("mean", "p50", "p90", "p99", "max", "encode p50", "late p99", "Hz"),
}
MEANS = {
    "listener": "delay: from before the object was encoded to after it was decoded; all in microseconds.",
    "publisher": "delay: how long encoding and handing over took, the transport's refusals with it; late: after the "
    "schedule; all in microseconds.",
}
QUEUED = "what is seen is a queue, for this rate is too high: give a lower --rate"
Figures = dict[str, float | None]


@dataclass(frozen=True)
class Outcome:
    """What became of one plugin over one middleware."""

    middleware: str
    plugin: str
    """As they were typed, for the logs and the table."""
    transport: str
    codec: str
    """As hopmeter calls them."""
    status: str
    """`ok`, `failed` or `missing`."""
    reason: str = ""
    rows: Any = None
    """Of moments.COLUMNS; None where nothing was recorded."""
    sent: int | None = None
    received: int | None = None
    wrong: int | None = None
    clocks: str = ""
    """How true delays are between machines whose clocks are two; empty where they are one."""

    def column(self, name: str) -> Any:
        """One column of the messages that count: not those to skip."""
        return self.measured[:, COLUMNS.index(name)]

    @property
    def told(self) -> dict[str, Any]:
        """What a report says of it besides its delays."""
        names = ("middleware", "plugin", "status", "reason", "sent", "received", "wrong", "clocks")
        return {name: getattr(self, name) for name in names}

    @property
    def measured(self) -> Any:
        """The rows of the messages that count."""
        return self.rows[self.rows[:, 0] >= 0]


def _between(outcome: Outcome, first: str, last: str) -> Any:
    """Nanoseconds from one moment to another, of the messages that had both."""
    begins, ends = outcome.column(first), outcome.column(last)
    both = (begins != NULL) & (ends != NULL)
    return (ends - begins)[both]


def figures(side: str, outcome: Outcome) -> Figures:
    """What is shown of a pair, in microseconds; None is not resolved."""
    listens = side == "listener"
    decoding = _between(outcome, "arrived_ns", "decoded_ns")
    delays = _between(outcome, "sent_ns", "decoded_ns" if listens else "handed_ns")
    if not len(delays):
        return {"decode p50": _one(decoding, "p50")} if len(decoding) else {}
    found: Figures = {"mean": delays.mean() / 1000, "max": delays.max() / 1000}
    found |= {name: _us(value) for name, value in zip(PERMILLE, quantiles(delays, PERMILLE.values()), strict=True)}
    if listens:
        return found | {"decode p50": _one(decoding, "p50")}
    found["encode p50"] = _one(_between(outcome, "sent_ns", "encoded_ns"), "p50")
    late = _between(outcome, "intended_ns", "sent_ns")
    return found | {"late p99": _one(late, "p99"), "Hz": _rate(outcome)}


def _one(values: Any, name: str) -> float | None:
    return _us(quantiles(values, [PERMILLE[name]])[0])


def _us(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _rate(outcome: Outcome) -> float | None:
    sent = outcome.column("sent_ns")
    sent = sent[sent != NULL]
    return float((len(sent) - 1) * 1e9 / (sent[-1] - sent[0])) if len(sent) > 1 else None


def is_queue(side: str, outcome: Outcome) -> bool:
    """Whether messages came faster than they could be taken: the delay grows from the first tenth to the last by more
    than the time between two messages."""
    delays = _between(outcome, "intended_ns", "decoded_ns" if side == "listener" else "handed_ns")
    if (tenth := len(delays) // 10) == 0:
        return False
    due = outcome.column("intended_ns")
    period = float(np.median(np.diff(np.sort(due))))
    first, last = np.median(delays[:tenth]), np.median(delays[-tenth:])
    return bool(last > 3 * first and last - first > period)


class Results:
    """The folder and the table of one end, `listener` or `publisher`."""

    def __init__(self, side: str, folder: Path, console: Console, told: Mapping[str, Any] | None = None) -> None:
        """`told`, what was asked for and where, goes with the log: a report of it says so."""
        self.side, self._console, self._told = side, console, dict(told or {})
        self._kept = Kept(side, folder)
        self.outcomes: list[Outcome] = []
        # Logs of people bear the time of day; what is measured is measured with the other clock.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def says(self, text: str) -> None:
        """A line for whoever watches."""
        self._console.print(text, style="dim", markup=False, soft_wrap=True)

    def add(self, outcome: Outcome) -> None:
        """Keeps it: in the files at once, in the table at the end."""
        self.outcomes.append(outcome)
        if outcome.status != "missing":
            reason = f": {outcome.reason}" if outcome.reason else ""
            self.says(f"{outcome.middleware} {outcome.plugin}: {outcome.status}{reason}")
        if outcome.rows is not None:
            self._write_log(outcome)
            self._write_samples(outcome)
        if self._told and self._kept.log.exists():
            self._kept.tell({**self._told, "outcomes": [each.told for each in self.outcomes]})

    def _write_log(self, outcome: Outcome) -> None:
        first, last = ("sent_ns", "decoded_ns") if self.side == "listener" else ("sent_ns", "handed_ns")
        stamp = last if self.side == "listener" else first
        lines = []
        for seq, *each in zip(*map(outcome.column, ("seq", first, last, stamp)), strict=True):
            if NULL not in each:
                moment, delay = (each[2] + self._epoch_ns) / 1e9, (each[1] - each[0]) / 1e9
                lines.append((outcome.middleware, outcome.plugin, f"{moment:.6f}", seq, f"{delay:.9f}"))
        self._kept.add_log(LOG, lines)

    def _write_samples(self, outcome: Outcome) -> None:
        """Columns and their names as in docs/metrics.md; a row a message."""
        many = len(outcome.measured)
        columns: dict[str, Any] = {
            "transport": pa.array([outcome.transport] * many, pa.string()),
            "codec": pa.array([outcome.codec] * many, pa.string()),
            "seq": pa.array(outcome.column("seq")),
            "participant": pa.array(np.full(many, int(self.side == "listener"), np.uint32)),
            "copy": pa.array(np.zeros(many, np.uint32)),
            **{name: self._times(outcome, name) for name in TIMES},
            "content_error": pa.array(outcome.column("wrong") != 0),
        }
        self._kept.add_samples(f"{outcome.transport}-{outcome.codec}", columns)

    @staticmethod
    def _times(outcome: Outcome, name: str) -> Any:
        if name not in COLUMNS:
            return pa.nulls(len(outcome.measured), pa.int64())
        values = outcome.column(name)
        return pa.array(values, mask=values == NULL)

    def show(self) -> None:
        """The table, what is missing, and where the files are."""
        if any(outcome.status != "missing" for outcome in self.outcomes):
            self._show_table()
        self._show_missing()
        if self._kept.where:
            self.says(self._kept.where)

    def _show_missing(self) -> None:
        """Once for each reason."""
        reasons: dict[str, list[str]] = {}
        for each in self.outcomes:
            if each.status == "missing":
                reasons.setdefault(each.reason, []).append(f"{each.plugin} over {each.middleware}")
        for reason, pairs in reasons.items():
            self._console.print(
                f"not measured: {formatting.join(pairs)}: {reason}", style="yellow", markup=False, soft_wrap=True
            )

    def _show_table(self) -> None:
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for head in ("middleware", "plugin"):
            table.add_column(head, no_wrap=True)
        for head in (*SHOWN[self.side], "sent", "received", "lost", "wrong"):
            table.add_column(head, justify="right", overflow="fold")
        table.add_column("", overflow="fold")
        for outcome in (each for each in self.outcomes if each.status != "missing"):
            style = "red" if outcome.wrong or outcome.status == "failed" else "yellow" if outcome.reason else ""
            table.add_row(*self._line(outcome), style=style)
        print_whole(self._console, table)
        self._console.print(f"{MEANS[self.side]} {formatting.NOTHING}: too few messages to tell.", style="dim")

    def _line(self, outcome: Outcome) -> list[str]:
        found = figures(self.side, outcome) if outcome.rows is not None else {}
        shown = [formatting.number(found.get(head)) for head in SHOWN[self.side]]
        counts = (outcome.sent, outcome.received, _lost(outcome), outcome.wrong)
        wrong = f"{outcome.wrong} messages arrived with another content" if outcome.wrong else ""
        queued = QUEUED if outcome.rows is not None and is_queue(self.side, outcome) else ""
        trouble = "; ".join(filter(None, (wrong, outcome.reason, queued, outcome.clocks)))
        return [outcome.middleware, outcome.plugin, *shown, *map(formatting.count, counts), trouble]

    @property
    def exit_code(self) -> int:
        """0 where something was measured, nothing failed and every content was right."""
        good = any(each.status == "ok" for each in self.outcomes)
        return 0 if good and not any(each.status == "failed" or each.wrong for each in self.outcomes) else 1


def _lost(outcome: Outcome) -> int | None:
    if outcome.sent is None or outcome.received is None:
        return None
    return max(0, outcome.sent - outcome.received)
