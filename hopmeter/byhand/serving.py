"""The participant that serves: works for a while, and sends back the frame that it was given."""

from __future__ import annotations

import threading
import time
from typing import Any

from hopmeter.byhand.moments import until
from hopmeter.byhand.participant import Ears, opened
from hopmeter.model.units import work

MOST_COEF = 1e6


class Worker:
    """Does the work of one server."""

    def __init__(self, text: str) -> None:
        self._work = work(text)
        self.calls = 0
        self._lock = threading.Lock()

    def answer(self, asked: Any) -> Any:
        """The frame that was sent, after the work, which `coef` multiplies. ValueError for what asks otherwise."""
        if not isinstance(asked, dict) or "frame" not in asked or not 0 <= float(asked.get("coef", 1)) <= MOST_COEF:
            raise ValueError("send {'frame': anything, 'coef': a number from 0 to 1e6}")
        self._do(float(asked.get("coef", 1)))
        with self._lock:
            self.calls += 1
        return asked["frame"]

    def _do(self, coef: float) -> None:
        if self._work["kind"] == "sleep":
            # Spun at the end, as in scenarios: a sleep that wakes late is the machine's, and no cost of the way.
            until(time.monotonic_ns() + round(coef * int(self._work["ns"])), over=lambda: False)
        elif self._work["kind"] == "spin":
            end_ns = time.monotonic_ns() + round(coef * int(self._work["ns"]))
            while time.monotonic_ns() < end_ns:
                pass
        elif self._work["kind"] == "copy":
            bytes(round(coef * int(self._work["bytes"])))


def play(ears: Ears, told: dict[str, Any]) -> None:
    """Serves until the command ends."""
    worker = Worker(told["work"])
    with opened(told, largest_bytes=told["largest_bytes"]) as house:
        house.server(told["link"], worker.answer)
        ears.say("bound")
        ears.over.wait()
    ears.say("done", calls=worker.calls)
