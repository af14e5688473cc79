"""Sends messages with NATS through its broker.

Start `example.py receive`, then `example.py send` in a second terminal. For calls, start
`example.py serve`, then `example.py call`.
"""

import asyncio
import contextlib
import sys
import time

import nats

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:4222"
PATIENCE_S = 10.0


async def send() -> None:
    connection = await nats.connect(f"nats://{ADDRESS}")
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        await connection.publish(TOPIC, payload)
    await connection.drain()  # sends the queued messages, then closes
    print(f"sent {COUNT} messages")


async def receive() -> None:
    connection = await nats.connect(f"nats://{ADDRESS}")
    subscription = await connection.subscribe(TOPIC)
    await connection.flush()  # the broker has confirmed the subscription
    print("ready", flush=True)
    count = 0
    with contextlib.suppress(nats.errors.TimeoutError):
        while count < COUNT:
            count += len((await subscription.next_msg(PATIENCE_S)).data) == PAYLOAD_BYTES
    await connection.close()
    print(f"received {count} messages")


async def call() -> None:
    connection = await nats.connect(f"nats://{ADDRESS}")
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    begin = time.monotonic()
    for number in range(COUNT):
        await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        count += len((await connection.request(TOPIC, payload, timeout=PATIENCE_S)).data) == PAYLOAD_BYTES
    await connection.close()
    print(f"received {count} replies")


async def serve() -> None:
    connection = await nats.connect(f"nats://{ADDRESS}")
    subscription = await connection.subscribe(TOPIC)
    await connection.flush()  # the broker has confirmed the subscription
    print("ready", flush=True)
    count = 0
    with contextlib.suppress(nats.errors.TimeoutError):
        while count < COUNT:
            request = await subscription.next_msg(PATIENCE_S)
            await request.respond(request.data)  # echoes the request as the reply
            count += 1
    await connection.drain()  # sends the queued messages, then closes
    print(f"answered {count} calls")


if __name__ == "__main__":
    asyncio.run({"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]())
