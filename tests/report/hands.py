"""Write the result folders of the interactive commands with known delays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from hopmeter.interactive.asker_results import Answers, AskerFolder
from hopmeter.interactive.frame_times import CALL
from hopmeter.interactive.frames_scenario import Frames, Server
from hopmeter.interactive.results import Outcome, Results
from hopmeter.store.samples import NONE_NS, TIMES

ASKED = {"width": 200, "height": 100, "rate": 50.0, "command": ["hopmeter", "listen"], "machine": {"cores": 2}}
DELAYS_US = {"numpy": 100, "pillow": 400}


def write_measured(folder: Path, many: int = 300, side: str = "listener", **counts: int) -> Path:
    results = Results(side, folder, Console(quiet=True), ASKED)
    for plugin, us in DELAYS_US.items():
        rows = {name: np.zeros(many, np.int64) for name in TIMES} | {"seq": np.arange(many)}
        rows |= dict.fromkeys(("decoded_ns", "forwarded_ns"), us * 1000 + 10 * np.arange(many))
        results.add(Outcome("zeromq", plugin, "zeromq", plugin, "ok", rows=rows, **counts))
    return folder


def write_asked(folder: Path, wrong: int = 0, works: Sequence[str] = ("sleep:30ms", "sleep:50ms")) -> Path:
    """Write the folder of `hopmeter ask`: two servers answer 40 frames with 30 ms and 50 ms of work and known
    overhead."""
    due = [(seq - 1) * 10**8 + 99 * 10**6 for seq in range(40)]
    calls = [
        (0, server, seq, due[seq], seq * 10**8, seq * 10**8 + took_ms * 10**6 + 1000 * seq, NONE_NS)
        for seq in range(40)
        for server, took_ms in ((0, 31), (1, 51))
    ]
    named = zip(("left", "right"), ("zeromq", "tcp"), works, strict=True)
    servers = [Server(*each) for each in named]
    found = Answers(
        Frames("image:640x480", 40), servers, (640, 480), np.array(calls, CALL), wrong=wrong, interrupted=True
    )
    AskerFolder(folder, {"command": ["hopmeter", "ask", "left", "right"]}).write(found)
    return folder
