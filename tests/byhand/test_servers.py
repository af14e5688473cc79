"""`hopmeter serve` and `hopmeter ask`: real servers of different transports, asked at once and in turn."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

import hopmeter
from hopmeter.byhand import asking
from tests.images.made import image, pixels, video
from tests.interactive.running import Command, start

pytestmark = pytest.mark.slow

OTHER = "zeromq" if importlib.util.find_spec("zmq") else "queue"


def mean_ms(said: str, row: str) -> float:
    """The first figure of a row of the table."""
    found = re.search(rf"^{row} .*?([\d.]+)", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1])


def test_servers_are_asked_at_once_and_in_turn_until_they_are_ended(tmp_path: Path) -> None:
    meeting = ("--folder", str(tmp_path / "meeting"))
    with ExitStack() as closing:

        def launch(log: str, *words: str) -> Command:
            return closing.enter_context(start(tmp_path / log, *words, *meeting))

        servers = [
            launch("left.log", "serve", "left", "--transport", "unix", "--work", "sleep:40ms"),
            launch("right.log", "serve", "right", "--transport", OTHER, "--work", "sleep:60ms"),
        ]
        for server in servers:
            server.says("serving .*Ctrl-C ends it")
        frame = ("--width", "32", "--height", "24", "--within", "60")
        out = ("--out", str(tmp_path / "at_once"))
        at_once = launch("at_once.log", "ask", "left", "right", "--frames", "4", "--n-thread", "2", *frame, *out)
        assert at_once.ends() == 0, at_once.output
        half = ("--number", "3", "--in-turn", "--coef", "0.5", "--out", str(tmp_path / "in_turn"))
        in_turn = launch("in_turn.log", "ask", "left", "right", *half, *frame)
        assert in_turn.ends() == 0, in_turn.output
        assert mean_ms(at_once.output, "all at once") >= 60
        assert mean_ms(in_turn.output, "one after the other") >= 50
        assert "the work alone" not in at_once.output  # two threads wait for one another
        assert "the work alone takes 50 ms" in in_turn.output
        family = [each for server in servers for each in server.family()]
        for server in servers:
            server.interrupt()
            assert server.ends() == 0
            assert "14 calls answered" in server.output, "a call of each thread warms up"
        assert psutil.wait_procs(family, timeout=20)[1] == []
    assert list((tmp_path / "meeting").iterdir()) == []
    kept_is_what_was_said(tmp_path / "at_once", at_once.output, "all at once", {"0", "1"})
    kept_is_what_was_said(tmp_path / "in_turn", in_turn.output, "one after the other", {"0"})


def kept_is_what_was_said(folder: Path, said: str, together: str, threads: set[str]) -> None:
    """The log, the samples and what was told, beside what the command has printed."""
    log = list(csv.DictReader((folder / "asker.csv").open()))
    assert {(row["server"], row["transport"]) for row in log} == {(together, ""), ("left", "unix"), ("right", OTHER)}
    assert {row["thread"] for row in log} == threads
    for name in (together, "left", "right"):
        delays = [float(row["delay"]) * 1000 for row in log if row["server"] == name]
        assert np.mean(delays) == pytest.approx(mean_ms(said, name), rel=1e-3)
    samples = pq.read_table(folder / "samples/asker.parquet").to_pylist()
    assert len(samples) == len(log) * 2 // 3
    assert all(row["intended_ns"] <= row["sent_ns"] < row["arrived_ns"] for row in samples)
    told = json.loads((folder / "by-hand.json").read_text())
    assert [server["work"] for server in told["servers"]] == ["sleep:40ms", "sleep:60ms"]
    assert (told["wrong"], told["interrupted"]) == (0, False)


def test_what_was_measured_before_ctrl_c_is_kept(tmp_path: Path) -> None:
    meeting = ("--folder", str(tmp_path / "meeting"))
    with (
        start(tmp_path / "server", "serve", "left", "--transport", "unix", *meeting) as server,
        start(
            tmp_path / "ask",
            "ask",
            "left",
            "--frames",
            "1000000",
            "--within",
            "60",
            "--out",
            str(tmp_path / "out"),
            *meeting,
        ) as asked,
    ):
        server.says("serving .*Ctrl-C ends it")
        asked.says("calling left: 1000000 frames; Ctrl-C ends it")
        asked.interrupt()
        assert asked.ends() == 130
        assert "interrupted: fewer frames than asked for" in asked.output
        assert len(list(csv.DictReader((tmp_path / "out/asker.csv").open()))) >= 2
        server.interrupt()
        assert server.ends() == 0


def test_a_server_that_is_not_there_is_named_with_the_command_that_starts_it(tmp_path: Path) -> None:
    words = ("ask", "nobody", "--within", "0", "--folder", str(tmp_path / "meeting"))
    with start(tmp_path / "ask.log", *words) as asking:
        assert asking.ends() == 1
        assert 'nobody is there under "nobody"' in asking.output
        assert "hopmeter serve nobody" in asking.output


def test_frames_of_a_file_are_sent_in_its_size_or_resized_and_come_back(tmp_path: Path) -> None:
    meeting = ("--folder", str(tmp_path / "meeting"))
    shown, still = video(tmp_path / "a.mkv", pixels(3)), image(tmp_path / "a.png", pixels()[0])
    with ExitStack() as closing:

        def launch(log: str, *words: str) -> Command:
            return closing.enter_context(start(tmp_path / log, *words, *meeting))

        server = launch("server.log", "serve", "left", "--transport", "unix")
        server.says("serving .*Ctrl-C ends it")
        ask = ("ask", "left", "--within", "60", "--frames", "4")
        for log, words, says in [
            ("own.log", ("--source", str(shown)), f"frames of {shown}: ffv1, 3 frames of 10×6 rgb8\n"),
            (
                "resized.log",
                ("--source", str(still), "--width", "32", "--height", "24"),
                f"frames of {still}: png, 1 frame of 32×24 rgb8, resized from 10×6\n",
            ),
        ]:
            asked = launch(log, *ask, *words, "--out", str(tmp_path / f"{log}.kept"))
            assert asked.ends() == 0, asked.output
            assert says in asked.output
            assert re.search(r"^left +unix .* 4 ", asked.output, re.MULTILINE)
        server.interrupt()
        assert server.ends() == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--source", "none.png"), "none.png cannot be read: No such file or directory"),
        (("--source", "text.mp4"), "text.mp4 cannot be decoded as a video"),
        (("--source", "one.png", "--width", "10"), "give both or neither"),
    ],
)
def test_a_source_that_shows_nothing_is_told_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.mp4").write_text("no video")
    image(Path("one.png"), pixels()[0])
    with start(tmp_path / "ask.log", "ask", "left", *words) as asked:
        assert asked.ends() == 2
        assert says in asked.output


class Ears:
    """A command that never ends its participant."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.said: dict[str, Any] = {}

    def say(self, word: str, **more: Any) -> None:
        self.said = {"say": word, **more}


