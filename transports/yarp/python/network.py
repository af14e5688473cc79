"""The state that all link ends of a process share: YARP's network, port names and connections."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path
from typing import Any

from hopmeter.node.contract import AdapterError, Link, Setup
from hopmeter.node.loading import search_path

# YARP installs its Python module and its carrier plugins in places that neither Python nor YARP searches.
ROOT = Path(os.environ.get("YARP_ROOT", ""))
os.environ.setdefault("YARP_DATA_DIRS", f"{ROOT}/share/yarp")
with search_path(*ROOT.glob("lib/python3*/*-packages")):
    import yarp

PATIENCE_S = 10.0
"""The timeout in seconds: longer than a busy machine takes to answer, but short enough for a waiting user."""
TRIES = 20
"""How many port numbers to try, because the name server may assign a number that another program uses."""


def carrier_between(source: str, sink: str) -> str:
    """Return the YARP carrier of a connection, as the connected port reports it, or an empty string if the port does
    not report a carrier."""
    reply = yarp.Bottle()
    is_admin, is_quiet = True, True
    question = yarp.Bottle(f"list in {source}")
    yarp.Network.write(yarp.Contact(sink), question, reply, is_admin, is_quiet, PATIENCE_S)
    return str(reply.find("carrier").asString())


class Network:
    """The YARP network of this process, which is open until `close` is called."""

    def __init__(self, setup: Setup) -> None:
        self.settings = setup.settings
        self._next = itertools.count()
        self._carriers: set[str] = set()
        self._asking, self._shutting = threading.Lock(), threading.Lock()
        """Locks for connections to the name server, which queues only two.

        YARP retries any other connection after 1 s, then after 2, 4, 8 and 16 s.
        """
        self._yarp_network = yarp.Network(yarp.YARP_CLOCK_SYSTEM)
        if not yarp.Network.checkNetwork(PATIENCE_S):
            raise AdapterError(f"there is no yarpserver at {setup.broker}", "see its log")

    def open(self, port: Any, link: Link) -> str:
        """Open a port of any kind for a link end. Return the port's unique name."""
        for _ in range(TRIES):
            name = f"/hopmeter/{link.name}/{os.getpid()}_{next(self._next)}"
            with self._asking:
                if port.open(name):
                    return name
        raise AdapterError(f"YARP cannot open a port for the link {link.name}", "see the node's log")

    def close_port(self, port: Any) -> None:
        """Close a port.

        Closing a port contacts the name server, and all link ends of a process close their ports at once. Closing a
        port has a lock of its own, not `_asking`, because closing waits until pending messages are sent, for which YARP
        may have to reconnect.
        """
        with self._shutting:
            port.close()

    def demand_replies(self) -> None:
        """Raise an error if the YARP carrier cannot send replies, which rpc links need."""
        if self.settings["carrier"] == "udp":
            raise AdapterError("YARP's carrier udp cannot send replies", "choose another carrier for calls")

    def connects(self, source: str, sink: str) -> bool:
        """Connect two ports by name. Return whether that succeeded."""
        with self._asking:
            connected = bool(yarp.Network.connect(source, sink, self.settings["carrier"]))
            if connected:
                self._carriers.add(carrier_between(source, sink))
            return connected

    def connect(self, source: str, sink: str) -> None:
        """Connect two ports by name. Raise an error if that fails."""
        if not self.connects(source, sink):
            raise AdapterError(
                f"YARP cannot connect {source} to {sink} by {self.settings['carrier']}",
                "`yarp connect --list-carriers` lists the carriers that your YARP has",
            )

    def facts(self) -> dict[str, str]:
        """Return the YARP carriers that connect the link ends of this process, as facts."""
        asked, carriers = self.settings["carrier"], ", ".join(sorted(self._carriers - {""}))
        told = {"path": f"ports connected by the carrier {carriers}"} if carriers else {}
        return (
            told if carriers in ("", asked) else {**told, "fallback": f"YARP did not use the requested carrier {asked}"}
        )

    def close(self) -> None:
        """Release the network. Call this method after the last port has been closed."""
        yarp.Network.fini()
