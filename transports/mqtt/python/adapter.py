"""The adapter for MQTT with paho-mqtt: topics through a broker. ../README.md describes the wire format."""

from __future__ import annotations

import socket
from typing import Any

from paho.mqtt.client import MQTT_ERR_QUEUE_SIZE, MQTT_ERR_SUCCESS, Client, MQTTMessage, error_string
from paho.mqtt.enums import CallbackAPIVersion

from hopmeter.node.base import BaseTransport, package_version
from hopmeter.node.contract import HEADER_BYTES, AdapterError, Fill, Link, Setup, Take
from hopmeter.node.credentials import connection_kind, credential, uses_tls

KEEP_ALIVE_S = 600


def demand(code: int, doing: str) -> None:
    """Raise an error with the library's text if `code` is an error code."""
    if code != MQTT_ERR_SUCCESS:
        raise AdapterError(f"{doing}: {error_string(code)}", "read the broker's log")


class Publisher:
    """A publisher. paho's thread writes the bytes that the socket does not accept immediately, and sends
    acknowledgements."""

    def __init__(self, client: Client, topic: str, qos: int) -> None:
        self.address = ""
        self._client, self._topic, self._qos = client, topic, qos
        self._client.loop_start()

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        frame = bytearray(HEADER_BYTES + payload_bytes)
        fill(frame)
        return self._publish(frame)

    def forward(self, native: bytes) -> bool:
        """Send the received bytes without a copy."""
        return self._publish(native)

    def _publish(self, frame: Any) -> bool:
        code = self._client.publish(self._topic, frame, self._qos).rc
        if code == MQTT_ERR_QUEUE_SIZE:
            return False
        demand(code, "publishing at mosquitto")
        return True

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class Subscriber:
    """A subscriber whose polling thread handles the connection."""

    def __init__(self, client: Client, topic: str, qos: int) -> None:
        self._client, self._frames = client, 0
        self._take: Take | None = None
        client.on_message = self._on_message
        demand(client.subscribe(topic, qos)[0], "subscribing at mosquitto")

    def _on_message(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        if self._take is not None:
            self._take(message.payload, native=message.payload)
            self._frames += 1

    def poll(self, timeout_s: float, take: Take) -> int:
        self._take, self._frames = take, 0
        demand(self._client.loop(timeout_s), "receiving from mosquitto")
        self._take = None
        return self._frames

    def close(self) -> None:
        self._client.on_message = None
        self._client.disconnect()
        # Without paho's thread, only paho's loop closes the socket.
        while self._client.socket() is not None and self._client.loop(0.1) == MQTT_ERR_SUCCESS:
            pass


class Called:
    """A receiver with a callback on paho's own thread."""

    def __init__(self, client: Client, topic: str, qos: int, on_frame: Take) -> None:
        self._client = client
        client.on_message = lambda _client, _data, message: on_frame(message.payload, native=message.payload)
        demand(client.subscribe(topic, qos)[0], "subscribing at mosquitto")
        client.loop_start()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class Transport(BaseTransport):
    version = package_version("paho-mqtt")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.path = f"{connection_kind(setup)} through mosquitto"
        self._qos = self.settings["qos"]

    def _connect(self) -> Client:
        """Return a new connection for one link end."""
        client = Client(CallbackAPIVersion.VERSION2)
        client.suppress_exceptions = False
        client.max_inflight_messages_set(self.settings["inflight"])
        credentials, _, place = self.setup.broker.rpartition("@")
        if credentials:
            client.username_pw_set(*credentials.split(":"))
        if uses_tls(self.setup):
            client.tls_set(str(credential(self.setup, "ca.pem")))
        host, _, port = place.partition(":")
        demand(client.connect(host, int(port), KEEP_ALIVE_S), "connecting to mosquitto")
        if connection := client.socket():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(self.settings["nodelay"]))
        return client

    def publisher(self, link: Link) -> Publisher:
        return Publisher(self._connect(), link.name, self._qos)

    def subscriber(self, link: Link) -> Subscriber:
        return Subscriber(self._connect(), link.name, self._qos)

    def subscribe(self, link: Link, on_frame: Take) -> Called:
        return Called(self._connect(), link.name, self._qos, on_frame)
