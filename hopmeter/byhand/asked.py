"""What came of asking servers: mean, std, len as the study prints them, percentiles, and the files that keep it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hopmeter.analysis.percentiles import PERMILLE, quantiles
from hopmeter.byhand.asker import Answers, Asking
from hopmeter.byhand.asking import ALL
from hopmeter.byhand.kept import Kept
from hopmeter.report import formatting

LOG = ("server", "transport", "timestamp", "count", "delay", "thread")
SIDE = "asker"


def together(in_turn: bool) -> str:
    """What all servers of a frame are called; no server can be named so."""
    return "one after the other" if in_turn else "all at once"


def rows(asking: Asking, found: Answers) -> list[list[str]]:
    """All servers together, then each; in milliseconds."""
    if not len(found.rows):
        return []
    lines = [_row(together(asking.in_turn), "", found.took_ns())]
    for place, server in enumerate(found.servers):
        lines.append(_row(server["name"], server["transport"], found.took_ns(place)))
    return lines


def _row(name: str, transport: str, values: Any) -> list[str]:
    spread = values.std(ddof=1) if len(values) > 1 else None
    p50, p99 = quantiles(values.copy(), [PERMILLE["p50"], PERMILLE["p99"]])
    shown = [_ms(values.mean()), _ms(spread), formatting.count(len(values)), _ms(p50), _ms(p99)]
    return [name, transport, *shown]


def _ms(value: float | None) -> str:
    return formatting.number(None if value is None else float(value) / 1e6, 4)


def lines(asking: Asking, found: Answers) -> list[str]:
    """What stands below the table."""
    said = [f"frames of {found.pictures}"] if found.pictures else []
    said += ["interrupted: fewer frames than asked for"] if found.interrupted else []
    said += [found.failure] if found.failure else []
    if found.wrong:
        said.append(f"{found.wrong} replies were not the frame that was sent")
    if not len(found.rows):
        return said
    frames = found.took_ns()
    if found.ideal_ns:
        over = (float(frames.mean()) - found.ideal_ns) / 1e6
        said.append(f"the work alone takes {found.ideal_ns / 1e6:g} ms: {over:.3f} ms over it on average")
    both_ways = 2 * found.size[0] * found.size[1] * 3 * len(asking.names) * len(frames)
    said.append(f"{both_ways / 1e6 / (found.elapsed_ns / 1e9):.1f} MB/s both ways, all threads together")
    return said


class AskedFiles:
    """The folder of what an asker measured. Raises UsageError where another one lies there."""

    def __init__(self, folder: Path, told: Mapping[str, Any]) -> None:
        """`told`: what was asked for and where."""
        self._kept, self._told = Kept(SIDE, folder), told
        # Logs of people bear the time of day; what is measured is measured with the other clock.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def add(self, asking: Asking, found: Answers) -> str:
        """Everything, and where it lies; nothing, and no word, where nothing was measured."""
        if len(found.rows):
            self._kept.tell({**self._told, **told_of(asking, found)})
            self._kept.add_log(LOG, self._log(asking, found))
            self._kept.add_samples("", _samples(found))
        return self._kept.where

    def _log(self, asking: Asking, found: Answers) -> Iterator[tuple[Any, ...]]:
        for seq, thread, server, began_ns, ended_ns, _ in found.rows.tolist():
            one = {"name": together(asking.in_turn), "transport": ""} if server == ALL else found.servers[server]
            moment, delay = (began_ns + self._epoch_ns) / 1e9, (ended_ns - began_ns) / 1e9
            yield (one["name"], one["transport"], f"{moment:.6f}", seq, f"{delay:.9f}", thread)


def told_of(asking: Asking, found: Answers) -> dict[str, Any]:
    """What a report says of it besides its delays; times in nanoseconds."""
    width, height = found.size
    asked = {"frames": asking.frames, "coef": asking.coef, "threads": asking.threads, "in_turn": asking.in_turn}
    known = {"ideal_ns": found.ideal_ns, "works_ns": found.works_ns, "elapsed_ns": found.elapsed_ns}
    ended = {"wrong": found.wrong, "failure": found.failure, "interrupted": found.interrupted}
    what = {"width": width, "height": height, "pictures": found.pictures, "servers": found.servers}
    return {**asked, **what, **known, **ended}


def _samples(found: Answers) -> dict[str, Any]:
    """Columns and their names as in docs/metrics.md, of a scatter's client; a row a reply."""
    replies = found.rows[found.column("server") != ALL]
    seq, thread, server, began, ended, wrong = replies.T
    names, transports = ([each[key] for each in found.servers] for key in ("name", "transport"))
    return {
        "transport": pa.array([transports[place] for place in server], pa.string()),
        "server": pa.array([names[place] for place in server], pa.string()),
        "seq": pa.array(seq),
        "participant": pa.array(thread.astype(np.uint32)),
        "copy": pa.array(server.astype(np.uint32)),
        "intended_ns": pa.array(_due(found, replies)),
        "sent_ns": pa.array(began),
        "arrived_ns": pa.array(ended),
        "content_error": pa.array(wrong != 0),
    }


def _due(found: Answers, replies: Any) -> Any:
    """When the frame of each reply began to be asked."""
    began = {(row[0], row[1]): row[3] for row in found.of().tolist()}
    return np.array([began[row[0], row[1]] for row in replies.tolist()], np.int64)
