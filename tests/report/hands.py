"""Folders as the commands by hand leave them, of delays that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from hopmeter.byhand.asked import AskedFiles
from hopmeter.byhand.asker import Answers, Asking
from hopmeter.interactive.results import Outcome, Results
from hopmeter.store.samples import TIMES

ASKED = {"width": 200, "height": 100, "rate": 50.0, "command": ["hopmeter", "listen"], "machine": {"cores": 2}}
DELAYS_US = {"numpy": 100, "pillow": 400}


def write_measured(folder: Path, many: int = 300, side: str = "listener", **counts: int) -> Path:
    """A folder as the command leaves it, of delays that are known."""
    results = Results(side, folder, Console(quiet=True), ASKED)
    for plugin, us in DELAYS_US.items():
        rows = {name: np.zeros(many, np.int64) for name in TIMES} | {"seq": np.arange(many)}
        rows |= dict.fromkeys(("decoded_ns", "forwarded_ns"), us * 1000 + 10 * np.arange(many))
        results.add(Outcome("zeromq", plugin, "zeromq", plugin, "ok", rows=rows, **counts))
    return folder


def write_asked(folder: Path, **more: Any) -> Path:
    """A folder as `hopmeter ask` leaves it: 40 frames of 30 and 50 ms of work, and what was above it is known."""
    rows = [
        (seq, 0, server, seq * 10**8, seq * 10**8 + took_ms * 10**6 + 1000 * seq, int(more.get("wrong", 0)))
        for seq in range(40)
        for server, took_ms in ((-1, 52), (0, 31), (1, 51))
    ]
    servers = [{"name": "left", "transport": "zeromq", "work": "sleep:30ms"}]
    servers.append({"name": "right", "transport": "tcp", "work": "sleep:50ms"})
    known: dict[str, Any] = {"ideal_ns": 50_000_000, "works_ns": [3e7, 5e7]} | more.get("works", {})
    told = Answers(np.array(rows, np.int64), servers, 4 * 10**9, (640, 480), interrupted=True, **known)
    asking = Asking(["left", "right"], 40, 1.0, 1, (640, 480), None, False, {}, 10.0)
    AskedFiles(folder, {"command": ["hopmeter", "ask", "left", "right"]}).add(asking, told)
    return folder
