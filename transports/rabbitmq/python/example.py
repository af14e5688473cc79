"""Sends messages through RabbitMQ.

Start `example.py receive`, then `example.py send` in a second terminal. For calls, start
`example.py serve`, then `example.py call`.
"""

import sys
import time

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:5672"
ACKNOWLEDGE = True
PREFETCH = 0
CONFIRMS = False
PERSISTENT = False
PATIENCE_S = 10.0
REPLIES = "amq.rabbitmq.reply-to"


def open_channel() -> BlockingChannel:
    channel = pika.BlockingConnection(pika.URLParameters(f"amqp://{ADDRESS}/%2f")).channel()
    channel.basic_qos(prefetch_count=PREFETCH)
    return channel


def send(channel: BlockingChannel) -> None:
    channel.exchange_declare(TOPIC, "fanout", durable=PERSISTENT)
    if CONFIRMS:
        channel.confirm_delivery()  # basic_publish waits for the broker's confirmation
    properties = BasicProperties(delivery_mode=2 if PERSISTENT else 1)
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        channel.connection.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        channel.basic_publish(TOPIC, "", payload, properties)
    print(f"sent {COUNT} messages")


def receive(channel: BlockingChannel) -> None:
    channel.exchange_declare(TOPIC, "fanout", durable=PERSISTENT)
    declared = channel.queue_declare("", durable=PERSISTENT, exclusive=not PERSISTENT, auto_delete=True)
    queue = declared.method.queue
    channel.queue_bind(queue, TOPIC)
    print("ready", flush=True)
    count = 0
    for method, _, body in channel.consume(queue, auto_ack=not ACKNOWLEDGE, inactivity_timeout=PATIENCE_S):
        if method is None:
            break
        count += len(body) == PAYLOAD_BYTES
        if ACKNOWLEDGE:
            channel.basic_ack(method.delivery_tag)
        if count == COUNT:
            break
    print(f"received {count} messages")


def call(channel: BlockingChannel) -> None:
    replies: list[bytes] = []
    channel.basic_consume(REPLIES, lambda _, __, ___, body: replies.append(body), auto_ack=True)
    begin = time.monotonic()
    for number in range(COUNT):
        channel.connection.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        channel.basic_publish("", TOPIC, bytes(PAYLOAD_BYTES), BasicProperties(reply_to=REPLIES))
        until = time.monotonic() + PATIENCE_S
        while len(replies) == number and time.monotonic() < until:
            channel.connection.process_data_events(time_limit=PATIENCE_S)
    print(f"received {sum(len(reply) == PAYLOAD_BYTES for reply in replies)} replies")


def serve(channel: BlockingChannel) -> None:
    channel.queue_declare(TOPIC, exclusive=True, auto_delete=True)
    print("ready", flush=True)
    count = 0
    for method, properties, body in channel.consume(TOPIC, auto_ack=not ACKNOWLEDGE, inactivity_timeout=PATIENCE_S):
        if method is None:
            break
        channel.basic_publish("", properties.reply_to, body)  # echoes the request as the reply
        if ACKNOWLEDGE:
            channel.basic_ack(method.delivery_tag)
        count += 1
        if count == COUNT:
            break
    print(f"answered {count} calls")


if __name__ == "__main__":
    opened = open_channel()
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]](opened)
    opened.connection.close()
