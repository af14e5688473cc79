"""Sends messages with MPI: `mpirun -n 1 python3 example.py receive : -n 1 python3 example.py send` starts both."""

import sys
import time

from mpi4py import MPI

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TAG = 1
RECEIVER, SENDER = 0, 1  # the ranks of the two programs


def send() -> None:
    payload = bytes(PAYLOAD_BYTES)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        MPI.COMM_WORLD.Send(payload, RECEIVER, TAG)
    print(f"sent {COUNT} messages")


def receive() -> None:
    print("ready", flush=True)
    payload, status = bytearray(PAYLOAD_BYTES), MPI.Status()
    count = 0
    for _ in range(COUNT):
        MPI.COMM_WORLD.Recv(payload, SENDER, TAG, status)  # uses a whole core
        count += status.Get_count() == PAYLOAD_BYTES
    print(f"received {count} messages")


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]]()
