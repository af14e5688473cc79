"""Streaming ports: ports that write, ports that are polled, and ports with a callback."""

from __future__ import annotations

import threading
from typing import Any

from hopmeter.node.contract import AdapterError, Fill, Link, Take

from .images import bytes_of, write
from .network import Network, yarp


class Writing:
    """Writes each image on the caller's thread, to one receiver after another."""

    def __init__(self, network: Network, link: Link) -> None:
        self._network, self._image, self._port = network, yarp.ImageMono(), yarp.Port()
        self._port.setInputMode(False)
        self.address = network.open(self._port, link)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        write(self._image, payload_bytes, fill)
        return self.forward(self._image)

    def forward(self, native: Any) -> bool:
        """Send a received message.

        The write fails if any receiver has disconnected, but all other receivers have received the frame.
        """
        self._port.write(native)
        return True

    def close(self) -> None:
        self._network.close_port(self._port)


class Buffered:
    """Passes an image to the YARP thread of each receiver."""

    def __init__(self, network: Network, link: Link) -> None:
        self._network, self._port = network, yarp.BufferedPortImageMono()
        self.address = network.open(self._port, link)

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        if self._port.isWriting():  # YARP skips a receiver whose thread is still writing
            return False
        write(self._port.prepare(), payload_bytes, fill)
        self._port.write()
        return True

    def close(self) -> None:
        self._network.close_port(self._port)


class Polled:
    """A polled receiver, which takes messages from a buffer that the connection's thread fills."""

    def __init__(self, network: Network, link: Link) -> None:
        self._network, self._port = network, yarp.BufferedPortImageMono()
        self._port.setStrict(network.settings["read"] == "strict")
        network.connect(link.address, network.open(self._port, link))

    def poll(self, timeout_s: float, take: Take) -> int:
        image = self._port.read(False)
        if image is None:
            return 0
        take(bytes_of(image), native=image)
        return 1

    def close(self) -> None:
        self._network.close_port(self._port)


class Called(yarp.PortReader):  # type: ignore[misc]
    """A receiver whose callback runs on the thread that reads the connection.

    If `keeps` is true, each frame has its own image, so that the frame stays valid after the callback returns.
    """

    def __init__(self, network: Network, link: Link, on_frame: Take, keeps: bool = False) -> None:
        super().__init__()
        if not keeps and network.settings["callback"] == "buffered":
            raise AdapterError("Python has no callback of a BufferedPort of images", 'set callback = "direct"')
        self._on_frame, self._turn = on_frame, threading.Lock()
        self._keeps, self._image = keeps, yarp.ImageMono()
        self._network, self._port = network, yarp.Port()
        self._port.setOutputMode(False)
        self._port.setReader(self)
        network.connect(link.address, network.open(self._port, link))

    def read(self, connection: Any) -> bool:
        """Take a message from YARP, which calls this method. A lock prevents concurrent calls, because two connections
        may exist during a reconnection."""
        with self._turn:
            if not connection.isValid() or not self._image.read(connection):
                return False
            image = self._image
            if self._keeps:
                self._image = yarp.ImageMono()
            self._on_frame(bytes_of(image), native=image)
            return True

    def close(self) -> None:
        self._network.close_port(self._port)
