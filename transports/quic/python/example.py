"""Sends messages over QUIC: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`. The waiting program writes its certificate to a file, and
the other program accepts only this certificate.
"""

import asyncio
import contextlib
import datetime as dt
import struct
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aioquic.asyncio import connect, serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
ADDRESS = "127.0.0.1:4433"
CONGESTION_CONTROL_ALGORITHM = "reno"  # or cubic
MAX_DATA = 1048576
MAX_STREAM_DATA = 1048576
IDLE_TIMEOUT_S = 60.0
CERTIFICATE = Path("certificate.der")
NAME = "localhost"
PATIENCE_S = 10.0
LENGTH = struct.Struct("<Q")
OPTIONS: dict[str, Any] = {
    "congestion_control_algorithm": CONGESTION_CONTROL_ALGORITHM,
    "max_data": MAX_DATA,
    "max_stream_data": MAX_STREAM_DATA,
    "idle_timeout": IDLE_TIMEOUT_S,
}
HOST, PORT = ADDRESS.split(":")[0], int(ADDRESS.split(":")[1])


def create_certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    validity = dt.datetime(2020, 1, 1), dt.datetime(2120, 1, 1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), *validity)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    return builder.sign(key, hashes.SHA256()), key


def open_connection() -> contextlib.AbstractAsyncContextManager[QuicConnectionProtocol]:
    accepted = x509.load_der_x509_certificate(CERTIFICATE.read_bytes())
    configuration = QuicConfiguration(server_name=NAME, **OPTIONS)
    configuration.load_verify_locations(cadata=accepted.public_bytes(Encoding.PEM))
    return connect(HOST, PORT, configuration=configuration)


@contextlib.asynccontextmanager
async def listen() -> AsyncIterator[asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """Accept connections, and yield a queue of the streams that clients open."""
    streams: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    certificate, key = create_certificate()
    configuration = QuicConfiguration(is_client=False, certificate=certificate, private_key=key, **OPTIONS)
    handler: Any = lambda *stream: streams.put_nowait(stream)  # noqa: E731
    server = await serve(HOST, PORT, configuration=configuration, stream_handler=handler)
    CERTIFICATE.write_bytes(certificate.public_bytes(Encoding.DER))
    print("ready", flush=True)
    try:
        yield streams
    finally:
        CERTIFICATE.unlink()
        server.close()


async def send() -> None:
    async with open_connection() as connection:
        _, writer = await connection.create_stream(is_unidirectional=True)
        begin = time.monotonic()
        for number in range(COUNT):
            await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            writer.write(LENGTH.pack(PAYLOAD_BYTES) + bytes(PAYLOAD_BYTES))
        writer.write_eof()
        await asyncio.wait_for(connection.wait_closed(), PATIENCE_S)  # the receiver closes when it has all messages
    print(f"sent {COUNT} messages")


async def receive() -> None:
    count = 0
    async with listen() as streams:
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError):
            reader, _ = await asyncio.wait_for(streams.get(), PATIENCE_S)
            while count < COUNT:
                (length,) = LENGTH.unpack(await asyncio.wait_for(reader.readexactly(LENGTH.size), PATIENCE_S))
                count += len(await reader.readexactly(length)) == PAYLOAD_BYTES
    print(f"received {count} messages")


async def call() -> None:
    count = 0
    async with open_connection() as connection:
        begin = time.monotonic()
        for number in range(COUNT):
            await asyncio.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            reader, writer = await connection.create_stream()
            writer.write(bytes(PAYLOAD_BYTES))
            writer.write_eof()
            count += len(await asyncio.wait_for(reader.read(), PATIENCE_S)) == PAYLOAD_BYTES
    print(f"received {count} replies")


async def answer_calls() -> None:
    count = 0
    async with listen() as streams:
        with contextlib.suppress(TimeoutError):
            while count < COUNT:
                reader, writer = await asyncio.wait_for(streams.get(), PATIENCE_S)
                writer.write(await reader.read())  # echoes the request as the reply
                writer.write_eof()
                count += 1
            # The client closes when it has all replies.
            await asyncio.wait_for(writer.transport.protocol.wait_closed(), PATIENCE_S)
    print(f"answered {count} calls")


if __name__ == "__main__":
    asyncio.run({"send": send, "receive": receive, "call": call, "serve": answer_calls}[sys.argv[1]]())
