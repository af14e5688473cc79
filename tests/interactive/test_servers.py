"""Tests for `hopmeter serve` and `hopmeter ask`, with real servers in separate terminals."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from hopmeter.hosts.protocol.shared_secret import make_secret
from tests.coded import lacking
from tests.command import hopmeter
from tests.hosts.network import Host, two_hosts
from tests.images.made import image, pixels, video
from tests.interactive.running import PATIENCE_S, Command, start
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

SMALL = ("--width", "32", "--height", "24", "--within", "60")
Launch = Callable[..., Command]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start commands that connect in the folder of the test, and check at the end that nothing is left."""
    started: list[Command] = []
    with ExitStack() as closing:

        def call(*words: str, machine: Host | None = None) -> Command:
            meeting = ("--folder", str(tmp_path / (machine.address if machine else "meeting")))
            log, before = tmp_path / f"{len(started)}.log", machine.before if machine else ()
            beyond = {"XDG_RUNTIME_DIR": str(tmp_path)}
            started.append(closing.enter_context(start(log, *words, *meeting, before=before, beyond=beyond)))
            return started[-1]

        yield call
        family = [each for one in started if one.process.poll() is None for each in one.family()]
        for one in started:
            if one.process.poll() is None:
                one.interrupt()
                assert one.ends() == 0, one.output
        assert psutil.wait_procs(family, timeout=20)[1] == []
    assert not [path for folder in tmp_path.glob("meeting") for path in folder.iterdir()]
    assert not list(tmp_path.glob("hm-*"))


def serve(launch: Launch, *words: str, machine: Host | None = None) -> Command:
    server = launch("serve", *words, machine=machine)
    server.says("serving .*press Ctrl-C to stop")
    return server


def ask(launch: Launch, folder: Path, *words: str, code: int = 0) -> str:
    """Run `hopmeter ask` with its results in a folder, and return its output."""
    asking = launch("ask", *words, *SMALL, "--out", str(folder))
    assert asking.ends() == code, asking.output
    return asking.output


def mean_ms(said: str, row: str) -> float:
    """Return the first latency in a row of the table."""
    found = re.search(rf"^{row} .*?([\d.]+)", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1])


def test_servers_are_called_in_each_way_and_over_two_transports(tmp_path: Path, launch: Launch) -> None:
    left = serve(launch, "left", "--work", "sleep:40ms")
    serve(launch, "right", "--work", "spin:60ms")
    serve(launch, "third", "--transport", "unix", "--work", "sleep:20ms")
    said = ask(launch, tmp_path / "out", "left", "right", "--frames", "4", "--n-thread", "2")
    assert mean_ms(said, "all at once") >= 60 and "the work alone takes 60 ms" in said
    check_folder(tmp_path / "out", said, "all at once", {"left": "zeromq", "right": "zeromq"}, threads=2)
    said = ask(launch, tmp_path / "turn", "left", "right", "--number", "3", "--sequential", "--coef", "0.5")
    assert mean_ms(said, "one after the other") >= 50 and "the work alone takes 50 ms" in said
    check_folder(tmp_path / "turn", said, "one after the other", {"left": "zeromq", "right": "zeromq"})
    said = ask(launch, tmp_path / "two", "left", "third", "--frames", "3")
    assert mean_ms(said, "all at once") >= 40 and "samples of 2 processes" in said
    check_folder(tmp_path / "two", said, "all at once", {"left": "zeromq", "third": "unix"})
    left.interrupt()
    assert left.ends() == 0 and "left: 14 calls answered" in left.output


def check_folder(folder: Path, said: str, together: str, servers: dict[str, str], threads: int = 1) -> None:
    """Check that the log, the samples and `by-hand.json` agree with the command's output."""
    log = list(csv.DictReader((folder / "asker.csv").open()))
    assert {(row["server"], row["transport"]) for row in log} == {(together, ""), *servers.items()}
    assert {row["thread"] for row in log} == {*map(str, range(threads))}
    for name in (together, *servers):
        delays = [float(row["delay"]) * 1000 for row in log if row["server"] == name]
        assert np.mean(delays) == pytest.approx(mean_ms(said, name), rel=1e-3)
    samples = pq.read_table(folder / "samples/asker.parquet").to_pylist()
    assert len(samples) == len(log) * 2 // 3
    assert all(row["due_ns"] <= row["sent_ns"] < row["arrived_ns"] for row in samples)
    assert all(0 < row["hold_ns"] < row["arrived_ns"] - row["sent_ns"] for row in samples)
    told = json.loads((folder / "by-hand.json").read_text())
    assert [server["name"] for server in told["servers"]] == [*servers]
    assert (told["wrong"], told["lost"], told["interrupted"], told["failure"]) == (0, 0, False, "")


def wait_until_busy(server: Command, asking: Command, spun_s: float) -> None:
    """Wait until a server's node has spun for the given time, which takes much longer on a busy machine."""

    def has_worked() -> bool:
        assert asking.process.poll() is None, asking.output
        return any(each.cpu_times().user > spun_s for each in server.running("--spec"))

    wait_for(has_worked, PATIENCE_S)


