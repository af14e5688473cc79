"""Sends messages as UDP datagrams: start `example.py receive`, then `example.py send` in a second terminal.

For calls, start `example.py serve`, then `example.py call`. UDP confirms nothing: a datagram that finds the receive
buffer full is lost.
"""

import socket
import sys
import time

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
ADDRESS = "127.0.0.1:9000"
SEND_BUFFER = 0  # bytes; 0 keeps the system's default
RECEIVE_BUFFER = 0
PATIENCE_S = 10.0
HOST, PORT = ADDRESS.rsplit(":", 1)


def datagram_socket() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.settimeout(PATIENCE_S)
    for option, size in ((socket.SO_SNDBUF, SEND_BUFFER), (socket.SO_RCVBUF, RECEIVE_BUFFER)):
        if size:
            made.setsockopt(socket.SOL_SOCKET, option, size)
    return made


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    with datagram_socket() as sender:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            sender.sendto(payload, (HOST, int(PORT)))
    print(f"sent {COUNT} messages")


def receive() -> None:
    count = 0
    with datagram_socket() as receiver:
        receiver.bind((HOST, int(PORT)))
        print("ready", flush=True)
        try:
            while count < COUNT:
                count += len(receiver.recv(65_536)) == PAYLOAD_BYTES
        except TimeoutError:
            pass
    print(f"received {count} messages")


def call() -> None:
    payload = bytes(PAYLOAD_BYTES)
    count = 0
    with datagram_socket() as client:
        client.connect((HOST, int(PORT)))  # discards datagrams of other senders
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            client.send(payload)
            count += len(client.recv(65_536)) == PAYLOAD_BYTES
    print(f"received {count} replies")


def serve() -> None:
    count = 0
    with datagram_socket() as server:
        server.bind((HOST, int(PORT)))
        print("ready", flush=True)
        try:
            while count < COUNT:
                request, client = server.recvfrom(65_536)
                server.sendto(request, client)  # echoes the request as the reply
                count += 1
        except TimeoutError:
            pass
    print(f"answered {count} calls")


if __name__ == "__main__":
    {"send": send, "receive": receive, "call": call, "serve": serve}[sys.argv[1]]()
