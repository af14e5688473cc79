"""Measure a round trip over eCAL alone, in acknowledged shared memory.

`ecal_alone.py BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.py. The
callback of a second process sends each message back on another topic. As in a hopmeter ring, a round trip ends when the
callback has the message, and the next round trip begins immediately. A separate thread sends and waits. Only the first
bytes of each reply are compared, because comparing 1 MB would give the other process time to finish its work.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import tempfile
import time
from typing import Any

import bare
import ecal.nanobind_core as ecal

ACKNOWLEDGE_MS, FIND_S, ANSWER_S, END_S = 500, 0.1, 10.0, 3
THERE, BACK = "there", "back"
CALLING = b"?"
TRIES = 200
HEAD = 64


def configure(port: int) -> Any:
    """Return the adapter's default eCAL configuration: shared memory only, and acknowledged sends."""
    config = ecal.Configuration()
    config.registration.local.udp.port = config.registration.network.udp.port = port
    config.transport_layer.udp.port = port + 1
    for end in (config.publisher, config.subscriber):
        end.layer.shm.enable, end.layer.udp.enable, end.layer.tcp.enable = True, False, False
    config.publisher.layer.shm.acknowledge_timeout_ms = ACKNOWLEDGE_MS
    return config


def open_publisher(config: Any, name: str) -> Any:
    """Initialise eCAL and open a publisher; call this function after the fork."""
    if not ecal.initialize(config, name, ecal.init.PUBLISHER | ecal.init.SUBSCRIBER):
        raise SystemExit("eCAL does not start")
    return ecal.Publisher(name, config=config.publisher)


def pass_on(config: Any) -> None:
    """Send frames back until SIGTERM, then finalise eCAL; otherwise its shared-memory files would remain."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    publisher = open_publisher(config, BACK)
    subscriber = ecal.Subscriber(THERE, config=config.subscriber)
    subscriber.set_receive_callback(lambda _topic, _type, data: publisher.send(data.buffer))
    signal.sigwait({signal.SIGTERM})
    # The alarm ends the process if eCAL deadlocks with a pending call, which can happen after a SIGKILL.
    signal.alarm(END_S)
    subscriber.set_receive_callback(lambda *_: None)
    ecal.finalize()
    os._exit(0)


def median_ns(config: Any, frame: bytes, rounds: int) -> int:
    """Send messages until the other process answers, then measure. Return the median round trip in ns."""
    publisher, came = open_publisher(config, THERE), queue.SimpleQueue[tuple[int, bytes]]()

    def receive(_topic: Any, _type: Any, data: Any) -> None:
        message = data.buffer
        came.put((time.monotonic_ns(), message))

    def round_trip() -> int:
        begun_ns = time.monotonic_ns()
        publisher.send(frame)
        arrived_ns, message = came.get(timeout=ANSWER_S)
        if len(message) != len(frame) or message[:HEAD] != frame[:HEAD]:
            raise SystemExit("the message that came back is not the message that was sent")
        return arrived_ns - begun_ns

    subscriber = ecal.Subscriber(BACK, config=config.subscriber)
    subscriber.set_receive_callback(receive)
    find(publisher, came)
    return bare.median_ns(round_trip, rounds)


def find(publisher: Any, came: queue.SimpleQueue[tuple[int, bytes]]) -> None:
    """Send messages until the other process answers. The answer arrives before an acknowledged send returns."""
    for _ in range(TRIES):
        publisher.send(CALLING)
        try:
            came.get(timeout=FIND_S)
        except queue.Empty:
            continue
        return
    raise SystemExit("the other process does not answer")


def main(frame: bytes, rounds: int, cores: str) -> None:
    """Measure with a private eCAL configuration and an unused port."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(type=socket.SOCK_DGRAM) as probe:
        os.environ["ECAL_DATA"] = os.environ["ECAL_LOG_DIR"] = folder
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        bare.pin(cores)
        child = bare.other_process(cores)
        if child == 0:
            pass_on(configure(port))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            print(median_ns(configure(port), frame, rounds))
        finally:
            bare.end(child)
            ecal.finalize()


if __name__ == "__main__":
    main(os.urandom(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3])
