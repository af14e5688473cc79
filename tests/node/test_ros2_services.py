"""Tests for calls of a user's service in the `ros2` adapter, without a middleware.

Each test writes frames into requests and responses, and reads the intact and altered frames.
"""

from __future__ import annotations

import pytest

from tests.node.ros2_program import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the ROS 2 generators need a minute of CPU

PROGRAM = """
calls = own_types.own_calls(link_of(message_object=inputs["object"]))
size = len(encoded)
reply = Path(inputs["object"]).with_name("reply.bin").read_bytes()


def travel(part):
    return deserialize_message(serialize_message(part), type(part))


request = calls.write_request(size, frame(size))
response = calls.write_reply(calls.service.Response(), size, frame(size))
altered_request, altered_response = travel(request), travel(response)
altered_request.value.wheels[1].place[2] += 1
altered_response.data[-1] ^= 1
found = {
    "frame": [header(size).hex(), encoded.hex()],
    "request": plain(calls.read_request(travel(request))),
    "response": plain(calls.read_reply(travel(response))),
    "altered request": plain(calls.read_request(altered_request)),
    "altered response": plain(calls.read_reply(altered_response)),
    "sizes": [size, len(reply)],
    # By value: the octets that the rmw leaves between two fields may be anything.
    "values": own_types.is_same(request.value, deserialize_message(encoded, type(request.value))),
    "fields": [list(part.get_fields_and_field_types()) for part in (calls.service.Request, calls.service.Response)],
}
sent = deserialize_message(reply, type(response))
sent.header = response.header
found["answer"] = own_types.is_same(sent, response)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Write and read the frames of a service whose request has no header, and whose response has a header and is larger
    than the request."""
    folder = tmp_path_factory.mktemp("packages")
    for name, text in {
        "wheel_msgs/msg/Wheel.msg": "float32 size\nint8[3] place",
        "wheel_msgs/srv/Turn.srv": "Wheel[2] wheels\nbool label\n---\nstd_msgs/Header header\nbool ok\nuint8[] data",
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "values.yaml").write_text("{wheels: [{size: 1}, {}]}\n---\ndata: !items 5000\n")
    payload = f"message:{folder}/wheel_msgs/srv/Turn.srv:{folder}/values.yaml"
    return run(payload, PROGRAM, tmp_path_factory.mktemp("logs"))


def test_a_frame_arrives_in_the_request_and_in_the_response(found: dict[str, list[int]]) -> None:
    assert found["request"] == found["response"] == found["frame"]
    assert found["sizes"][1] > 5000 > found["sizes"][0]


@pytest.mark.parametrize("part", ["altered request", "altered response"])
def test_an_altered_part_has_another_payload_of_the_same_length(found: dict[str, list[str]], part: str) -> None:
    header, payload = found[part]
    assert header == found["frame"][0]
    assert payload != found["frame"][1]
    assert len(payload) == len(found["frame"][1])


def test_the_parts_have_the_fields_and_values_of_the_service(found: dict[str, object]) -> None:
    assert found["fields"] == [["stamp", "label", "value"], ["header", "ok", "data"]]
    assert found["values"] is True
    assert found["answer"] is True
