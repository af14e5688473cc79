"""The results of `publish` and `listen`: a table in the terminal, the study's logs as CSV, and samples as Parquet."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from hopmeter.analysis.latency.arrivals import minus, preferring
from hopmeter.analysis.latency.percentiles import PERMILLE, quantiles, state
from hopmeter.interactive.result_folder import ResultFolder
from hopmeter.interactive.study import LISTENER, PUBLISHER
from hopmeter.report.words import formatting
from hopmeter.store.arrow_arrays import to_arrow
from hopmeter.store.samples import NONE_NS, TIMES, Times
from hopmeter.system.tables import print_whole
from hopmeter.system.terminal import Console

LOG = ("middleware", "plugin", "timestamp", "count", "delay")
ENDPOINT = {PUBLISHER: 0, LISTENER: 1}
"""The number of each side's endpoint in a trial."""
SHOWN = {
    LISTENER: ("mean", "p50", "p90", "p99", "max", "decode p50"),
    PUBLISHER: ("mean", "p50", "p90", "p99", "max", "encode p50", "late p99", "Hz"),
}
MEANS = {
    LISTENER: "delay: from the start of encoding to the end of decoding; all times in microseconds.",
    PUBLISHER: "delay: the time for encoding and sending, including retries of refused messages; late: how long after "
    "the due time a message was sent; all times in microseconds.",
}
LOST_NOTE = f"{formatting.LOST}: so many messages were lost that this percentile has no value."
QUEUED = "messages queue up because the rate is too high; use a lower --rate"
Rows = Mapping[str, Times]
"""The messages of one endpoint: `seq` and the columns in TIMES. A missing time is NONE_NS."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of measuring one pair of plugin and transport."""

    middleware: str
    plugin: str
    """The middleware and plugin names as the user typed them."""
    transport: str
    codec: str
    """The transport and codec names that hopmeter uses."""
    status: str
    """`ok`, `failed` or `missing`."""
    reason: str = ""
    rows: Rows = field(default_factory=dict)
    """The recorded messages, or no rows if nothing was recorded."""
    sent: int | None = None
    received: int | None = None
    wrong: int | None = None
    clocks: str = ""
    """A sentence on the uncertainty of delays between two clocks. The string is empty if both sides share a clock."""

    @property
    def about(self) -> dict[str, Any]:
        """Return all facts about a pair except the delays."""
        names = ("middleware", "plugin", "status", "reason", "sent", "received", "wrong", "clocks")
        return {name: getattr(self, name) for name in names}

    @property
    def lost(self) -> int | None:
        """Return the number of lost messages, or None if the number of sent or received messages is unknown."""
        return None if self.sent is None or self.received is None else max(0, self.sent - self.received)


def done_times(side: str, rows: Rows) -> Times:
    """Return the time at which each message was completed: decoded by the listener, or sent by the publisher."""
    if side == LISTENER:
        return preferring(rows["decoded_ns"], rows["arrived_ns"])
    sent: Times = rows["forwarded_ns"]
    return sent


def figures(side: str, rows: Rows, lost: int = 0) -> dict[str, float | None]:
    """Return the values for the table row of a pair, with all times in microseconds. A value is None if the pair has
    too few messages to compute the value.

    Lost messages count as slower than all received messages, so a percentile that falls on a lost message is infinite.
    """
    if not rows:
        return {}
    delays = minus(done_times(side, rows), rows["sent_ns"])
    found: dict[str, float | None] = {"decode p50": _one(minus(rows["decoded_ns"], rows["arrived_ns"]), "p50")}
    if not len(delays):
        return found
    found |= {name: _one(delays.copy(), name, lost) for name in PERMILLE}
    return found | {
        "mean": delays.mean() / 1000,
        "max": delays.max() / 1000,
        "encode p50": _one(minus(rows["encoded_ns"], rows["sent_ns"]), "p50"),
        "late p99": _one(minus(rows["sent_ns"], rows["due_ns"]), "p99"),
        "Hz": _rate(rows["sent_ns"]),
    }


def _one(values: Times, name: str, lost: int = 0) -> float | None:
    if state(len(values), lost, PERMILLE[name]) == "lost":
        return math.inf
    (found,) = quantiles(values, [PERMILLE[name]], lost)
    return None if found is None else found / 1000


def _rate(sent: Times) -> float | None:
    sent = sent[sent != NONE_NS]
    return float((len(sent) - 1) * 1e9 / (sent[-1] - sent[0])) if len(sent) > 1 else None


def _text(value: float | None) -> str:
    return formatting.LOST if value == math.inf else formatting.number(value)


