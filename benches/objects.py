"""Objects between two Python processes: against Wrapyfi, against pickle, and against budgets.

NumPy 200x200 at 100 Hz over ZeroMQ against Wrapyfi over its own; the time until an image in shared memory is there;
6 MB sent back, over the best transport against pickled over ZeroMQ.
"""

from __future__ import annotations

from typing import Any

from ending import orderly
from ours import hopmeter
from pairs import PAIRS, Comparison, told

from hopmeter import manifest
from hopmeter.manifest import readiness

IMAGE_MOST_US = 100.0
DIRECT = ("shm", "iceoryx2", "unix")
"""From which the best for 6 MB comes, as far as they are here."""
SCENARIO = """
title = "Objects"
question = "What do objects cost between two Python processes?"
transport = {transport}
language = "python"
placement = "process"
wait = {wait}
cores = "cross"
trials = 1
{axes}
"""
PACED = """
pace = "open"
rate = 100
messages = 200
warmup = 20
codec = "numpy"
payload = "array:200x200"
checksum = true
settings.zeromq.endpoint = ["ipc", "tcp"]
"""
IMAGE = """
pace = "open"
rate = 30
messages = 60
warmup = 10
payload = "image:1440x1080"
touch = "none"
"""
ECHO = """
pattern = "rpc"
pace = "closed"
messages = 60
warmup = 10
payload = "image:2000x1000"
codec = "{codec}"
"""


def rows(transports: tuple[str, ...], axes: str, waits: tuple[str, ...] = ("block",)) -> list[dict[str, Any]]:
    """Measured once, floors left out."""
    found = hopmeter(SCENARIO.format(transport=list(transports), wait=list(waits), axes=axes))
    return [row for row in found if row["transport"] in transports]


def against_wrapyfi(found: dict[str, Comparison]) -> None:
    """The limit holds for ZeroMQ as hopmeter's adapter is by default; over TCP, which Wrapyfi takes, it is told.

    Where Wrapyfi does not keep up with 100 Hz its messages wait for one another, and the pair would flatter ours.
    """
    measured = rows(("zeromq", "wrapyfi"), PACED)
    (theirs,) = (row for row in measured if row["transport"] == "wrapyfi")
    if theirs["status"] != "ok":
        print(f"wrapyfi at 100 Hz: {theirs['reason']}; the pair does not count", flush=True)
        return
    for row in (row for row in measured if row["transport"] == "zeromq"):
        kind, limit = ("tcp", None) if "tcp" in row["profile"] else ("ipc", 0.05)
        name = f"numpy 200x200, zeromq {kind}, 100 Hz / wrapyfi"
        found.setdefault(name, Comparison(name, limit)).add(row["response_p50_us"], theirs["response_p50_us"])


def image(found: dict[str, Comparison]) -> None:
    """Due to arrived, with the pixels neither written nor read."""
    for row in rows(("shm",), IMAGE, ("block", "spin")):
        name = f"image 1440x1080, shm (python), {row['wait']}, response / budget"
        found.setdefault(name, Comparison(name, 1.0)).add(row["response_p50_us"], IMAGE_MOST_US)


def echo(found: dict[str, Comparison], transports: tuple[str, ...]) -> None:
    """The best of a pair counts; each is told."""
    (pickled,) = rows(("zeromq",), ECHO.format(codec="pickle-in-band"))
    ours = {row["transport"]: row["response_p50_us"] for row in rows(transports, ECHO.format(codec="numpy"))}
    for transport, took_us in {**ours, "best transport": min(ours.values())}.items():
        limit = 0.2 if transport == "best transport" else None
        name = f"6 MB echoed, {transport} / pickled, zeromq"
        found.setdefault(name, Comparison(name, limit)).add(took_us, pickled["response_p50_us"])


def main() -> int:
    """Every pair is one run of everything; fails too where no pair with Wrapyfi counts."""
    known = manifest.every()
    here = tuple(name for name in DIRECT if readiness(known[name], "python", "numpy").ready)
    found: dict[str, Comparison] = {}
    for _ in range(PAIRS):
        against_wrapyfi(found)
        image(found)
        echo(found, here)
    code = told(found.values())
    return code if any("wrapyfi" in name for name in found) else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
