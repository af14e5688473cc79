"""A man in the middle that forwards the lines between a coordinator and an agent, and tampers with two lines."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Meddling = Callable[[bytes, bytes], list[bytes]]
"""A function that returns the lines to forward instead of two consecutive lines."""
MEDDLINGS: dict[str, Meddling] = {
    "changed": lambda one, two: [one.replace(b'"id":', b'"id":1', 1), two],
    "inserted": lambda one, two: [one, b'{"say":"ask","id":9,"do":"ping"}\n', two],
    "repeated": lambda one, two: [one, one, two],
    "reordered": lambda one, two: [two, one],
    "left out": lambda _, two: [two],
}


def _pump(source: socket.socket, target: socket.socket, meddle: Meddling | None, first: int) -> None:
    """Forward lines; `meddle` receives line number `first` and the next line."""
    lines = source.makefile("rb")
    held: list[bytes] = []
    with suppress(OSError):  # one side has disconnected
        for number, line in enumerate(lines):
            passed = [line]
            if meddle and first <= number <= first + 1:
                held.append(line)
                passed = meddle(*held) if len(held) == 2 else []
            target.sendall(b"".join(passed))
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def man_in_the_middle(port: int, to_agent: Meddling | None, to_coordinator: Meddling | None) -> Iterator[int]:
    """Return the port at which one coordinator reaches the agent through the man in the middle.

    The tampering starts after the authentication and the greeting: two lines in one direction, and three in the
    opposite direction.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            near = server.accept()[0]
            far = socket.create_connection(("127.0.0.1", port))
            with near, far:
                ways = [(near, far, to_agent, 2), (far, near, to_coordinator, 3)]
                threads = [threading.Thread(target=_pump, args=each) for each in ways]
                for each in threads:
                    each.start()
                for each in threads:
                    each.join()

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(20)
        assert not thread.is_alive()
