"""The study's words, what is believed of the other end, and when a listener stops waiting."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from hopmeter.byhand import brokers, listening, plugins, study
from hopmeter.byhand.moments import COLUMNS, NULL, table
from hopmeter.byhand.results import Outcome, figures, is_queue
from hopmeter.byhand.serving import Worker
from hopmeter.cli.byhand import spread
from hopmeter.client.frames import Kind, Message
from hopmeter.codecs import encode
from hopmeter.codecs.packing import pack_into, packed_bytes
from hopmeter.errors import UsageError
from hopmeter.manifest.discovery import find_transports


def test_several_values_may_follow_one_option() -> None:
    words = ["--plugins", "pillow", "numpy", "--mwares", "zeromq,ros1", "--width", "200"]
    assert spread(words) == [
        *("--plugins", "pillow", "--plugins", "numpy", "--mwares", "zeromq", "--mwares", "ros1", "--width", "200")
    ]


def test_the_names_of_the_study_are_known() -> None:
    assert study.settled("ros") == "ros1"
    names = ["numpy", "pandas", "pyarrow", "xarray", "dask", "pillow", "tensorflow", "jax", "pytorch", "pytorch_gpu"]
    names += ["paddle", "paddle_gpu", "cupy_gpu", "zarr", "pint"]
    assert {plugins.settled(name) for name in names} <= plugins.PLUGINS.keys()
    assert '"numpy"' in plugins.absent("nunpy")
    assert plugins.absent("numpy") == ""
    assert plugins.absent("mxnet_gpu")


def test_an_address_belongs_to_a_transport() -> None:
    assert brokers.given(["mqtt=127.0.0.1:1883"], ["mqtt", "unix"]) == {"mqtt": "127.0.0.1:1883"}
    assert brokers.given(["127.0.0.1:1883"], ["mqtt"]) == {"mqtt": "127.0.0.1:1883"}
    with pytest.raises(UsageError, match=r"NAME=ADDRESS.*E-OPTION-VALUE"):
        brokers.given(["127.0.0.1:1883"], ["mqtt", "nats"])


def test_of_the_other_end_s_environment_only_what_the_manifest_names_is_believed() -> None:
    manifest = find_transports(["ros1"])["ros1"]
    said = {"address": "", "environment": {"ROS_MASTER_URI": "http://127.0.0.1:1", "LD_PRELOAD": "/tmp/bad.so"}}
    assert brokers.Broker.heard(manifest, said).environment == {"ROS_MASTER_URI": "http://127.0.0.1:1"}
    assert brokers.Broker.heard(manifest, {"environment": "none"}).environment == {}


class Talk:
    """What the command would say, and what is said to it."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self._said, self.told = list(said), []
        self.over = self

    def is_set(self) -> bool:
        return False

    def heard(self) -> dict[str, Any] | None:
        return self._said.pop(0) if self._said else None

    def say(self, word: str, **_: Any) -> None:
        self.told.append(word)


class Arriving:
    """A subscriber to whom these messages come, and then none."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def message(self, _: float) -> Message | None:
        return self._messages.pop(0) if self._messages else None


def _message(number: int, obj: Any, kind: Kind = Kind.OBJECT) -> Message:
    frames = encode(obj)
    room = bytearray(packed_bytes(frames))
    pack_into(frames, room)
    return Message(kind, number, memoryview(room), 1, 2, 3)


def _listen(monkeypatch: pytest.MonkeyPatch, messages: list[Message], sent: int, skip: int = 0) -> listening.Hearing:
    monkeypatch.setattr(listening, "QUIET_S", 0.01)
    expected = plugins.Expected(np.ones((2, 3)))
    hearing: Any = listening.Hearing(
        Talk({"say": "sent", "count": sent}),
        Arriving(messages),
        expected,
        skip,  # type: ignore[arg-type]
    )
    hearing.run()
    return hearing  # type: ignore[no-any-return]


def test_a_lost_last_message_does_not_hang_the_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    ones = np.ones((2, 3))
    hearing = _listen(
        monkeypatch, [_message(0, None, Kind.PROBE), *(_message(n, ones) for n in (0, 1, 2, 3))], 4, skip=1
    )
    assert hearing.counts() == {"received": 3, "wrong": 0}
    assert [row[0] for row in hearing.rows] == [-1, 0, 1, 2]


def test_content_of_another_value_type_or_length_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [np.ones((2, 3)), np.zeros((2, 3)), np.ones((2, 3), "f4"), np.ones((3, 2)), [1.0] * 6]
    damaged = Message(Kind.OBJECT, 5, memoryview(b"no frames"), 1, 2, 3)
    hearing = _listen(monkeypatch, [*(_message(n, obj) for n, obj in enumerate(others)), damaged], 6)
    assert [row[-1] for row in hearing.rows] == [0, 1, 1, 1, 1, 1]
    assert hearing.rows[-1][COLUMNS.index("decoded_ns")] == NULL


def _outcome(delays_us: Any, period_us: int = 1000) -> Outcome:
    dues = [number * period_us * 1000 for number in range(len(delays_us))]
    rows = [
        (number, due, due, NULL, NULL, due + 1, due + round(delay * 1000), 0)
        for number, (due, delay) in enumerate(zip(dues, delays_us, strict=True))
    ]
    return Outcome("unix", "numpy", "unix", "numpy", "ok", rows=table([(-1, *[0] * 7), *rows]))


def test_delays_are_those_of_the_messages_that_count() -> None:
    found = figures("listener", _outcome(list(range(1, 2001))))
    assert found["mean"] == 1000.5
    assert found["p50"] == pytest.approx(1000.5)
    assert found["max"] == 2000
    assert found["p99"] == pytest.approx(1980, abs=1)
    assert figures("listener", _outcome([5.0] * 30))["p99"] is None


def test_delays_that_grow_without_end_are_a_queue() -> None:
    assert is_queue("listener", _outcome(list(range(100, 300_100, 3000))))
    assert not is_queue("listener", _outcome([100, 90, 110, 400] * 25))


@pytest.mark.parametrize("work", ["sleep:2ms", "spin:2ms"])
def test_a_server_s_work_takes_no_less_than_its_time_by_the_coefficient(work: str) -> None:
    worker, began_ns = Worker(work), time.monotonic_ns()
    worker.answer({"frame": None, "coef": 1.5})
    assert time.monotonic_ns() - began_ns >= 3_000_000


def test_a_server_answers_the_frame_and_refuses_what_asks_nothing() -> None:
    worker = Worker("spin:1us")
    assert worker.answer({"frame": "as it was", "coef": 2}) == "as it was"
    assert worker.calls == 1
    for wrong in ("frame", {"coef": 1}, {"frame": 1, "coef": -1}):
        with pytest.raises(ValueError, match="send"):
            worker.answer(wrong)
