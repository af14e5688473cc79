"""Test messages between `ros2-wire` and `ros2`, on one machine and between two test hosts.

Each wire-protocol adapter exchanges topics with rclpy in both directions. The Fast DDS adapter also exchanges calls.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from conformance.cases import MANIFESTS, READY
from conformance.connection import await_topic, send_while_receiving
from conformance.node_pool import NodePool
from conformance.scripted_node import ScriptedNode
from conformance.shared_broker import SharedBroker
from conformance.test_rpc import call, call_until_answered, discard_calls
from hopmeter.model import units
from tests.hosts.network import Host, two_hosts

ROS2, WIRE = MANIFESTS["ros2"], MANIFESTS["ros2-wire"]
PAYLOADS = {"timing": (0,), "bytes:0": (8, 0, 1, 1000, 60_000), "image:64x48": (units.payload_bytes("image:64x48"),)}
"""Frame sizes that RustDDS supports too, by payload."""
LIBRARIES = {
    "cyclonedds-cpp": ("c++", {}),
    "fastdds-cpp": ("c++", {"dds": "fastdds"}),
    "cyclonedds-python": ("python", {}),
    "rustdds-rust": ("rust", {}),
}
"""The language and settings of each wire-protocol library, by name."""
HERE = [name for name, (word, _) in LIBRARIES.items() if (ROS2, "python") in READY and (WIRE, word) in READY]
"""The libraries whose adapters are ready; empty if rclpy is not ready."""


def start(
    pool: NodePool, name: str, payload: str, hosts: tuple[Host | None, Host | None] = (None, None), **more: Any
) -> tuple[ScriptedNode, ScriptedNode]:
    """Return a wire-protocol node and an rclpy node."""
    language, settings = LIBRARIES[name]
    wire = pool.node(WIRE, language, "block", payload=payload, host=hosts[0], **settings, **more)
    return wire, pool.node(ROS2, "python", "block", payload=payload, host=hosts[1])


def exchange_topics(pool: NodePool, name: str, hosts: tuple[Host | None, Host | None] = (None, None)) -> None:
    """Check that frames of every payload arrive unaltered in both directions."""
    for payload, sizes in PAYLOADS.items():
        wire, ros2 = start(pool, name, payload, hosts)
        for sender, receiver in ((wire, ros2), (ros2, wire)):
            link = sender.open("publisher", "out", pool.link())
            receiver.open("subscriber", "in", link)
            await_topic(sender, receiver, ("out", "in"), sizes[0])
            for seq, size in enumerate(sizes):
                seen = send_while_receiving(sender, receiver, ("out", "in"), seq, size)
                assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]
            sender.close_ends()
            receiver.close_ends()
        pool.release()


@pytest.mark.parametrize("name", HERE)
def test_topics_of_the_wire_protocol_reach_rclpy_and_back(pool: NodePool, name: str) -> None:
    exchange_topics(pool, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_topics_reach_rclpy_on_another_host_and_back(name: str) -> None:
    with two_hosts() as (one, other), closing(SharedBroker(one)) as broker, NodePool(broker) as pool:
        exchange_topics(pool, name, (one, other))


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("name", [name for name in HERE if name.startswith("fastdds")])
def test_calls_with_inline_parameters_reach_rclpy_and_back(pool: NodePool, name: str, payload: str) -> None:
    wire, ros2 = start(pool, name, payload, calls="fastrtps")
    for client, server in ((wire, ros2), (ros2, wire)):
        link = server.open("server", "answer", pool.link())
        client.open("client", "ask", link)
        sizes = [*PAYLOADS[payload], *([300_000] if payload == "bytes:0" else [])]
        if call_until_answered(client, server, payload_bytes=sizes[0]) > 1:
            discard_calls(client, server)
        for seq, size in enumerate(sizes):
            replies = call(client, server, seq, size)
            assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]
        client.close_ends()
        server.close_ends()
