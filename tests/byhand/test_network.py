"""Doors on a network, the other machine's clock, and what it is believed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.byhand import brokers, clocks, network
from hopmeter.byhand.moments import COLUMNS, NULL, table
from hopmeter.byhand.wire import GoneError, Wire
from hopmeter.cli import byhand as cli
from hopmeter.client.adapters import away, manifest_of
from hopmeter.client.errors import ConnectError
from hopmeter.client.remote_registry import Mirror, check_record
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.errors import UsageError
from hopmeter.manifest.discovery import find_transports
from hopmeter.runtime.signals import Alarm

SECOND = 10**9


class Elsewhere:
    """A wire to a machine whose clock is this one's, ahead by so much and gaining so much; answers take their time."""

    def __init__(self, ahead_ns: int, there_ns: int, back_ns: int, gains: float = 0.0) -> None:
        self.now, self.hung_up = 5 * SECOND, False
        self.aside: dict[str, Callable[[dict[str, Any]], object]] = {}
        self._ahead, self._there, self._back, self._gains = ahead_ns, there_ns, back_ns, gains

    def theirs(self, now: int) -> int:
        return now + self._ahead + round(self._gains * now)

    def say(self, *, say: str, asked_ns: int) -> None:
        assert say == "time?"
        self.now += self._there
        self._answer = {"say": "time", "asked_ns": asked_ns, "ns": self.theirs(self.now)}
        self.now += self._back

    def look(self, _: float, __: object) -> None:
        self.aside["time"](self._answer)


def _looked_at(monkeypatch: pytest.MonkeyPatch, wire: Elsewhere, rows: Any) -> str:
    monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: wire.now)
    with_clock: Any = wire
    known = clocks.Clocks(with_clock, None)  # type: ignore[arg-type]
    known.look()
    wire.now = 105 * SECOND
    known.look()
    return known.settle(rows)


def _rows(wire: Elsewhere, delay_ns: int) -> Any:
    """Messages that are sent there and decoded here; the third was never sent."""
    sent = [10 * SECOND, 60 * SECOND, None, 100 * SECOND]
    there = [NULL if each is None else wire.theirs(each) for each in sent]
    here = [NULL if each is None else each + delay_ns for each in sent]
    return table([(n, a, a, NULL, NULL, b, b, 0) for n, (a, b) in enumerate(zip(there, here, strict=True))])


def test_delays_are_set_right_and_told_as_true_as_the_least_round_trip_lets_them_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Elsewhere(-7000 * SECOND, there_ns=90_000, back_ns=10_000, gains=50e-6)
    rows = _rows(wire, 2_000_000)
    assert _looked_at(monkeypatch, wire, rows) == "two machines: delays are true to \N{PLUS-MINUS SIGN}50 us"
    delays = rows[:, COLUMNS.index("decoded_ns")] - rows[:, COLUMNS.index("sent_ns")]
    # However unlike the ways there and back are, no more than half the round trip is wrong, and a clock that gains
    # 5 ms in the meantime does not count.
    assert all(abs(delay - 2_000_000) <= 50_000 for delay in delays[[0, 1, 3]])
    assert rows[2, COLUMNS.index("sent_ns")] == NULL


def test_delays_that_are_less_than_what_is_known_of_the_clocks_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Elsewhere(3 * SECOND, there_ns=400_000, back_ns=400_000)
    rows = _rows(wire, 300_000)
    said = _looked_at(monkeypatch, wire, rows)
    assert "400 us only, which is more than the delay; the least round trip took 800 us" in said
    assert (rows[:, [COLUMNS.index("sent_ns"), COLUMNS.index("intended_ns")]] == NULL).all()
    assert (rows[[0, 1, 3], COLUMNS.index("decoded_ns")] != NULL).all()


def test_a_clock_that_was_seen_once_tells_no_delays() -> None:
    rows = table([(0, 1, 2, NULL, NULL, 3, 4, 0)])
    known = clocks.Clocks(None, None)  # type: ignore[arg-type]
    assert "could not be compared" in known.settle(rows)
    assert np.array_equal(rows[0, 1:3], [NULL, NULL])


def test_whoever_comes_for_something_else_is_sent_away_and_the_next_one_is_let_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        at = network.Endpoint("127.0.0.1", probe.getsockname()[1])
    with Alarm() as alarm:
        door = network.Door(at, "pair", "study")
        try:
            with socket.create_connection((at.host, at.port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                other = network.entered(at, "server", "left", 1, alarm)
                wanted = network.entered(at, "pair", "study", 1, alarm)
                admitted = door.admit(5, alarm)
                admitted.say(say="hello")
                assert wanted.expect("hello", within_s=5) == {"say": "hello"}
                with pytest.raises(GoneError, match=r"'name': 'study'.*E-VERSIONS-DIFFER"):
                    other.expect("server", within_s=5)
                for wire in (other, wanted, admitted):
                    wire.close()
            with pytest.raises(ConnectError, match="E-PORT-UNUSABLE"):
                network.Door(at, "pair", "study")
        finally:
            door.close()


def _offer(**more: Any) -> dict[str, Any]:
    settings = {"send_buffer": 0, "receive_buffer": 0, "port": 0}
    end = {"run": "0123456789abcdef", "frame_bytes": 4096, "settings": settings, "address": "10.77.0.1:4000"}
    return {"say": "opened", "file": "tcp.camera.pubsub.json", **end, **more}


def test_an_end_of_another_machine_is_known_here_until_it_is_closed(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "meeting", lambda **_: None)
    meeting = Rendezvous(tmp_path / "meeting", "tcp")
    mirror.add_end(_offer(directory="/etc", leftovers=["/etc/0123456789abcdef*"], pid=1))
    found = meeting.await_end("camera", "pubsub", 0)
    assert found is not None
    assert (found.address, found.leftovers) == ("10.77.0.1:4000", [])
    assert Path(found.directory).parent == tmp_path / "meeting"
    mirror.add_end(_offer(run="f" * 16))
    again = meeting.look("camera", "pubsub")
    assert again is not None
    assert again.run == "f" * 16
    mirror.remove_end({"file": "tcp.camera.pubsub.json"})
    assert meeting.look("camera", "pubsub") is None
    mirror.add_end(_offer())
    mirror.close()
    assert list((tmp_path / "meeting").iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"file": "../../etc.camera.pubsub.json"},
        {"file": "nosuch.camera.pubsub.json"},
        {"run": "../../../../etc"},
        {"frame_bytes": 1 << 60},
        {"frame_bytes": "many"},
        {"settings": {"nosuch": 1}},
        {"settings": {"port": -1}},
        {"address": 7},
        {"address": "a" * 100_000},
    ],
)
def test_what_cannot_be_an_end_is_not_believed(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConnectError):
        check_record(json.loads(json.dumps(_offer(**wrong))))


