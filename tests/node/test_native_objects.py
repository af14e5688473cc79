"""A transport that encodes objects itself bypasses the payload, and the received objects are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node.driver import MESSAGES, Measure
from tests.node.test_objects import objects_of, records, sink

PASSING = """
    class Passing(Publisher):
        def __init__(self, line, objects): self.line, self.objects = line, objects
        def send(self, payload_bytes, fill):
            header, payload = bytearray(64), bytearray(payload_bytes)
            fill(header, payload)
            assert not any(payload), "the payload was written"
            self.line.put((header, altered(self.objects.leaving)))
            return True

    class Arriving(Subscriber):
        def __init__(self, line, objects, room): self.line, self.objects, self.room = line, objects, room
        def poll(self, timeout_s, take):
            try:
                header, obj = self.line.get(timeout=timeout_s)
            except queue.Empty:
                return 0
            self.objects.arrive(obj)
            take(header, self.room)
            return 1

    def line(link): return lines.setdefault(link.name, queue.SimpleQueue())
    def carry(self, objects): self.objects = objects
    Transport.carry = carry
    Transport.publisher = lambda self, link: Passing(line(link), self.objects[link.name])
    room = lambda link: bytes(link.frame_bytes - 64)
    Transport.subscriber = lambda self, link: Arriving(line(link), self.objects[link.name], room(link))
    altered = lambda obj: obj
"""


def test_what_arrives_is_compared_and_the_payload_left_alone(measure: Measure, tmp_path: Path) -> None:
    outcome = measure(PASSING, **objects_of("numpy"))
    found = sink(outcome)
    assert (found["received"], found["content_errors"], outcome.log) == (MESSAGES, 0, "")
    assert found["content_checks"] > MESSAGES
    for _, _, _, _, sent, arrived, _, _, decoded in records(tmp_path, 1):
        assert sent < arrived <= decoded


@pytest.mark.parametrize("change", ["obj + 1", "obj.astype('f4')", "obj[:-1]", "obj.tolist()", "None"])
def test_another_object_than_was_sent_is_a_wrong_one(measure: Measure, change: str) -> None:
    outcome = measure(f"{PASSING}    altered = lambda obj: {change}", **objects_of("numpy"))
    assert sink(outcome)["content_errors"] == sink(outcome)["content_checks"] > MESSAGES
    assert outcome.log.count("an object did not arrive correctly") == 1


def test_bytes_are_carried_as_ever(measure: Measure) -> None:
    found = sink(measure("    Transport.carry = lambda self, objects: 1 / 0"))
    assert (found["received"], found["content_errors"]) == (MESSAGES, 0)
