"""Calls a Thrift service: start `example.py serve`, then `example.py call` in a second terminal."""

# Build: thrift --gen py -out . example.thrift
import contextlib
import socket
import sys
import time

from answering import Answer
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
ADDRESS = "127.0.0.1:9090"
PATIENCE_S = 10.0
HOST, PORT = ADDRESS.split(":")


def open_protocol(connection: TSocket) -> TBinaryProtocolAccelerated:
    connection.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setTimeout(PATIENCE_S * 1000)
    return TBinaryProtocolAccelerated(TBufferedTransport(connection), string_length_limit=2 * PAYLOAD_BYTES + 1000)


def call() -> None:
    connection = TSocket(HOST, int(PORT))
    connection.open()
    client = Answer.Client(open_protocol(connection))
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        count += len(client.call(payload)) == PAYLOAD_BYTES
    connection.close()
    print(f"received {count} replies")


class Server:
    calls = 0

    def call(self, request: bytes) -> bytes:
        self.calls += 1
        return request  # echoes the request as the reply


def serve() -> None:
    """Serve one client until it disconnects. Thrift's TThreadedServer serves many clients, and never returns."""
    listener = TServerSocket(HOST, int(PORT))
    listener.listen()
    print("ready", flush=True)
    connection = listener.accept()
    protocol = open_protocol(connection)
    server = Server()
    processor = Answer.Processor(server)
    with contextlib.suppress(TTransportException):
        while True:
            processor.process(protocol, protocol)
    connection.close()
    listener.close()
    print(f"answered {server.calls} calls")


if __name__ == "__main__":
    {"call": call, "serve": serve}[sys.argv[1]]()
