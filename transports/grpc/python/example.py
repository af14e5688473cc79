"""Sends messages with gRPC: start `example.py receive`, then `example.py send` in a second terminal.

The sender is the server, and the receiver reads a stream. For calls, start `example.py serve`, then `example.py call`.
"""

# Build: python3 -m grpc_tools.protoc -I. --python_out=. --grpc_python_out=. example.proto
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import example_pb2
import example_pb2_grpc
import grpc

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:50051"
PATIENCE_S = 10.0
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Server(example_pb2_grpc.ExampleServicer):
    def __init__(self) -> None:
        self.calls = 0
        self.done = threading.Event()

    def Subscribe(self, topic: example_pb2.Topic, _context: grpc.ServicerContext) -> Iterator[example_pb2.Message]:
        if topic.name == TOPIC:
            yield from paced_messages()
            self.done.set()

    def Call(self, request: example_pb2.Message, _context: grpc.ServicerContext) -> example_pb2.Message:
        self.calls += 1
        if self.calls == COUNT:
            self.done.set()
        return request  # echoes the request as the reply


def paced_messages() -> Iterator[example_pb2.Message]:
    message = example_pb2.Message(data=bytes(PAYLOAD_BYTES))
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        yield message


def run_server() -> Server:
    """Run a server until its work is done."""
    service = Server()
    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=OPTIONS)
    example_pb2_grpc.add_ExampleServicer_to_server(service, server)
    server.add_insecure_port(ADDRESS)
    server.start()
    print("ready", flush=True)
    service.done.wait(PATIENCE_S + COUNT / RATE_HZ)
    server.stop(PATIENCE_S).wait()
    return service


def send() -> None:
    run_server()
    print(f"sent {COUNT} messages")


def receive() -> None:
    print("ready", flush=True)
    with grpc.insecure_channel(ADDRESS, OPTIONS) as channel:
        stub = example_pb2_grpc.ExampleStub(channel)
        messages = stub.Subscribe(example_pb2.Topic(name=TOPIC), wait_for_ready=True)
        count = sum(len(message.data) == PAYLOAD_BYTES for message in messages)
    print(f"received {count} messages")


def call() -> None:
    with grpc.insecure_channel(ADDRESS, OPTIONS) as channel:
        stub = example_pb2_grpc.ExampleStub(channel)
        replies = (stub.Call(each, timeout=PATIENCE_S, wait_for_ready=True) for each in paced_messages())
        count = sum(len(reply.data) == PAYLOAD_BYTES for reply in replies)
    print(f"received {count} replies")


def serve() -> None:
    print(f"answered {run_server().calls} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
