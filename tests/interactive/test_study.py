"""Tests for `hopmeter listen` and `hopmeter publish` over real transports, started in either order."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from hopmeter.manifest.interpreter import NoPythonError, system
from hopmeter.system import paths
from tests.interactive.running import Command, start
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

HAS_RING = any((folder / "libhopmeter_shm.so").exists() for folder in paths.node_folders())
HAS_MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin") and importlib.util.find_spec("paho")


def direct() -> list[str]:
    """Return the available transports without a broker. Unix sockets are always available."""
    return ["unix", *(["zeromq"] if importlib.util.find_spec("zmq") else [])]


def ros1_is_here() -> bool:
    try:
        packages = system().packages
    except NoPythonError:
        return False
    return bool(shutil.which("rosmaster")) and any((folder / "rospy").is_dir() for folder in packages)


def others() -> list[str]:
    """Return shared memory and the available transports with a broker or master."""
    ready = {"shm": HAS_RING, "mqtt": HAS_MOSQUITTO, "ros": ros1_is_here()}
    return [mware for mware, is_here in ready.items() if is_here]


def options(folder: Path, plugins: list[str], mwares: list[str], trials: int = 30, rate: int = 200) -> list[str]:
    words = ["--plugins", *plugins, "--mwares", *mwares, "--width", "30", "--height", "20"]
    flow = ["--trials", str(trials), "--skip-trials", "3", "--rate", str(rate)]
    return [*words, *flow, "--folder", str(folder / "meeting"), "--out", str(folder / "out")]


def nothing_is_left(folder: Path) -> bool:
    return list((folder / "meeting").iterdir()) == []


def read_log(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_listener_may_be_first_and_every_pair_is_measured(tmp_path: Path) -> None:
    words = options(tmp_path, ["pillow", "numpy"], direct()) if importlib.util.find_spec("PIL") else []
    words = words or options(tmp_path, ["pandas", "numpy"], direct())
    with start(tmp_path / "listen.log", "listen", *words) as listener:
        listener.says("waiting for `hopmeter publish`")
        with start(tmp_path / "publish.log", "publish", *words) as publisher:
            assert publisher.ends() == 0, publisher.output + listener.output
            assert listener.ends() == 0, listener.output
    pairs = {(mware, plugin) for mware in direct() for plugin in (words[1], words[2])}
    for side in ("publisher", "listener"):
        rows = read_log(tmp_path / f"out/{side}.csv")
        assert list(rows[0]) == ["middleware", "plugin", "timestamp", "count", "delay"]
        assert {(row["middleware"], row["plugin"]) for row in rows} == pairs
        assert all(float(row["delay"]) > 0 for row in rows)
        counted = Counter((row["middleware"], row["plugin"]) for row in rows)
        # Transports other than Unix sockets may lose messages. No log contains skipped messages.
        assert counted["unix", "numpy"] == 30
        assert {int(row["count"]) for row in rows} == set(range(30))
    _samples_join(tmp_path / "out/samples")
    assert nothing_is_left(tmp_path)


def _samples_join(folder: Path) -> None:
    """Check that both sides agree on the send times, and that the timestamps are in causal order."""
    sent = pq.read_table(folder / "publisher-unix-numpy.parquet").to_pylist()
    came = {row["seq"]: row for row in pq.read_table(folder / "listener-unix-numpy.parquet").to_pylist()}
    assert len(sent) == len(came) == 30
    for row in sent:
        other = came[row["seq"]]
        assert (row["due_ns"], row["sent_ns"]) == (other["due_ns"], other["sent_ns"])
        assert row["due_ns"] <= row["sent_ns"] <= row["encoded_ns"] <= row["forwarded_ns"]
        assert row["encoded_ns"] <= other["arrived_ns"] <= other["decoded_ns"]
        assert row["arrived_ns"] is None
    steps = {later["due_ns"] - row["due_ns"] for row, later in itertools.pairwise(sent)}
    assert steps == {5_000_000}


def test_brokers_are_started_and_ended_and_what_is_missing_stops_nothing(tmp_path: Path) -> None:
    mwares = [*(others() or ["unix"]), "nosuch"]
    words = options(tmp_path, ["numpy", "mxnet_gpu"], mwares)
    with start(tmp_path / "publish.log", "publish", *words) as publisher:
        publisher.says("waiting for `hopmeter listen`")
        with start(tmp_path / "listen.log", "listen", *words) as listener:
            assert listener.ends() == 0, listener.output
            assert publisher.ends() == 0, publisher.output
            for said in (listener.output, publisher.output):
                assert 'middleware "nosuch" is not one of' in said
                assert "mxnet_gpu" in said
    rows = read_log(tmp_path / "out/listener.csv")
    assert Counter(row["middleware"] for row in rows) == dict.fromkeys(mwares[:-1], 30)
    assert nothing_is_left(tmp_path)


ENDS = {
    "publisher": ({"publisher": 130, "listener": 1}, signal.SIGINT),
    "listener": ({"publisher": 1, "listener": 130}, signal.SIGINT),
    "killed publisher": ({"publisher": -9, "listener": 1}, signal.SIGKILL),
    "killed listener": ({"publisher": 1, "listener": -9}, signal.SIGKILL),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_interrupt_at_one_side_ends_both_and_stores_what_was_measured(end: str, tmp_path: Path) -> None:
    words = options(tmp_path, ["numpy"], ["unix"], trials=100_000, rate=200)
    codes, how = ENDS[end]
    with (
        start(tmp_path / "listen.log", "listen", *words) as listener,
        start(tmp_path / "publish.log", "publish", *words) as publisher,
    ):
        sides = {"listener": listener, "publisher": publisher}
        for side in sides.values():
            wait_for(lambda side=side: has_measured(side), 200)
        family = [*listener.family(), *publisher.family()]
        sides[end.rpartition(" ")[2]].process.send_signal(how)
        for name, side in sides.items():
            assert side.ends() == codes[name], side.output
            if codes[name] == 1:
                assert "[E-PEER-GONE]" in side.output
        assert psutil.wait_procs(family, timeout=20)[1] == []
    for name, code in codes.items():
        # If the publisher is killed, its separate session still stores the samples.
        if code != -9 or name == "publisher":
            assert len(read_log(tmp_path / f"out/{name}.csv")) > 10
    with start(tmp_path / "next.log", "publish", *words[:-2], "--within", "0") as following:
        assert following.ends() == 1
    assert nothing_is_left(tmp_path)


@pytest.mark.skipif(not HAS_MOSQUITTO, reason="mosquitto is not installed: hopmeter build mqtt --system-packages")
def test_the_messages_before_a_broker_ended_are_stored_and_the_next_pair_is_measured(tmp_path: Path) -> None:
    words = options(tmp_path, ["numpy"], ["mqtt", "unix"], trials=2000, rate=200)
    with (
        start(tmp_path / "listen.log", "listen", *words) as listener,
        start(tmp_path / "publish.log", "publish", *words) as publisher,
    ):
        wait_for(lambda: has_measured(publisher), 200)
        (broker,) = [each for each in publisher.running("-c") if each.name() == "mosquitto"]
        broker.kill()
        for side in (listener, publisher):
            assert side.ends() == 1, side.output
            assert re.search("mqtt numpy: failed: .*mosquitto", side.output.lower()), side.output
    for name in ("listener", "publisher"):
        counted = Counter(row["middleware"] for row in read_log(tmp_path / f"out/{name}.csv"))
        assert 10 < counted["mqtt"] < 2000
        assert counted["unix"] == 2000
    assert nothing_is_left(tmp_path)


def has_measured(side: Command) -> bool:
    """Return whether a node thread has slept more than 600 times, which is more often than for the probes alone."""
    assert side.process.poll() is None, side.output
    return max(map(_most_sleeps, side.family()[1:]), default=0) > 600


def _most_sleeps(process: psutil.Process) -> int:
    try:
        return max(_thread_switches(process.pid))
    except (psutil.Error, OSError):
        return 0


def _thread_switches(pid: int) -> Iterator[int]:
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        yield int(status.read_text().partition("voluntary_ctxt_switches:")[2].split()[0])


TWOS = """
import numpy
ones = numpy.ones
numpy.ones = lambda shape, *rest, **named: ones(shape, *rest, **named) * (2 if shape == (20, 30) else 1)
"""


def test_wrong_content_is_told_and_is_an_error(tmp_path: Path) -> None:
    """The publisher's array contains twos instead of ones."""
    beyond = tmp_path / "beyond"
    beyond.mkdir()
    (beyond / "sitecustomize.py").write_text(TWOS)
    words = options(tmp_path, ["numpy"], ["unix"])
    with (
        start(tmp_path / "listen.log", "listen", *words) as listener,
        start(tmp_path / "publish.log", "publish", *words, beyond={"PYTHONPATH": _path(beyond)}) as publisher,
    ):
        assert listener.ends() == 1, listener.output
        assert publisher.ends() == 1, publisher.output
        for said in (listener.output, publisher.output):
            # Every message is compared, including skipped messages and probes.
            found = re.search("([0-9]+) messages arrived with wrong content", " ".join(said.split()))
            assert found and int(found[1]) >= 33, said


def _path(folder: Path) -> str:
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def test_ends_that_were_asked_differently_measure_nothing(tmp_path: Path) -> None:
    listening = options(tmp_path, ["numpy"], ["unix"], trials=30)
    publishing = options(tmp_path, ["numpy"], ["unix"], trials=31)
    with (
        start(tmp_path / "listen.log", "listen", *listening) as listener,
        start(tmp_path / "publish.log", "publish", *publishing) as publisher,
    ):
        assert listener.ends() == 2
        assert publisher.ends() == 2
        assert "--trials 30 here, 31 there" in listener.output
        assert "--trials 31 here, 30 there" in publisher.output
    assert not (tmp_path / "out").exists()
