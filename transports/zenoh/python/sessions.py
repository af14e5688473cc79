"""The sessions of a node and their peers; see ../README.md."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable

import zenoh

from hopmeter.node.contract import AdapterError, Setup
from hopmeter.node.mapped_files import mapped_files

PORTS_TRIED = 20
WAKE_S = 0.05
MARGIN_BYTES = 65_536
"""The maximum number of bytes that zenoh adds to a frame, with a margin for its own messages."""


class Sessions:
    """The zenoh sessions of a node, and the shared memory that these sessions leave behind.

    If the setting `session` is `shared`, all binding ends share one listening session, and connecting ends share one
    session per address. Otherwise, each link end has its own session.
    """

    def __init__(self, setup: Setup) -> None:
        self.reach_others = False
        self._message_bytes = setup.largest_frame_bytes + MARGIN_BYTES
        self._bind, self._advertised = setup.bind, setup.advertised
        self._shared_memory: str = setup.settings["shared_memory"]
        self._shares_sessions = setup.settings["session"] == "shared"
        self._opening = threading.Lock()
        self._listening: tuple[zenoh.Session, str] | None = None
        self._connected: dict[str, zenoh.Session] = {}
        self._all: list[zenoh.Session] = []

    def listening_session(self) -> tuple[zenoh.Session, str]:
        """Return the session for a link end that binds, and the session's address."""
        with self._opening:
            if self._listening is None or not self._shares_sessions:
                self._listening = self._listen()
            return self._listening

    def session_to(self, address: str) -> zenoh.Session:
        """Return the session for a link end that connects."""
        with self._opening:
            if self._shares_sessions and self._listening is not None and self._listening[1] == address:
                return self._listening[0]
            self.reach_others = True
            if address not in self._connected or not self._shares_sessions:
                self._connected[address] = self._open("connect/endpoints", address)
            return self._connected[address]

    def _listen(self) -> tuple[zenoh.Session, str]:
        """Open a listening session on a free port. The port is chosen before the session opens, because the Python API
        does not report which port zenoh chose."""
        for _ in range(PORTS_TRIED):
            with socket.create_server((self._bind, 0)) as probe:
                port = probe.getsockname()[1]
            try:
                return self._open("listen/endpoints", f"tcp/{self._bind}:{port}"), f"tcp/{self._advertised}:{port}"
            except zenoh.ZError as taken:
                refusal = taken
        raise AdapterError(
            f"zenoh could not listen on any of {PORTS_TRIED} free ports", "read its error message"
        ) from refusal

    def _open(self, key: str, address: str) -> zenoh.Session:
        config = zenoh.Config()
        for name, value in {
            "mode": "peer",
            "scouting/multicast/enabled": False,
            "scouting/gossip/enabled": False,
            "listen/endpoints": [],
            "connect/exit_on_failure": True,
            "connect/timeout_ms": 10_000,
            "transport/link/rx/max_message_size": self._message_bytes,
            "transport/shared_memory/enabled": self._shared_memory != "off",
            "transport/shared_memory/transport_optimization/enabled": self._shared_memory == "auto",
            key: [address],
        }.items():
            config.insert_json5(name, json.dumps(value))
        self._all.append(zenoh.open(config))
        return self._all[-1]

    def close(self) -> None:
        """Close all sessions and remove their shared memory.

        All shared memory that this process has mapped belongs to this trial, and the peers have finished measuring, so
        nobody else needs it.
        """
        left = mapped_files(r"\S*\.zenoh") if self._shared_memory != "off" else set()
        for session in self._all:
            session.close()
        for segment in left:
            segment.unlink(missing_ok=True)


class Waker:
    """Ends a call of zenoh's native `recv`, which has no timeout. Every 50 ms, `wake` sends an empty message to each
    receiver that has been asleep since the previous check."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake, self._closed = wake, threading.Event()
        self.waits = 0
        self._thread = threading.Thread(target=self._run, name="wake", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        before = -1
        while not self._closed.wait(WAKE_S):
            if self.waits == before:
                self._wake()
            before = self.waits

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
