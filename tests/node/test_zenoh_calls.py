"""Tests for a zenoh client whose query was ended by zenoh."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hopmeter.node.loading import transport_class
from hopmeter.system import paths

pytest.importorskip("zenoh")


@pytest.fixture
def client() -> Any:
    """Return a client with one pending request; the client's answers come from a queue as usual."""
    (folder,) = paths.transport_folders()
    adapter = sys.modules[transport_class(folder / "zenoh/python").__module__]
    return adapter.Client(SimpleNamespace(deliver=lambda payload, take: take(payload)), SimpleNamespace(), None)


def error_reply(why: str) -> SimpleNamespace:
    return SimpleNamespace(ok=None, err=SimpleNamespace(payload=SimpleNamespace(to_string=lambda: why)))


def test_a_query_that_timed_out_is_a_lost_call(client: Any) -> None:
    client._replies.put(error_reply("Timeout"))
    client._replies.put(SimpleNamespace(ok=SimpleNamespace(payload=3)))
    assert client.poll(1.0, lambda frame: frame) == 0
    assert client.poll(1.0, lambda frame: frame) == 3


def test_any_other_end_is_an_error(client: Any) -> None:
    client._replies.put(error_reply("no such key"))
    with pytest.raises(RuntimeError, match="no such key"):
        client.poll(1.0, lambda frame: frame)
