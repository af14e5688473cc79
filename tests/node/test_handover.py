"""Tests for passing frames and requests from a library's thread to the waiting thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from hopmeter.node.contract import Handle, Take
from hopmeter.node.handover import ROOM, HandOver, Server, Subscriber
from tests.node.driver import MESSAGES, Measure
from tests.node.test_node import CALLED

PATIENCE_S = 10
BLOCKING = """
    from hopmeter.node import handover
    Transport.subscriber = lambda self, link: handover.Subscriber(lambda on_frame: subscribe(self, link, on_frame))
"""


@pytest.fixture
def library() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


class Ends:
    address = "here"

    def __init__(self) -> None:
        self.call: Any = None
        self.closed = 0

    def subscribe(self, on_frame: Take) -> Ends:
        self.call = on_frame
        return self

    def serve(self, on_request: Handle) -> Ends:
        self.call = on_request
        return self

    def close(self) -> None:
        self.closed += 1


def test_frames_come_in_order_and_on_the_thread_that_polls(library: ThreadPoolExecutor) -> None:
    hands = HandOver()
    library.submit(lambda: [hands.frame(b"frame", bytes([at]), native=at) for at in range(3)]).result(PATIENCE_S)
    came: list[Any] = []

    def take(*parts: Any, native: Any) -> None:
        came.append((*parts, native, threading.get_ident()))

    assert [hands.poll(PATIENCE_S, take) for _ in range(3)] == [1, 1, 1]
    assert came == [(b"frame", bytes([at]), at, threading.get_ident()) for at in range(3)]
    assert hands.poll(0.001, take) == 0


def test_a_full_queue_has_the_library_wait_and_loses_nothing(library: ThreadPoolExecutor) -> None:
    hands, came = HandOver(room=2), list[bytes]()
    given = library.submit(lambda: [hands.frame(bytes([at])) for at in range(10)])
    while len(came) < 10:
        assert hands._arrived.qsize() <= 2
        hands.poll(PATIENCE_S, lambda frame, *_, **__: came.append(frame))
    given.result(PATIENCE_S)
    assert came == [bytes([at]) for at in range(10)]


def test_a_full_queue_may_drop_instead_and_counts(library: ThreadPoolExecutor) -> None:
    ends, came = Ends(), list[bytes]()
    subscriber = Subscriber(ends.subscribe, room=2, drops=True)
    library.submit(lambda: [ends.call(bytes([at])) for at in range(5)]).result(PATIENCE_S)
    while subscriber.poll(0.001, lambda frame, *_, **__: came.append(frame)):
        pass
    assert (came, subscriber.drop_count) == ([b"\0", b"\1"], 3)


def test_a_request_is_answered_before_its_caller_goes_on(library: ThreadPoolExecutor) -> None:
    hands, answers = HandOver(), list[str]()
    asked = library.submit(hands.request, b"header", b"payload", answers.append)
    assert hands.poll(PATIENCE_S, lambda header, payload, reply: reply(f"{header!r} {payload!r}")) == 1
    asked.result(PATIENCE_S)
    assert answers == ["b'header' b'payload'"]


def test_a_request_in_one_piece_stays_so(library: ThreadPoolExecutor) -> None:
    hands, came = HandOver(), list[Any]()
    asked = library.submit(hands.request, b"frame", "reply")
    hands.poll(PATIENCE_S, lambda *parts: came.append(parts))
    asked.result(PATIENCE_S)
    assert came == [(b"frame", "reply")]


def test_a_handler_that_fails_lets_its_caller_go(library: ThreadPoolExecutor) -> None:
    hands = HandOver()
    asked = library.submit(hands.request, b"frame", None)
    with pytest.raises(ZeroDivisionError):
        hands.poll(PATIENCE_S, lambda *_: 1 // 0)
    asked.result(PATIENCE_S)


@pytest.mark.parametrize("waiting", [0, 1, 2])
def test_closing_lets_everybody_go(waiting: int, library: ThreadPoolExecutor) -> None:
    hands = HandOver(room=1)
    asked: list[Future[None]] = [library.submit(hands.request, b"frame", None) for _ in range(waiting)]
    while waiting and hands._arrived.empty():
        pass
    hands.close()
    for request in asked:
        request.result(PATIENCE_S)
    library.submit(hands.frame, b"late").result(PATIENCE_S)  # a late callback must not block


def test_a_subscriber_and_a_server_close_what_they_were_made_of() -> None:
    subscribed, served = Ends(), Ends()
    subscriber, server = Subscriber(subscribed.subscribe), Server(served)
    for _ in range(ROOM):
        subscribed.call(b"frame")
    assert subscriber.poll(PATIENCE_S, lambda *_, **__: None) == 1
    assert server.address == "here"
    subscriber.close()
    server.close()
    assert (subscribed.closed, served.closed) == (1, 2)  # `served` counts the service and the server


def test_an_adapter_that_is_called_blocks_with_it(measure: Measure) -> None:
    outcome = measure(CALLED.format(close="self.line.put(None); self.thread.join()") + BLOCKING)
    assert outcome.last["endpoints"][1]["received"] == MESSAGES
    assert (outcome.code, outcome.log) == (0, "")
