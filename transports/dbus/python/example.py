"""Sends messages with D-Bus through its broker.

Start `example.py receive`, then `example.py send` in a second terminal. For calls, start
`example.py serve`, then `example.py call`.
"""

import asyncio
import contextlib
import sys
import time

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusBytes
from dbus_fast.service import ServiceInterface, dbus_method

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "unix:path=/run/user/1000/bus"  # see `echo $DBUS_SESSION_BUS_ADDRESS`
PATH = f"/org/example/{TOPIC}"
INTERFACE = "org.example.Link"
SERVER = "org.example.Server"
PATIENCE_S = 10.0


async def send() -> None:
    bus = await MessageBus(ADDRESS).connect()
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        await bus.send(Message.new_signal(PATH, INTERFACE, "Frame", "ay", [payload]))
    bus.disconnect()
    await bus.wait_for_disconnect()
    print(f"sent {COUNT} messages")


async def receive() -> None:
    bus = await MessageBus(ADDRESS).connect()
    arrived: asyncio.Queue[Message] = asyncio.Queue()

    def take(message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.interface == INTERFACE:
            arrived.put_nowait(message)

    bus.add_message_handler(take)
    rule = f"type='signal',interface='{INTERFACE}',path='{PATH}'"
    dbus = "org.freedesktop.DBus"
    await bus.call(Message(dbus, "/org/freedesktop/DBus", dbus, "AddMatch", signature="s", body=[rule]))
    print("ready", flush=True)
    count = 0
    with contextlib.suppress(TimeoutError):
        while count < COUNT:
            message = await asyncio.wait_for(arrived.get(), PATIENCE_S)
            count += len(message.body[0]) == PAYLOAD_BYTES
    bus.disconnect()
    await bus.wait_for_disconnect()
    print(f"received {count} messages")


async def call() -> None:
    bus = await MessageBus(ADDRESS).connect()
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    begin = time.monotonic()
    for number in range(COUNT):
        await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        request = Message(SERVER, PATH, INTERFACE, "Call", signature="ay", body=[payload])
        reply = await asyncio.wait_for(bus.call(request), PATIENCE_S)
        count += reply.message_type is MessageType.METHOD_RETURN and len(reply.body[0]) == PAYLOAD_BYTES
    bus.disconnect()
    await bus.wait_for_disconnect()
    print(f"received {count} replies")


class Link(ServiceInterface):
    """An object whose method `Call` echoes the request as the reply."""

    def __init__(self) -> None:
        super().__init__(INTERFACE)
        self.count, self.is_done = 0, asyncio.Event()

    @dbus_method("Call")
    def call(self, payload: DBusBytes) -> DBusBytes:
        self.count += 1
        if self.count == COUNT:
            self.is_done.set()
        return payload


async def serve() -> None:
    bus, link = await MessageBus(ADDRESS).connect(), Link()
    bus.export(PATH, link)
    await bus.request_name(SERVER)
    print("ready", flush=True)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(link.is_done.wait(), PATIENCE_S)
    bus.disconnect()
    await bus.wait_for_disconnect()
    print(f"answered {link.count} calls")


if __name__ == "__main__":
    asyncio.run({"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]())
