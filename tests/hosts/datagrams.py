"""Send numbered datagrams between two hosts, and record the times on both sides.

Run `receive ADDRESS` on one host and `send ADDRESS` on the other.
"""

from __future__ import annotations

import socket
import sys
import time

PORT = 7000
END = -1


def receive(address: str) -> None:
    """Print the number, send time and arrival time of each datagram, until the datagram with the number END."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((address, PORT))
        print("ready", flush=True)
        number = 0
        while number != END:
            number, sent = map(int, own.recv(100).split())
            print(number, sent, time.monotonic_ns(), flush=True)


def send(address: str) -> None:
    """Send a datagram for each number in the input, and confirm each datagram on standard output."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        for number in sys.stdin:
            own.sendto(f"{int(number)} {time.monotonic_ns()}".encode(), (address, PORT))
            print("sent", flush=True)


if __name__ == "__main__":
    {"receive": receive, "send": send}[sys.argv[1]](sys.argv[2])
