"""Send frames to the workers of a multiprocessing.Pool with only the standard library and NumPy.

Each frame is written to an array in shared memory. The pool gets one task per worker; a task reads the frame and
sleeps. The next frame follows when all tasks have finished. Prints the median time from submitting the first task to
the last answer, in microseconds.

Arguments: the number of frames, the width, the height, and each worker's sleep in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import time
from multiprocessing.shared_memory import SharedMemory

import numpy as np

WARMUP = 3


def attach(name: str, shape: tuple[int, ...]) -> None:
    global segment, frame
    segment = SharedMemory(name)
    frame = np.ndarray(shape, np.uint8, segment.buf)


def work(sleep_ms: float) -> int:
    time.sleep(sleep_ms / 1000)
    return int(frame[0, 0, 0])


def measure(pool: multiprocessing.pool.Pool, image: np.ndarray, frames: int, sleeps_ms: list[float]) -> list[int]:
    """Return each frame's time in nanoseconds, from submitting the first task to the last answer."""
    took = []
    for number in range(WARMUP + frames):
        image[:] = number % 251
        begun_ns = time.monotonic_ns()
        tasks = [pool.apply_async(work, (sleep_ms,)) for sleep_ms in sleeps_ms]
        answers = [task.get() for task in tasks]
        took.append(time.monotonic_ns() - begun_ns)
        if answers != [number % 251] * len(sleeps_ms):
            raise SystemExit(f"frame {number} was not what the workers saw: {answers}")
    return took[WARMUP:]


def main() -> None:
    frames, width, height = map(int, sys.argv[1:4])
    sleeps_ms = [float(each) for each in sys.argv[4:]]
    shape = (height, width, 3)
    run = os.environ.get("HOPMETER_BENCH_RUN", "")
    own = SharedMemory(f"hm_{run}_pool" if run else None, create=True, size=width * height * 3)
    try:
        with multiprocessing.get_context("fork").Pool(len(sleeps_ms), attach, (own.name, shape)) as pool:
            image = np.ndarray(shape, np.uint8, own.buf)
            print(statistics.median(measure(pool, image, frames, sleeps_ms)) / 1000)
            del image
    finally:
        own.unlink()


if __name__ == "__main__":
    main()
