"""Sends messages with iceoryx2: start `example.py receive`, then `example.py send` in a second terminal."""

import ctypes
import sys
import time

import iceoryx2 as iox2

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
BUFFER = 16
FULL = "drop_oldest"  # if a buffer is full: drop_oldest, or busy (the sender tries again)
PATIENCE_S = 10.0

Bytes = iox2.Slice[ctypes.c_uint8]


def open_services() -> tuple:
    """Open the service for messages, and the service for events that wake the receiver."""
    node = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
    name = iox2.ServiceName.new(TOPIC)
    builder = node.service_builder(name).publish_subscribe(Bytes).subscriber_max_buffer_size(BUFFER)
    messages = builder.enable_safe_overflow(FULL == "drop_oldest").open_or_create()
    return node, messages, node.service_builder(name).event().open_or_create()


def send() -> None:
    _node, messages, events = open_services()
    builder = messages.publisher_builder().initial_max_slice_len(PAYLOAD_BYTES)
    publisher = builder.backpressure_strategy(iox2.BackpressureStrategy.DiscardData).create()
    notifier = events.notifier_builder().create()
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        until = time.monotonic() + PATIENCE_S
        while not send_one(publisher):  # no receiver has subscribed yet, or none has room
            if time.monotonic() > until:
                sys.exit("no receiver takes messages")
            time.sleep(0.001)
        notifier.notify()
    print(f"sent {COUNT} messages")


def send_one(publisher: iox2.Publisher) -> int:
    """Write a message into shared memory. Return the number of subscribers that received the message."""
    sample = publisher.loan_slice_uninit(PAYLOAD_BYTES)
    ctypes.memset(sample.payload_ptr, 0, PAYLOAD_BYTES)
    return sample.assume_init().send()


def receive() -> None:
    _node, messages, events = open_services()
    listener = events.listener_builder().create()
    subscriber = messages.subscriber_builder().create()
    print("ready", flush=True)
    count, until = 0, time.monotonic() + PATIENCE_S
    while count < COUNT and time.monotonic() < until:
        listener.timed_wait(iox2.Duration.from_millis(100))
        while (sample := subscriber.receive()) is not None:
            count += len(sample.payload().as_memory_view()) == PAYLOAD_BYTES
            sample.delete()
            until = time.monotonic() + PATIENCE_S
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
