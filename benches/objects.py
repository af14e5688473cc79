r"""Send objects between two Python processes, and compare with Wrapyfi, with pickle and with budgets.

There are three measurements:
- 200x200 NumPy arrays at 100 Hz over ZeroMQ, against Wrapyfi over ZeroMQ;
- the time until an image in shared memory arrives;
- a round trip of 6 MB over the best transport, against pickle over ZeroMQ.
"""

from __future__ import annotations

from typing import Any

from ending import orderly
from ours import hopmeter
from pairs import Comparison, pair_rounds, print_comparisons
from programs import python_number

from hopmeter import manifest
from hopmeter.manifest import readiness

IMAGE_MOST_US = 100.0
IMAGE_HZ, IMAGES = 30, 60
PACED_HZ, PACED_MESSAGES, PACED_SIDE = 100, 200, 200
DIRECT = ("shm", "iceoryx2", "unix")
"""The transports that are compared for 6 MB objects if they are ready; only the fastest one counts."""
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
PACED = f"""
pace = "open"
rate = {PACED_HZ}
messages = {PACED_MESSAGES}
warmup = 20
codec = "numpy"
payload = "array:{PACED_SIDE}x{PACED_SIDE}"
checksum = true
settings.zeromq.endpoint = ["ipc", "tcp"]
"""
IMAGE = f"""
pace = "open"
rate = {IMAGE_HZ}
messages = {IMAGES}
warmup = 10
payload = "image:1440x1080"
touch = "none"
"""
ECHOES, ECHO_SHAPE = 60, (1000, 2000, 3)
ECHO = f"""
pattern = "rpc"
pace = "closed"
messages = {ECHOES}
warmup = 10
payload = "image:2000x1000"
codec = "{{codec}}"
"""


def rows(transports: tuple[str, ...], axes: str, waits: tuple[str, ...] = ("block",)) -> list[dict[str, Any]]:
    """Measure these transports once, and return their rows without floors."""
    found = hopmeter(SCENARIO.format(transport=list(transports), wait=list(waits), axes=axes))
    return [row for row in found if row["transport"] in transports]


def against_wrapyfi(found: dict[str, Comparison]) -> None:
    """Compare ZeroMQ with Wrapyfi. Wrapyfi uses TCP, so only the TCP row has a limit."""
    measured = rows(("zeromq", "wrapyfi"), PACED)
    (theirs,) = (row for row in measured if row["transport"] == "wrapyfi")
    if theirs["status"] != "ok":
        print(f"wrapyfi at 100 Hz: {theirs['reason']}; the pair does not count", flush=True)
        return
    ours = {"tcp" if "tcp" in row["profile"] else "ipc": row for row in measured if row["transport"] == "zeromq"}
    took_us = {f"zeromq {kind}": row["response_p50_us"] for kind, row in ours.items()}
    for what, us in took_us.items():
        name = f"numpy 200x200, {what}, 100 Hz / wrapyfi"
        limit = 0.05 if what == "zeromq tcp" else None
        found.setdefault(name, Comparison(name, limit)).add(us, theirs["response_p50_us"])


def image(found: dict[str, Comparison]) -> None:
    """Compare an image's response time with a budget; the pixels are neither written nor read."""
    took_us = {
        f"image 1440x1080, shm (python), {row['wait']}, response": row["response_p50_us"]
        for row in rows(("shm",), IMAGE, ("block", "spin"))
    }
    for what, us in took_us.items():
        name = f"{what} / budget"
        found.setdefault(name, Comparison(name, 1.0)).add(us, IMAGE_MOST_US)


def echo(found: dict[str, Comparison], transports: tuple[str, ...]) -> None:
    """Compare the best transport with a bare pyzmq program that uses pickle. The other transports, and the ratio to
    pickle within hopmeter, are reported without a limit."""
    (pickled,) = rows(("zeromq",), ECHO.format(codec="pickle-in-band"))
    ours = {row["transport"]: row["response_p50_us"] for row in rows(transports, ECHO.format(codec="numpy"))}
    best_us = min(ours.values())
    alone_us = python_number("pickled.py", ECHOES, ",".join(map(str, ECHO_SHAPE)))
    told_us = {**ours, "best transport": best_us}
    pairs = [(f"{name} / pickled, zeromq", None, us, pickled["response_p50_us"]) for name, us in told_us.items()]
    for what, limit, us, theirs_us in [*pairs, ("best transport / pickled, pyzmq alone", 0.2, best_us, alone_us)]:
        name = f"6 MB echoed, {what}"
        found.setdefault(name, Comparison(name, limit)).add(us, theirs_us)


def main() -> int:
    """Measure pairs, each with one run of every comparison.

    Return 1 if a limit is missed or no pair with Wrapyfi is valid.
    """
    known = manifest.every()
    here = tuple(name for name in DIRECT if readiness(known[name], "python", "numpy").ready)
    found: dict[str, Comparison] = {}
    for _ in pair_rounds(found.values()):
        against_wrapyfi(found)
        image(found)
        echo(found, here)
    code = print_comparisons(found.values())
    return code if any("wrapyfi" in name for name in found) else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