def is_queue(side: str, rows: Rows) -> bool:
    """Return whether messages queue up: whether the last tenth of the messages has a much larger median delay than the
    first tenth."""
    if not rows:
        return False
    delays = minus(done_times(side, rows), rows["due_ns"])
    if (tenth := len(delays) // 10) == 0:
        return False
    period = float(np.median(np.diff(np.sort(rows["due_ns"]))))
    first, last = np.median(delays[:tenth]), np.median(delays[-tenth:])
    return bool(last > 3 * first and last - first > period)


class Results:
    """The result directory and the terminal table of the publisher or the listener."""

    def __init__(self, side: str, folder: Path, console: Console, about: Mapping[str, Any] | None = None) -> None:
        """Create the results, which contain no outcomes yet. `about` contains the requested options and a description
        of the machine."""
        self.side, self._console, self._about = side, console, dict(about or {})
        self._folder = ResultFolder(side, folder)
        self.outcomes: list[Outcome] = []
        # The difference between the wall clock, which the logs use, and the monotonic clock of the measurement.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def say(self, text: str, style: str = "dim") -> None:
        """Print a line."""
        self._console.print(text, style=style, markup=False, soft_wrap=True)

    def add(self, outcome: Outcome) -> None:
        """Store an outcome immediately. The outcome is shown in the table that is printed at the end."""
        self.outcomes.append(outcome)
        if outcome.status != "missing":
            reason = f": {outcome.reason}" if outcome.reason else ""
            self.say(f"{outcome.middleware} {outcome.plugin}: {outcome.status}{reason}")
        if outcome.rows:
            self._folder.add_log(LOG, self._log(outcome))
            self._folder.add_samples(f"{outcome.transport}-{outcome.codec}", self._samples(outcome))
        if self._about and self._folder.log.exists():
            self._folder.write_about({**self._about, "outcomes": [each.about for each in self.outcomes]})

    def _log(self, outcome: Outcome) -> list[tuple[Any, ...]]:
        rows, done = outcome.rows, done_times(self.side, outcome.rows)
        stamps = done if self.side == LISTENER else rows["sent_ns"]
        kept = (rows["sent_ns"] != NONE_NS) & (done != NONE_NS)
        columns = (each[kept].tolist() for each in (stamps, rows["seq"], done - rows["sent_ns"]))
        return [
            (outcome.middleware, outcome.plugin, f"{(stamp + self._epoch_ns) / 1e9:.6f}", seq, f"{delay / 1e9:.9f}")
            for stamp, seq, delay in zip(*columns, strict=True)
        ]

    def _samples(self, outcome: Outcome) -> dict[str, Any]:
        """Return the sample columns that docs/metrics.md defines, with the transport and the codec of the pair."""
        many = len(outcome.rows["seq"])
        whole = {"endpoint": ENDPOINT[self.side], "copy": 0}
        return {
            "transport": pa.array([outcome.transport] * many, pa.string()),
            "codec": pa.array([outcome.codec] * many, pa.string()),
            "seq": pa.array(outcome.rows["seq"], pa.uint64()),
            **{name: pa.array(np.full(many, value, np.uint32)) for name, value in whole.items()},
            **{name: to_arrow(outcome.rows[name], outcome.rows[name] != NONE_NS) for name in TIMES},
        }

    def show(self) -> None:
        """Print the table, the pairs that are missing from it, and the location of the files."""
        if any(outcome.status != "missing" for outcome in self.outcomes):
            self._show_table()
        self._show_missing()
        if self._folder.where:
            self.say(self._folder.where)

    def _show_missing(self) -> None:
        """Print each distinct reason why pairs are missing, with the pairs to which it applies."""
        reasons: dict[str, list[str]] = {}
        for each in self.outcomes:
            if each.status == "missing":
                reasons.setdefault(each.reason, []).append(f"{each.plugin} over {each.middleware}")
        for reason, pairs in reasons.items():
            self.say(f"not measured: {formatting.join(pairs)}: {reason}", style="yellow")

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
        notes = {formatting.NOTHING: f"{formatting.NOTHING}: too few messages.", formatting.LOST: LOST_NOTE}
        shown = {cell for outcome in self.outcomes for cell in self._line(outcome)}
        self.say(" ".join([MEANS[self.side], *(note for mark, note in notes.items() if mark in shown)]))

    def _line(self, outcome: Outcome) -> list[str]:
        found = figures(self.side, outcome.rows, (outcome.lost or 0) if self.side == LISTENER else 0)
        shown = [_text(found.get(head)) for head in SHOWN[self.side]]
        counts = (outcome.sent, outcome.received, outcome.lost, outcome.wrong)
        wrong = f"{outcome.wrong} messages arrived with wrong content" if outcome.wrong else ""
        queued = QUEUED if is_queue(self.side, outcome.rows) else ""
        trouble = "; ".join(filter(None, (wrong, outcome.reason, queued, outcome.clocks)))
        return [outcome.middleware, outcome.plugin, *shown, *map(formatting.count, counts), trouble]

    @property
    def exit_code(self) -> int:
        """Return 0 if at least one pair was measured, none failed and all content was correct, otherwise 1."""
        good = any(each.status == "ok" for each in self.outcomes)
        return 0 if good and not any(each.status == "failed" or each.wrong for each in self.outcomes) else 1