@pytest.mark.parametrize("in_turn", [False, True])
def test_a_server_gets_exactly_the_frames_in_their_order_over_and_over(tmp_path: Path, in_turn: bool) -> None:
    shown, got, ears = pixels(3), [], Ears()
    shown.tofile(tmp_path / "frames.rgb8")

    def answer(asked: Any) -> Any:
        got.append(asked["frame"].copy())
        return asked["frame"]

    with hopmeter.connect("unix", folder=tmp_path / "meeting") as house:
        house.server("left", answer)
        server = {
            "transport": "unix",
            "link": "left",
            "folder": str(tmp_path / "meeting"),
            "host": None,
            "daemon": None,
        }
        told = {"servers": [server], "threads": 1, "frames": 5, "coef": 1.0, "in_turn": in_turn, "patience_s": 0.0}
        told |= {
            "width": 10,
            "height": 6,
            "pictures": str(tmp_path / "frames.rgb8"),
            "rows": str(tmp_path / "rows.npy"),
        }
        asking.play(ears, told)  # type: ignore[arg-type]
    assert (ears.said["say"], ears.said["failure"]) == ("done", "")
    rows = dict(zip(asking.COLUMNS, np.load(tmp_path / "rows.npy").T, strict=True))
    assert rows["server"].tolist() == [asking.ALL, 0] * 5
    assert rows["seq"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert not rows["wrong"].any()
    assert np.array_equal(np.stack(got), shown[[0, 0, 1, 2, 0, 1]]), "the first warms up"
