"""A node without an instrument that follows the protocol in docs/internals.md, or violates the protocol as its spec
requests."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NULL = -(1 << 63)


class Node:
    def __init__(self, spec: dict[str, Any], control: socket.socket) -> None:
        self.spec, self.control, self.orders = spec, control, control.makefile("r")
        self.breaks = spec["settings"]["breaks"]
        self.is_again = spec.get("begin") == "at-once"

    def say(self, **message: Any) -> None:
        self.control.sendall(json.dumps(message).encode() + b"\n")

    def wait_for(self, word: str) -> dict[str, Any]:
        for line in self.orders:
            order = json.loads(line)
            if order["say"] == word:
                return dict(order)
        os._exit(0)  # the launcher has exited

    def endpoints(self, role: str) -> list[dict[str, Any]]:
        return [one for one in self.spec["endpoints"] if one["role"] == role]

    def begin(self) -> None:
        if self.breaks == "leaves":
            Path(f"/dev/shm/{self.spec['run']}_test").write_text("x")
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", "left-by-fake-node"])
        if self.breaks.startswith("opens"):
            self.segment = Path(f"/dev/shm/hmfake_{random.randrange(1 << 63)}").open("x")  # noqa: SIM115
            Path(f"{self.segment.name}.lock").touch()
        if self.breaks == "prints":
            print("what libraries print\n" * 100)
        if self.breaks == "hangs at start" or (self.breaks == "hangs again" and self.is_again):
            time.sleep(1000)
        links = {link: "here" for one in self.spec["endpoints"] for link in one["out"]}
        version = os.environ.get("FAKE_FLAVOUR", "1")
        self.say(say="bound", links=links, version=version, pid=os.getpid(), clock={"cost_ns": 20, "resolution_ns": 1})
        if self.breaks == "garbage":
            self.control.sendall(b"\xff\xfe hello\n")
        if self.breaks == "nests":
            self.control.sendall(b"[" * 60_000 + b"\n")
        self.wait_for("connect")

    def give_up(self) -> int | None:
        if self.breaks == "exits":
            print("no such library: libexample.so.1", file=sys.stderr)
            return 3
        if self.breaks == "fails" or (self.breaks == "fails again" and self.is_again):
            self.say(say="failed", error="the port 7 is taken", remedy="choose another with --set port=0")
            return 1
        return None

    def prove(self) -> None:
        self.say(say="ready")
        if self.is_again:
            return
        self.wait_for("probe")
        for one in self.endpoints("sink"):
            for probe in range(3):
                self.say(say="probed", endpoint=one["id"], pair=one["flow"], probe=probe)
        for one in self.endpoints("source"):
            self.wait_for("proved")
            self.say(say="quiet", pair=one["flow"])

    def measure(self) -> None:
        start_ns = self.wait_for("go")["start_ns"]
        if self.breaks == "opens and crashes":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.breaks == "crashes" and self.spec["node"] == 1:
            print("about to fall", flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if "restart" in self.spec and self.endpoints("sink") and not self.is_again:
            time.sleep(1000)  # the launcher kills this node
        if self.breaks == "source crashes" and self.endpoints("source"):
            os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep({"slow": 0.2, "slower": 1.2, "hangs": 1000, "opens and hangs": 1000}.get(self.breaks, 0))
        if self.breaks == "pauses" and self.spec["node"] == 1:
            subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -CONT {os.getpid()}"])
            os.kill(os.getpid(), signal.SIGSTOP)
        for one in self.spec["endpoints"]:
            write_samples(one, start_ns, self.spec["flows"][0]["messages"])
        tallies = [tally(one, self.spec) for one in self.spec["endpoints"]]
        self.say(say="done", endpoints=tallies, resources={}, facts={})

    def run(self) -> int:
        self.begin()
        code = self.give_up()
        if code is not None:
            return code
        self.prove()
        self.measure()
        self.wait_for("end")
        time.sleep(1000 if self.breaks == "lingers" else 0)
        return 0


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--spec", type=Path, required=True)
    options.add_argument("--control-fd", type=int, required=True)
    given = options.parse_args()
    return Node(json.loads(given.spec.read_text()), socket.socket(fileno=given.control_fd)).run()


def write_samples(one: dict[str, Any], start_ns: int, messages: int) -> None:
    source = one["role"] == "source"
    head = struct.pack("<8sIIIIQQ", b"HMSAMPLE", 1, 64, one["id"], 0, messages, 0).ljust(4096, b"\0")
    records = b""
    for seq in range(messages):
        due = start_ns + seq * 1_000_000
        arrived = NULL if source else due + 10_000
        records += struct.pack("<QII6q", seq, one["id"], 0, due, due + 1000, arrived, NULL, NULL, NULL)
    Path(one["samples"]).write_bytes(head + records)


def tally(one: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    source = one["role"] == "source"
    counts = dict.fromkeys(
        (
            "abandoned",
            "busy",
            "malformed",
            "foreign",
            "unrecorded",
            "content_errors",
            "content_checks",
            "copies",
            "late_work",
            "first_ns",
            "last_ns",
        ),
        0,
    )
    messages = spec["flows"][0]["messages"]
    return {
        **counts,
        "id": one["id"],
        "role": one["role"],
        "sent": messages if source else 0,
        "received": 0 if source else messages,
        "limit_reached": False,
    }


if __name__ == "__main__":
    sys.exit(main())