def test_a_look_at_the_clock_leaves_alone_what_is_said_to_others() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        wire = Wire(ours)
        heard: list[dict[str, Any]] = []
        wire.aside["time"] = heard.append
        theirs.sendall(b'{"say": "pair", "pair": 1}\n{"say": "time", "ns": 7}\n')
        wire.look(5)
        assert heard == [{"say": "time", "ns": 7}]
        assert wire.expect("pair", within_s=5)["pair"] == 1
        wire.close()


def test_what_cannot_be_is_told_with_what_can() -> None:
    for wrong in ("7701", "here:", ":7701", "127.0.0.1:70000"):
        with pytest.raises(UsageError, match="E-MEET-ADDRESS"):
            network.endpoint(wrong)
    with pytest.raises(UsageError, match=r"192\.0\.2\.1.*E-HOST-ADDRESS"):
        network.own("192.0.2.1")
    with pytest.raises(UsageError, match="E-HOST-NEEDED") as several:
        network.own("0.0.0.0")
    assert "--host ADDRESS" in several.value.remedy
    with pytest.raises(UsageError, match=r"--host.*E-OPTION-CONFLICT"):
        cli._where(None, None, "127.0.0.1")
    with pytest.raises(ConnectError, match=r"unix.*E-ONE-MACHINE") as kept:
        away(manifest_of("unix")[0])
    assert "zeromq" in kept.value.remedy
    with Alarm() as alarm, pytest.raises(ConnectError, match=r"127\.0\.0\.1:1.*E-PEER-MISSING") as absent:
        network.entered(network.Endpoint("127.0.0.1", 1), "server", "left", 0, alarm)
    assert "hopmeter serve left --meet 127.0.0.1:1" in absent.value.remedy


def test_where_the_broker_is_is_the_other_machine_s_word_and_all_else_this_one_s() -> None:
    manifest = find_transports(["ros1"])["ros1"]
    told = {"ROS_MASTER_URI": "http://10.77.0.1:5", "ROS_HOSTNAME": "10.77.0.1", "ROS_HOME": "/theirs"}
    heard = brokers.Broker.heard(manifest, {"environment": told}, {"here": "10.77.0.2", "directory": "/ours"})
    assert heard.environment == {
        "ROS_MASTER_URI": "http://10.77.0.1:5",
        "ROS_HOSTNAME": "10.77.0.2",
        "ROS_HOME": "/ours",
    }


HOSTILE = {
    "deep lists": b"[" * 60_000,
    "deep objects": b'{"say":' * 10_000,
    "a word that nests as deep as the parser allows": b'{"say": ' + b"[" * 900 + b"]" * 900 + b"}",
    "an integer of 5000 digits": b'{"say": ' + b"9" * 5000 + b"}",
    "an integer of 100 digits": b'{"say": "knock", "kind": ' + b"9" * 100 + b"}",
    "bytes that are no UTF-8": b'{"say": "\xff\xfe"}',
    "half a surrogate pair": b'{"say": "knock", "name": "\\ud800"}',
    "no object": b"7",
    "pairs in place of an object": b'[["say", "knock"], [[], 1]]',
    "an empty line": b"",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_stranger_whose_line_cannot_be_read_is_refused_and_the_expected_one_is_let_in(line: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        at = network.Endpoint("127.0.0.1", probe.getsockname()[1])
    with Alarm() as alarm, closing(network.Door(at, "pair", "study")) as door:
        with socket.create_connection((at.host, at.port)) as stranger:
            stranger.sendall(line + b"\n")
            wanted = network.entered(at, "pair", "study", 1, alarm)
            admitted = door.admit(5, alarm)
            stranger.settimeout(5)
            assert stranger.recv(1) == b"", "the stranger is sent away"
        admitted.say(say="hello")
        assert wanted.expect("hello", within_s=5) == {"say": "hello"}
        wanted.close()
        admitted.close()


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_peer_that_says_what_cannot_be_read_counts_as_one_that_has_left(line: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs, closing(Wire(ours)) as wire:
        theirs.sendall(line + b"\n")
        with pytest.raises(GoneError, match="E-PEER-GONE"):
            wire.expect("hello", within_s=5)