def count_rows(folder: Path, name: str) -> int:
    """Return the number of log lines of a server."""
    return sum(row["server"] == name for row in csv.DictReader((folder / "asker.csv").open()))


@pytest.mark.parametrize("sequential", [False, True])
def test_ctrl_c_keeps_what_was_measured_and_the_next_one_has_waited(
    tmp_path: Path, launch: Launch, sequential: bool
) -> None:
    left, _ = serve(launch, "left", "--work", "spin:400ms"), serve(launch, "right", "--work", "spin:1ms")
    words = ("ask", "right", "left", *(["--sequential"] if sequential else []), *SMALL)
    asking = launch(*words, "--frames", "10000", "--out", str(tmp_path / "out"))
    asking.says("calling right left: 10000 frames; press Ctrl-C to stop")
    waiting = launch(*words, "--frames", "1", "--out", str(tmp_path / "next"))
    waiting.says("left is busy")
    leaving = launch(*words, "--frames", "1", "--out", str(tmp_path / "none"))
    leaving.says("left is busy")
    leaving.interrupt()
    assert leaving.ends() == 130
    wait_until_busy(left, asking, spun_s=2)
    asking.interrupt()
    assert asking.ends() == 130 and "interrupted: fewer frames than requested" in asking.output
    assert count_rows(tmp_path / "out", "one after the other" if sequential else "all at once") >= 2
    assert waiting.ends() == 0 and waiting.output.count("is busy") == 1, waiting.output
    assert count_rows(tmp_path / "next", "left") == 1


def test_a_server_that_is_killed_is_named_and_what_was_measured_is_kept(tmp_path: Path, launch: Launch) -> None:
    left, right = serve(launch, "left", "--work", "spin:100ms"), serve(launch, "right")
    asking = launch("ask", "left", "right", "--frames", "10000", *SMALL, "--out", str(tmp_path / "out"))
    wait_until_busy(left, asking, spun_s=1.5)
    family = right.family()
    right.process.kill()
    assert asking.ends() == 1
    assert lacking(asking.output, "E-HOST-GONE right") == []
    assert count_rows(tmp_path / "out", "all at once") >= 5
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert json.loads((tmp_path / "out/by-hand.json").read_text())["failure"]
    serve(launch, "right")  # removes the files of killed commands


def test_frames_of_a_file_are_sent_in_its_size_or_resized_and_come_back(tmp_path: Path, launch: Launch) -> None:
    shown, still = video(tmp_path / "a.mkv", pixels(3)), image(tmp_path / "a.png", pixels()[0])
    serve(launch, "left", "--transport", "unix")
    for words, says in [
        ((str(shown), "--within", "60"), f"frames of {shown}: ffv1, 3 frames of 10×6 rgb8\n"),
        ((str(still), *SMALL), f"frames of {still}: png, 1 frame of 32×24 rgb8, resized from 10×6\n"),
    ]:
        asking = launch("ask", "left", "--frames", "4", "--source", *words, "--out", str(tmp_path / f"out-{words[1]}"))
        assert asking.ends() == 0 and says in asking.output, asking.output
        assert re.search(r"^left +unix .* 4 ", asking.output, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("left", "--source", "none.png"), "E-FILE-UNREADABLE none.png"),
        (("left", "--source", "text.mp4"), "E-NOT-DECODABLE text.mp4"),
        (("left", "--source", "one.png", "--width", "10"), "E-OPTION-CONFLICT --width --height"),
        (("left", "--frames", "1", "--number", "1"), "E-OPTION-CONFLICT --frames --number"),
        (("left", "left"), "E-OPTION-CONFLICT twice"),
        (("left", "right", "--meet", "127.0.0.1:1"), "E-OPTION-VALUE --meet left right"),
        (("left", "--meet", "right=127.0.0.1:1"), "E-OPTION-VALUE right"),
        (("left", "--within", "0"), "E-PEER-MISSING left"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    image(tmp_path / "one.png", pixels()[0])
    refused = hopmeter("ask", *words, "--folder", tmp_path / "meeting", cwd=tmp_path)
    assert refused.returncode == (1 if "PEER" in expected else 2)
    assert lacking(refused.stderr, expected) == []


def test_servers_on_another_machine_are_asked(tmp_path: Path, launch: Launch) -> None:
    secret, ports = tmp_path / "secret", {"left": ("tcp", 7702), "right": ("zeromq", 7703)}
    make_secret(secret)
    with two_hosts(ahead_s=1000) as (one, other):
        at = {name: f"{one.address}:{port}" for name, (_, port) in ports.items()}
        guard = ("--secret-file", str(secret))
        for name, (transport, _) in ports.items():
            where = ("--transport", transport, "--work", "sleep:5ms", "--meet", at[name], *guard)
            serve(launch, name, *where, machine=one)
        for names in (["left"], ["left", "right"]):
            met = [word for name in names for word in ("--meet", f"{name}={at[name]}")]
            out = tmp_path / "-".join(names)
            asking = launch("ask", *names, *met, *guard, "--frames", "5", *SMALL, "--out", str(out), machine=other)
            assert asking.ends() == 0, asking.output
            assert "the work alone takes 5 ms" in asking.output
            assert [count_rows(out, name) for name in names] == [5] * len(names)
