"""Tests for calls over libraries that call back on their own threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hopmeter.node.calls import BlockingCalls, CalledServer, Parts, ReplyQueue
from hopmeter.node.contract import AdapterError

PATIENCE_S = 10


def frame_of(payload_bytes: int, fill: Any) -> bytearray:
    frame = bytearray(64 + payload_bytes)
    fill(frame)
    return frame


def fill(frame: Any) -> None:
    frame[:5] = b"frame"


def test_replies_are_polled_in_the_order_they_came() -> None:
    replies, came = ReplyQueue(), list[Any]()
    replies.put((b"whole",))
    replies.put((b"header", b"payload"))
    assert [replies.poll(0, lambda *parts, **_: came.append(parts)) for _ in range(3)] == [1, 1, 0]
    assert came == [(b"whole",), (b"header", b"payload")]


def test_a_call_is_busy_while_another_is_under_way() -> None:
    replied, came = threading.Event(), list[Any]()

    def call(request: bytearray) -> Parts:
        replied.wait(PATIENCE_S)
        return (bytes(request[:5]),)

    calls = BlockingCalls(frame_of, call)
    assert [calls.start(0, fill), calls.start(0, fill)] == [True, False]
    replied.set()
    assert calls.poll(PATIENCE_S, lambda *parts, **_: came.append(parts)) == 1
    assert calls.start(0, fill)
    calls.stop()
    assert came == [(b"frame",)]
    assert not calls._thread.is_alive()


def test_a_call_without_reply_frees_the_client() -> None:
    calls = BlockingCalls(frame_of, lambda _request: None)
    assert calls.start(0, fill)
    assert calls.poll(0.05, lambda *_, **__: None) == 0
    assert calls.start(0, fill)
    calls.stop()


def test_stopping_interrupts_the_call_under_way_however_often_that_takes() -> None:
    broken, interrupts = threading.Event(), list[None]()

    def interrupt() -> None:
        interrupts.append(None)
        if len(interrupts) > 2:
            broken.set()

    calls = BlockingCalls(frame_of, lambda _request: (b"",) if broken.wait(PATIENCE_S) else None)
    calls.start(0, fill)
    calls.stop(interrupt)
    assert len(interrupts) == 3


def test_a_called_server_answers_from_serve_until_it_is_closed() -> None:
    server = CalledServer(frame_of)
    assert server.answer(b"early") is None
    assert server.serve(lambda _header, payload, reply: reply(len(payload), fill)) is server
    assert server.answer(b"header", b"12") == b"frame" + bytes(61)
    server.serve(lambda _frame, _reply: None)
    assert server.answer(b"unanswered") is None
    server.close()
    server.close()
    assert server.answer(b"late") is None


def test_requests_are_answered_one_by_one() -> None:
    server, inside, most = CalledServer(frame_of), list[None](), list[int]()

    def handle(_frame: Any, _reply: Any, _third: Any = None) -> None:
        inside.append(None)
        most.append(len(inside))
        threading.Event().wait(0.01)
        inside.pop()

    server.serve(handle)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(server.answer, [b"request"] * 8))
    assert most == [1] * 8


def test_a_called_server_is_not_polled() -> None:
    with pytest.raises(AdapterError) as refused:
        CalledServer(frame_of).poll(0, lambda *_: None)
    assert refused.value.remedy == 'use wait = "callback"'
