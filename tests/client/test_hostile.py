"""After a malicious message or a panic in a library, an endpoint still answers the next message."""

from __future__ import annotations

import base64
import json
import queue
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hopmeter
from hopmeter.client import CallFailedError, calls, pubsub
from hopmeter.codecs.header import pack

PATIENCE_S = 30


class Panic(BaseException):
    """An exception that represents a panic in Rust."""


class Hostile:
    """A replacement for a malicious frame of 261 bytes that describes a Polars column of 2^33 nulls."""


def _frames() -> list[bytes]:
    schema = base64.b64encode(pa.schema([pa.field("a", pa.null())]).serialize()).decode()
    node = ["polars.frame", ["arrow.table", schema, 2**33, [[[2**33, 0, [0], [], None]]]]]
    return [pack(json.dumps(node), 0)]


@pytest.fixture(autouse=True)
def _sends_hostile_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = hopmeter.codecs.encode
    for module in (calls, pubsub):
        monkeypatch.setattr(
            module, "encode", lambda obj, *how: _frames() if type(obj) is Hostile else encode(obj, *how)
        )


def _panics(asked: Any) -> Any:
    if asked == "panic":
        raise Panic("in Rust")
    return asked


@pytest.mark.parametrize("as_", [None, "polars"])
def test_a_server_survives_a_hostile_message_and_a_panic_of_its_handler(as_: str | None, tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        house.server("add", _panics, as_=as_)
        client = house.client("add")
        for sent in (Hostile(), "panic"):
            with pytest.raises(CallFailedError, match=r"CodecError|Panic: in Rust"):
                client.call(sent, timeout_s=PATIENCE_S)
            assert client.call("after", timeout_s=PATIENCE_S) == "after"


def test_a_subscriber_survives_a_hostile_message_and_a_panic_of_its_function(tmp_path: Path) -> None:
    came: queue.Queue[Any] = queue.Queue()
    with hopmeter.connect("unix", folder=tmp_path) as house:
        publisher = house.publisher("camera")
        house.subscriber("camera", lambda obj: came.put(_panics(obj)))
        deadline = time.monotonic() + PATIENCE_S
        while came.empty() and time.monotonic() < deadline:  # repeated until the subscriber has connected
            publisher.send("before", timeout_s=PATIENCE_S)
            time.sleep(0.01)
        for sent in (Hostile(), "panic", "after"):
            publisher.send(sent, timeout_s=PATIENCE_S)
        while (obj := came.get(timeout=PATIENCE_S)) == "before":
            pass
        assert obj == "after"
