"""An adapter over Unix sockets that misbehaves on request. `unix_sockets` is a copy of the adapter of `unix`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import unix_sockets

AT = 30
"""The number of the misbehaving send: after the probes and the warm-up, before the last message."""


class Publisher:
    def __init__(self, sound: Any, breaks: str) -> None:
        self._sound, self._breaks, self._sent = sound, breaks, 0
        self.address: str = sound.address
        self.close = sound.close

    def send(self, payload_bytes: int, fill: Callable[..., None]) -> bool:
        self._sent += 1
        if self._breaks == "mutters":
            print("no router is to be found", file=sys.stderr, flush=True)
            fill(bytearray(64 + payload_bytes))
            return True
        if self._sent == AT and self._breaks in MISDEEDS:
            MISDEEDS[self._breaks]()
        return bool(self._sound.send(payload_bytes, fill))


class Transport(unix_sockets.Transport):
    def publisher(self, link: Any) -> Publisher:
        return Publisher(super().publisher(link), self.setup.settings["breaks"])

    def close(self) -> None:
        super().close()
        breaks, folder = self.setup.settings["breaks"], Path(self.setup.directory).parent
        samples = folder / "1.raw"
        if breaks == "lingers":
            time.sleep(1000)
        if breaks == "cuts":
            os.truncate(samples, samples.stat().st_size - 64)
        if breaks == "scribbles":
            with samples.open("r+b") as file:
                file.write(b"anything")


def raises() -> None:
    raise RuntimeError("the library is out of luck")


def crashes() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs() -> None:
    time.sleep(1000)


def prints() -> None:
    print('{"say": "failed", "error": "this is no message"}\n\xff\x00 garbage', flush=True)


def babbles() -> None:
    os.write(int(sys.argv[sys.argv.index("--control-fd") + 1]), b"\xff\xfe what a node never says\n")


MISDEEDS = {each.__name__: each for each in (raises, crashes, hangs, prints, babbles)}
