"""Tests for messages of a user's type in the `ros2` adapter, without a middleware.

Each test writes frames into messages, and reads the intact and altered frames in the Python of the nodes.
"""

from __future__ import annotations

import pytest

from tests.node.ros2_program import run
from tests.ros2_packages import write_packages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the ROS 2 generators need a minute of CPU

PROGRAM = """
def link(**more):
    return own_types.own_carrier(link_of(**more))


def read(carrier, came):
    return plain(carrier.read(came))


objects, octets = link(message_object=inputs["object"]), link()
sent, sent_octets = objects.write(len(encoded), frame(len(encoded))), octets.write(len(encoded), frame(len(encoded)))
as_sent = deserialize_message(serialize_message(sent), type(sent))  # as it travels
told_by_type = deserialize_message(sent_octets, octets.message)  # what another subscriber of the topic decodes
altered = deserialize_message(serialize_message(sent), type(sent))
inner = altered if objects.has_header else altered.value
inner_type = type(inner)
by_subscriber = getattr(told_by_type, "value", told_by_type)
exec(inputs["alter"], {"inner": inner})
found = {
    "frame": [header(len(encoded)).hex(), encoded.hex()],
    "objects": read(objects, as_sent),
    "altered": read(objects, altered),
    "octets": read(octets, bytes(sent_octets)),
    "padded": read(octets, bytes(sent_octets) + bytes(-len(sent_octets) % 4)),
    "topic": own_types.name_of_class(octets.message),
    # By value: the octets that the rmw leaves between two fields may be anything.
    "decoded": own_types.is_same(by_subscriber, deserialize_message(encoded, inner_type)),
    "foreign": [read(octets, bytes(size)) for size in (0, 1, 5, 75, 76, 200)] + [read(octets, bytes([255]) * 90)],
    "unchecked": read(objects, objects.write(len(encoded), frame(len(encoded), 0))),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=["bounded", "message"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Write and read the frames of a type of bounded size without a header, and of a type with a header."""
    folder = tmp_path_factory.mktemp("packages")
    write_packages(folder)
    word, alter = {
        "bounded": ("Wheels", "inner.parts[1].place[2] += 1"),
        "message": ("Drive", "inner.data[-1] ^= 1"),
    }[request.param]
    payload = f"message:{folder}/wheel_msgs/msg/{word}.msg"
    return run(payload, PROGRAM, tmp_path_factory.mktemp("logs"), alter=alter)


def test_a_frame_arrives_as_it_was_sent_as_an_object_and_as_octets(found: dict[str, object]) -> None:
    assert found["objects"] == found["octets"] == found["padded"] == found["frame"]


def test_an_altered_message_has_another_payload_of_the_same_length(found: dict[str, list[str]]) -> None:
    header, payload = found["altered"]
    assert header == found["frame"][0]
    assert payload != found["frame"][1]
    assert len(payload) == len(found["frame"][1])


def test_a_subscriber_of_the_type_decodes_the_message_of_octets(found: dict[str, object]) -> None:
    assert found["decoded"] is True


def test_octets_that_are_no_frame_have_a_header_that_every_receiver_refuses(found: dict[str, list[list[str]]]) -> None:
    assert all(bytes.fromhex(header)[:4] != b"HOPM" for header, _ in found["foreign"])


def test_a_message_that_is_not_checked_is_not_compared(found: dict[str, list[str]]) -> None:
    assert found["unchecked"][1] == found["frame"][1]
