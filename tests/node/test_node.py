"""Tests for a Python node apart from its adapter: it starts quickly, prints nothing, and exits with its launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.node.driver import MESSAGES, QUEUES, Measure, Start

HEAVY = {"altair", "argparse", "duckdb", "numpy", "polars", "pyarrow", "pydantic", "rich", "typer"}
CALLED = """
    import threading
    class Called:
        def __init__(self, line, on_frame):
            self.line, self.on_frame = line, on_frame
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
        def run(self):
            while (frame := self.line.get()) is not None:
                self.on_frame(frame)
        def close(self):
            {close}
    def subscribe(self, link, on_frame):
        return Called(lines.setdefault(link.name, queue.SimpleQueue()), on_frame)
    Transport.subscribe = subscribe
"""


def test_source_and_sink_share_one_interpreter(measure: Measure) -> None:
    outcome = measure()
    source, sink = outcome.last["endpoints"]
    assert (source["sent"], sink["received"], outcome.code, outcome.log) == (MESSAGES, MESSAGES, 0, "")


def test_the_interpreter_and_its_collector_are_told(measure: Measure) -> None:
    facts = measure(settings={"gc": "off"}).last["facts"]
    assert facts["python"].startswith("cpython 3.")
    assert facts["gc"] == "off"


def test_frames_may_come_on_a_thread_of_the_library(measure: Measure) -> None:
    outcome = measure(CALLED.format(close="self.line.put(None); self.thread.join()"), wait="callback")
    assert outcome.last["endpoints"][1]["received"] == MESSAGES
    assert outcome.log == ""


def test_an_adapter_that_goes_on_calling_after_close_is_not_listened_to(measure: Measure) -> None:
    outcome = measure(
        CALLED.format(close="self.on_frame(bytearray(64)); self.line.put(bytearray(64))"), wait="callback"
    )
    assert (outcome.last["say"], outcome.code) == ("done", 0)


def test_work_gives_the_interpreter_away(measure: Measure) -> None:
    outcome = measure(relays=1, work={"kind": "sleep", "ns": 5_000_000})
    source, _, sink = outcome.last["endpoints"]
    assert sink["received"] == MESSAGES
    # 50 messages at 1000 Hz: the source keeps its pace only if the relay releases the GIL while it works for 5 ms per
    # message.
    assert source["last_ns"] - source["first_ns"] < MESSAGES * 3_000_000


def test_ctrl_c_leaves_the_node_to_its_launcher(start: Start) -> None:
    node = start()
    assert node.hear("bound")
    os.kill(node.process.pid, signal.SIGINT)
    node.said.clear()
    node.order("connect", links={"l0": ""})
    assert node.hear("ready")
    node.channel.shutdown(2)
    node.process.wait(10)
    assert node.end().log == ""


def test_a_node_describes_itself(tmp_path: Path) -> None:
    folder = tmp_path / "example" / "python"
    folder.mkdir(parents=True)
    (folder / "adapter.py").write_text(QUEUES)
    command = [sys.executable, "-m", "hopmeter.node", "--describe", "--adapter", str(folder)]
    described = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert {key: described[key] for key in ("transport", "language", "version")} == {
        "transport": "example", "language": "python", "version": "queue 1",
    }  # fmt: skip


def test_a_node_that_cannot_run_does_not_describe_itself(tmp_path: Path) -> None:
    folder = tmp_path / "example" / "python"
    folder.mkdir(parents=True)
    (folder / "adapter.py").write_text("import no_such_library")
    command = [sys.executable, "-m", "hopmeter.node", "--describe", "--adapter", str(folder)]
    described = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (described.returncode, described.stdout) == (1, "")
    assert "no_such_library" in described.stderr
    assert "hopmeter build example" in described.stderr


def test_starting_a_node_imports_nothing_heavy() -> None:
    code = "import sys, hopmeter.node.node_main; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert not HEAVY.intersection(loaded)


LARGE = """
def send(self, payload_bytes, fill):
    blocks = [bytearray(4 << 20) for _ in range(3)]
    return sent(self, payload_bytes, fill)
sent, Publisher.send = Publisher.send, send
"""


@pytest.mark.parametrize("heap", ["retain", "libc"])
def test_freed_memory_is_kept_or_left_to_the_c_library(measure: Measure, heap: str) -> None:
    """Three blocks at a time exceed the trim threshold that glibc adapts to a single block."""
    pages = MESSAGES * 3 * (4 << 20) // os.sysconf("SC_PAGESIZE")
    faults = measure(LARGE, heap=heap).last["resources"]["minor_faults"]
    assert faults < pages / 10 if heap == "retain" else faults > pages / 2, f"{faults} for {pages} pages"
