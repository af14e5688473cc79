"""Tests for the event loops of Python adapters: who shares a loop, sends from callbacks, slow peers, and the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hopmeter.node.event_loop import EventLoop, Outbox, Receiver, endpoint_loop

PATIENCE_S = 10


def loop_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "asyncio"]


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    made = EventLoop()
    yield made
    made.close()
    assert loop_threads() == [], "nothing remains of a closed loop"


async def answer(value: Any) -> Any:
    return value


def in_thread(work: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join(PATIENCE_S)
    return results[0]


def test_the_ends_of_one_thread_share_a_loop_until_the_last_one_closes_it() -> None:
    first, second, other = endpoint_loop(), endpoint_loop(), in_thread(endpoint_loop)
    assert first is second and first is not other
    other.close()
    first.close()
    assert second.run(answer(3)) == 3
    second.close()
    assert loop_threads() == []
    later = endpoint_loop()
    assert later is not first and later.run(answer(4)) == 4
    later.close()


def test_an_endpoint_with_a_loop_of_its_own_kind_starts_it_once() -> None:
    class OwnKind(EventLoop):
        pass

    first = endpoint_loop(OwnKind)
    assert isinstance(first, OwnKind) and endpoint_loop(OwnKind) is first
    first.close()
    first.close()
    assert loop_threads() == []


def test_what_a_callback_sends_leaves_before_the_next_message_is_awaited(loop: EventLoop) -> None:
    events: list[str] = []
    outbox, messages, done = Outbox(loop), iter("ab"), threading.Event()

    async def send(message: str) -> None:
        await asyncio.sleep(0.01)
        events.append(f"sent {message}")

    async def receive() -> None:
        message = next(messages, None)
        if message is None:
            done.set()
            raise EOFError
        events.append(f"got {message}")
        assert outbox.is_ready and outbox.put(send(message)) and outbox.put(send(message * 2))

    receiver = Receiver(loop, receive)
    assert done.wait(PATIENCE_S)
    receiver.close()
    assert events == ["got a", "sent a", "sent aa", "got b", "sent b", "sent bb"]


def test_an_outbox_is_busy_as_long_as_the_library_does_not_accept_a_message(loop: EventLoop) -> None:
    outbox, room = Outbox(loop), loop.run(answer(asyncio.Event()))

    async def wait_for_room() -> None:
        await room.wait()

    async def make_room() -> None:
        room.set()
        await asyncio.sleep(0)

    assert outbox.is_ready and outbox.put(answer(None)) and outbox.is_ready
    assert outbox.put(wait_for_room()) and not outbox.is_ready
    loop.run(make_room())
    assert outbox.put(answer(None)) and outbox.is_ready


def test_an_error_of_the_library_reaches_the_sender_and_whoever_closes_a_receiver(loop: EventLoop) -> None:
    async def fail() -> None:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        Outbox(loop).put(fail())
    receiver = Receiver(loop, fail)
    loop.run(answer(None))
    with pytest.raises(OSError, match="broken"):
        receiver.close()


def test_closing_a_receiver_waits_for_a_running_callback_and_ends_one_whose_messages_never_pause(
    loop: EventLoop,
) -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    async def call_slowly() -> None:
        began.set()
        may_end.wait(PATIENCE_S)
        ended.set()

    receiver = Receiver(loop, call_slowly)
    assert began.wait(PATIENCE_S)
    closing = threading.Thread(target=receiver.close)
    closing.start()
    assert not ended.is_set() and closing.is_alive()
    may_end.set()
    closing.join(PATIENCE_S)
    assert ended.is_set() and not closing.is_alive()


def test_a_closed_loop_leaves_no_task() -> None:
    cancelled, began = threading.Event(), threading.Event()

    async def wait_forever() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    loop = EventLoop()
    loop.start(wait_forever())
    assert began.wait(PATIENCE_S)
    loop.close()
    assert cancelled.is_set() and loop_threads() == [] and not loop.share()
