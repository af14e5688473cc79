"""The participant that asks: sends each frame to all servers, at once or in turn, and waits for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np

from hopmeter.byhand.participant import Ears, opened
from hopmeter.client.calls import Client

WITHIN_S = 20.0
SPARE_S = 30.0
"""How much longer than its work a call may take."""
COLUMNS = ("seq", "thread", "server", "began_ns", "ended_ns", "wrong")
"""What is recorded of each call, and of each frame: the server is then ALL."""
ALL = -1


def play(ears: Ears, told: dict[str, Any]) -> None:
    """Opens everything, asks in as many threads as told, and saves how long it took."""
    frames = _frames(told)
    with ExitStack() as closing:
        clients = [_clients(closing, told) for _ in range(told["threads"])]
        askers = [Asker(thread, each, frames, told, ears.over.is_set) for thread, each in enumerate(clients)]
        for asker in askers:
            asker.warm_up()
        ears.say("asking")
        began = time.monotonic_ns()
        _together(askers)
        elapsed_ns = time.monotonic_ns() - began
    rows = [row for asker in askers for row in asker.rows]
    np.save(told["rows"], np.array(rows, np.int64).reshape(-1, len(COLUMNS)))
    failure = next((asker.failure for asker in askers if asker.failure), "")
    ears.say("done", elapsed_ns=elapsed_ns, failure=failure)


def _frames(told: dict[str, Any]) -> Any:
    """What is sent, frame by frame and over and over: count x height x width x 3, uint8, in memory."""
    shape = (-1, told["height"], told["width"], 3)
    if told["pictures"] is None:
        return np.resize(np.arange(251, dtype=np.uint8), (1, *shape[1:]))
    return np.fromfile(told["pictures"], np.uint8).reshape(shape)


def _clients(closing: ExitStack, told: dict[str, Any]) -> list[Client]:
    """One for each server, of this thread alone."""
    found = []
    for server in told["servers"]:
        house = closing.enter_context(opened(server))
        found.append(house.client(server["link"], within_s=WITHIN_S))
    return found


def _together(askers: list[Asker]) -> None:
    threads = [threading.Thread(target=asker.run) for asker in askers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Asker:
    """One thread that asks all servers, frame by frame."""

    def __init__(
        self, thread: int, clients: list[Client], frames: Any, told: dict[str, Any], over: Callable[[], bool]
    ) -> None:
        self._thread, self._clients, self._frames, self._told, self._over = thread, clients, frames, told, over
        self.rows: list[tuple[int, ...]] = []
        """Of COLUMNS, times of CLOCK_MONOTONIC."""
        self.failure = ""

    def warm_up(self) -> None:
        """A frame for which no server works: what is loaded and allocated for the first call is nobody's latency."""
        for client in self._clients:
            client.call({"frame": self._frames[0], "coef": 0.0}, timeout_s=SPARE_S + self._told["patience_s"])

    def run(self) -> None:
        """All frames, and one at least; what fails is kept for the command."""
        try:
            with ThreadPoolExecutor(len(self._clients)) as pool:
                for number in range(self._told["frames"]):
                    if number and self._over():
                        return
                    self._one(number, map if self._told["in_turn"] else pool.map)
        except Exception as failed:  # noqa: BLE001 (told, whatever it is)
            self.failure = str(failed)

    def _one(self, number: int, mapped: Callable[..., Any]) -> None:
        frame = self._frames[number % len(self._frames)]
        began_ns = time.monotonic_ns()
        answers = list(mapped(lambda client: self._call(client, frame), self._clients))
        ended_ns = time.monotonic_ns()
        # Comparing comes after the time is taken.
        replies = [
            (number, self._thread, server, *times, int(not _same(answer, frame)))
            for server, (*times, answer) in enumerate(answers)
        ]
        self.rows += [(number, self._thread, ALL, began_ns, ended_ns, sum(each[-1] for each in replies)), *replies]

    def _call(self, client: Client, frame: Any) -> tuple[int, int, Any]:
        began_ns = time.monotonic_ns()
        asked = {"frame": frame, "coef": self._told["coef"]}
        answer = client.call(asked, timeout_s=SPARE_S + self._told["patience_s"])
        return began_ns, time.monotonic_ns(), answer


def _same(answer: Any, frame: Any) -> bool:
    return isinstance(answer, np.ndarray) and answer.dtype == frame.dtype and bool(np.array_equal(answer, frame))
