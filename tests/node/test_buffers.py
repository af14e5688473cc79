"""Frames pass through any object with the buffer protocol, without a copy, and only while the instrument loans them."""

from __future__ import annotations

import pytest

from tests.node.driver import MESSAGES, Measure, Outcome


def tallies(outcome: Outcome) -> tuple[int, int, int, int]:
    assert outcome.last["say"] == "done", outcome.last
    source, sink = outcome.last["endpoints"]
    return source["sent"], sink["received"], sink["malformed"], sink["content_errors"]


SENDING = {
    "bytearray": "frame = bytearray(64 + n); fill(frame); return frame",
    "memoryview": "frame = memoryview(bytearray(100 + n))[7 : 71 + n]; fill(frame); return frame",
    "ctypes": "frame = (ctypes.c_uint8 * (64 + n))(); fill(frame); return frame",
    "numpy": "frame = numpy.empty(64 + n, numpy.uint8); fill(frame); return frame",
    "two parts": "head, body = bytearray(64), bytearray(n); fill(head, body); return head + body",
}


@pytest.mark.parametrize("kind", SENDING)
def test_fill_writes_into(kind: str, measure: Measure) -> None:
    changes = f"""
        import ctypes
        {"import numpy" if kind == "numpy" else ""}
        def write(n, fill):
            {SENDING[kind]}
        def send(self, n, fill):
            self.line.put(write(n, fill))
            return True
        Publisher.send = send
    """
    assert tallies(measure(changes)) == (MESSAGES, MESSAGES, 0, 0)


TAKING = {
    "bytes": "take(bytes(frame))",
    "memoryview": "take(memoryview(b'x' + frame)[1:])",
    "numpy": "take(numpy.frombuffer(frame, numpy.uint8))",
    "two parts": "take(frame[:64], memoryview(frame)[64:])",
    "a message with its native": "take(frame, native=object())",
}


@pytest.mark.parametrize("kind", TAKING)
def test_take_reads_from(kind: str, measure: Measure) -> None:
    changes = f"""
        {"import numpy" if kind == "numpy" else ""}
        def poll(self, timeout_s, take):
            try:
                frame = self.line.get(timeout=timeout_s)
            except queue.Empty:
                return 0
            {TAKING[kind]}
            return 1
        Subscriber.poll = poll
    """
    assert tallies(measure(changes)) == (MESSAGES, MESSAGES, 0, 0)


def test_a_frame_that_is_too_short_is_counted_as_malformed(measure: Measure) -> None:
    outcome = measure("""
        def poll(self, timeout_s, take):
            try:
                frame = self.line.get(timeout=timeout_s)
            except queue.Empty:
                return 0
            take(frame)
            take(b"short")
            return 2
        Subscriber.poll = poll
    """)
    sent, received, malformed, _ = tallies(outcome)
    assert (sent, received) == (MESSAGES, MESSAGES)
    assert malformed >= MESSAGES


def test_the_instrument_keeps_no_reference_to_a_buffer(measure: Measure) -> None:
    outcome = measure("""
        import sys
        def send(self, payload_bytes, fill):
            frame = bytearray(64 + payload_bytes)
            before = sys.getrefcount(frame)
            fill(frame)
            frame.append(0)  # a BufferError if the bytes were still exported
            frame.pop()
            assert sys.getrefcount(frame) == before
            self.line.put(frame)
            return True
        Publisher.send = send
    """)
    assert tallies(outcome) == (MESSAGES, MESSAGES, 0, 0)


def test_a_relay_forwards_the_native_message(measure: Measure) -> None:
    outcome = measure(
        """
        class Native:
            def __init__(self, frame): self.frame = frame
        def poll(self, timeout_s, take):
            try:
                frame = self.line.get(timeout=timeout_s)
            except queue.Empty:
                return 0
            take(frame, native=Native(frame))
            return 1
        def forward(self, native):
            self.line.put(native.frame)
            return True
        Subscriber.poll = poll
        Publisher.forward = forward
        """,
        relays=1,
    )
    assert outcome.last["say"] == "done", outcome.last
    assert [place["received"] for place in outcome.last["endpoints"]] == [0, MESSAGES, MESSAGES]
    assert outcome.last["endpoints"][1]["copies"] == 0
