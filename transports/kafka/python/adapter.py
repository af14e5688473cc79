"""The adapter for Kafka with confluent-kafka: topics of one partition. ../README.md describes the wire format.

Every link end has its own producer or consumer, and each of these has its own librdkafka threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from hopmeter.node.base import BaseTransport, opens
from hopmeter.node.buffers import BytesBuffer
from hopmeter.node.contract import Fill, Link, Setup, Take

Result = TypeVar("Result")
PATIENCE_S = 10.0
LOOK_S = 0.02
BATCH_OVERHEAD_BYTES = 65536
"""More than the bytes that Kafka adds to a message."""
PRODUCER = {
    "acks": "acks",
    "linger_ms": "linger.ms",
    "batch_size": "batch.size",
    "compression": "compression.type",
    "idempotence": "enable.idempotence",
}
"""The producer's property for each setting."""
CONSUMER = {"fetch_min_bytes": "fetch.min.bytes", "fetch_wait_ms": "fetch.wait.max.ms"}
"""The consumer's property for each setting."""


def connection(setup: Setup) -> dict[str, Any]:
    """Return the properties with which a client connects to the broker."""
    credentials, at, place = setup.broker.rpartition("@")
    user, _, password = credentials.partition(":")
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    login |= {"sasl.username": user, "sasl.password": password}
    return {"bootstrap.servers": place, **(login if at else {})}


def retry(attempt: Callable[[], Result]) -> Result:
    """Repeat an attempt until it succeeds, because a new topic becomes usable only after some time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return attempt()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        time.sleep(LOOK_S)


def await_topic(client: Producer | Consumer, topic: str) -> None:
    """Wait until the topic has a leader. The broker creates the topic when the first client asks for it."""

    def open_topic() -> None:
        if (error := client.list_topics(topic, timeout=PATIENCE_S).topics[topic].error) is not None:
            raise KafkaException(error)

    retry(open_topic)


class Publisher:
    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        own = {name: transport.settings[setting] for setting, name in PRODUCER.items()}
        own["message.max.bytes"] = max(1_000_000, link.frame_bytes + BATCH_OVERHEAD_BYTES)
        self._producer = Producer({**connection(transport.setup), **own})
        self._topic, self._buffer = link.name, BytesBuffer()
        await_topic(self._producer, link.name)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.forward(self._buffer.fill(payload_bytes, fill))

    def forward(self, native: bytes) -> bool:
        """Queue a frame, which librdkafka copies, and let librdkafka report the deliveries that have completed."""
        try:
            self._producer.produce(self._topic, native)
        except BufferError:  # librdkafka's queue is full
            return False
        finally:
            self._producer.poll(0)
        return True

    def close(self) -> None:
        self._producer.flush(PATIENCE_S)


class Subscriber:
    def __init__(self, transport: Transport, link: Link) -> None:
        self._spins = link.wait == "spin"
        own = {name: transport.settings[setting] for setting, name in CONSUMER.items()}
        own |= {"group.id": link.name, "enable.auto.commit": False, "allow.auto.create.topics": True}
        self._consumer = Consumer({**connection(transport.setup), **own})
        await_topic(self._consumer, link.name)
        place = TopicPartition(link.name, 0)
        _, end = retry(lambda: self._consumer.get_watermark_offsets(place, timeout=PATIENCE_S))
        self._consumer.assign([TopicPartition(link.name, 0, end)])

    def poll(self, timeout_s: float, take: Take) -> int:
        message = self._consumer.poll(0 if self._spins else timeout_s)
        if message is None:
            return 0
        if message.error() is not None:
            raise KafkaException(message.error())
        frame = message.value()
        take(frame, native=frame)
        return 1

    def close(self) -> None:
        self._consumer.close()


class Transport(BaseTransport):
    version = staticmethod(
        lambda: f"confluent-kafka {confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}"
    )
    path = "TCP through Apache Kafka"
    publisher = opens(Publisher)
    subscriber = opens(Subscriber)
