"""Sends messages with Cap'n Proto RPC: start `example.py receive`, then `example.py send` in a second terminal.

The sender calls the receiver for each message. For calls with replies, start `example.py serve`, then `example.py
call`.
"""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import capnp
import example_capnp  # loads example.capnp

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
ADDRESS = "127.0.0.1:4000"
PATIENCE_S = 10.0
HOST, PORT = ADDRESS.split(":")[0], int(ADDRESS.split(":")[1])
LIMIT = 2**64 - 1
"""The largest number of words that a receiver reads. The default is 8 Mi words (64 MiB)."""


class Server(example_capnp.Example.Server):
    def __init__(self) -> None:
        self.count = 0
        self.done = asyncio.Event()

    async def deliver(self, data: bytes, **_context: Any) -> None:
        self.count += len(data) == PAYLOAD_BYTES

    async def call(self, request: bytes, **_context: Any) -> bytes:
        self.count += 1
        return request  # echoes the request as the reply

    async def end(self, **_context: Any) -> None:
        self.done.set()


async def run_server() -> int:
    """Run a server until a client has ended, and return how many messages or calls arrived."""
    server = Server()

    async def serve(stream: Any) -> None:
        await capnp.TwoPartyServer(stream, bootstrap=server, traversal_limit_in_words=LIMIT).on_disconnect()

    listener = await capnp.AsyncIoStream.create_server(serve, HOST, PORT)
    print("ready", flush=True)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.done.wait(), PATIENCE_S + COUNT / RATE_HZ)
    await asyncio.sleep(0.1)  # sends the last reply
    listener.close()
    return server.count


async def run_client(act: Callable[[Any], Awaitable[None]]) -> None:
    """Connect, and await `act` at each due time."""
    stream = await capnp.AsyncIoStream.create_connection(HOST, PORT)
    client = capnp.TwoPartyClient(stream, traversal_limit_in_words=LIMIT).bootstrap().cast_as(example_capnp.Example)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    for number in range(COUNT):
        await asyncio.sleep(max(0.0, begin + number / RATE_HZ - loop.time()))
        await act(client)
    await client.end()


async def send() -> None:
    await run_client(lambda client: client.deliver(bytes(PAYLOAD_BYTES)))
    print(f"sent {COUNT} messages")


async def receive() -> None:
    print(f"received {await run_server()} messages")


async def call() -> None:
    replies: list[bytes] = []

    async def act(client: Any) -> None:
        replies.append((await client.call(bytes(PAYLOAD_BYTES))).reply)

    await run_client(act)
    print(f"received {sum(len(reply) == PAYLOAD_BYTES for reply in replies)} replies")


async def answer_calls() -> None:
    print(f"answered {await run_server()} calls")


if __name__ == "__main__":
    side = {"send": send, "receive": receive, "call": call, "serve": answer_calls}[sys.argv[1]]
    asyncio.run(capnp.run(side()))
