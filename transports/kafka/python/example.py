"""Sends messages through Kafka.

Start `example.py receive`, then `example.py send` in a second terminal.
"""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:9092"
ACKS = "all"
LINGER_MS = 5
BATCH_SIZE = 1000000
COMPRESSION = "none"
IDEMPOTENCE = False
FETCH_MIN_BYTES = 1
FETCH_WAIT_MS = 500
PATIENCE_S = 10.0


def fail(error: object, _: object) -> None:
    if error is not None:
        raise KafkaException(error)


def send() -> None:
    producer = Producer(
        {
            "bootstrap.servers": ADDRESS,
            "acks": ACKS,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_SIZE,
            "compression.type": COMPRESSION,
            "enable.idempotence": IDEMPOTENCE,
        }
    )
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        producer.produce(TOPIC, payload, on_delivery=fail)
        producer.poll(0)
    producer.flush(PATIENCE_S)
    print(f"sent {COUNT} messages")


def find_end(consumer: Consumer) -> int:
    """Return the end of the topic. The broker creates the topic when the first client asks for it."""
    while True:
        consumer.list_topics(TOPIC, timeout=PATIENCE_S)
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=PATIENCE_S)[1])
        except KafkaException:
            time.sleep(0.05)


def receive() -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": ADDRESS,
            "group.id": "example",
            "enable.auto.commit": False,
            "allow.auto.create.topics": True,
            "fetch.min.bytes": FETCH_MIN_BYTES,
            "fetch.wait.max.ms": FETCH_WAIT_MS,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, find_end(consumer))])
    print("ready", flush=True)
    count = 0
    while count < COUNT and (message := consumer.poll(PATIENCE_S)) is not None:
        fail(message.error(), message)
        count += len(message.value()) == PAYLOAD_BYTES
    consumer.close()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
