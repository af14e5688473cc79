"""The adapter for RabbitMQ with pika: exchanges and queues of a broker. ../README.md describes the wire format.

Every link end has its own `BlockingConnection`, because only one thread at a time may use such a connection.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import Basic, BasicProperties

from hopmeter.node.base import BaseTransport, opens, package_version
from hopmeter.node.buffers import BytesBuffer
from hopmeter.node.contract import Fill, Handle, Link, Take

PERSISTENT = 2
REPLIES_OF_THIS_CHANNEL = "amq.rabbitmq.reply-to"
"""The queue with which RabbitMQ sends replies to the channel that sent the request (direct reply-to)."""

Delivery = tuple[Basic.Deliver, BasicProperties, bytes]


class End:
    """A link end with its own connection and channel."""

    address = ""

    def __init__(self, transport: Transport, link: Link) -> None:
        self.name, self.settings = link.name, transport.settings
        self.connection = pika.BlockingConnection(pika.URLParameters(f"amqp://{transport.setup.broker}/%2f"))
        self.channel = self.connection.channel()
        self._buffer = BytesBuffer()
        self._arrived: deque[Delivery] = deque()
        self._acknowledges = False

    def publish(
        self, exchange: str, key: str, payload_bytes: int, fill: Fill, properties: BasicProperties | None = None
    ) -> bool:
        """Send a frame. pika copies the frame into AMQP frames, and returns when the socket has accepted the AMQP
        frames."""
        self.channel.basic_publish(exchange, key, self._buffer.fill(payload_bytes, fill), properties)
        return True

    def declare_exchange(self) -> None:
        """Declare the exchange of the link, which passes each message to the queues of all subscribers."""
        self.channel.exchange_declare(self.name, "fanout", durable=self.settings["persistent"])

    def declare_queue(self, name: str, durable: bool) -> str:
        """Declare a queue that the broker deletes when the queue's receiver disconnects. If `name` is empty, the broker
        chooses the queue's name."""
        declared = self.channel.queue_declare(name, durable=durable, exclusive=not durable, auto_delete=True)
        return str(declared.method.queue)

    def consume(self, queue: str, acknowledges: bool) -> None:
        """Start receiving from a queue."""
        self._acknowledges = acknowledges
        if acknowledges and self.settings["prefetch"]:
            self.channel.basic_qos(prefetch_count=self.settings["prefetch"])
        self.channel.basic_consume(queue, self._keep, auto_ack=not acknowledges)

    def _keep(self, _: BlockingChannel, method: Basic.Deliver, properties: BasicProperties, body: bytes) -> None:
        self._arrived.append((method, properties, body))

    def next_delivery(self, timeout_s: float) -> Delivery | None:
        """Return the next message, or None after the timeout."""
        if not self._arrived:
            self.connection.process_data_events(time_limit=timeout_s)
        return self._arrived.popleft() if self._arrived else None

    def acknowledge(self, method: Basic.Deliver) -> None:
        if self._acknowledges:
            self.channel.basic_ack(method.delivery_tag)

    def close(self) -> None:
        """Close the connection, unless the broker has already closed it."""
        if self.connection.is_open:
            self.connection.close()


class Publisher(End):
    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link)
        self.declare_exchange()
        if self.settings["confirms"]:
            self.channel.confirm_delivery()  # from now on, basic_publish waits for the confirmation
        self._properties = BasicProperties(delivery_mode=PERSISTENT) if self.settings["persistent"] else None

    def send(self, payload_bytes: int, fill: Fill) -> bool:
        return self.publish(self.name, "", payload_bytes, fill, self._properties)

    def forward(self, native: bytes) -> bool:
        self.channel.basic_publish(self.name, "", native, self._properties)
        return True


class Receiver(End):
    """Passes received messages on as frames."""

    def poll(self, timeout_s: float, take: Take) -> int:
        delivery = self.next_delivery(timeout_s)
        if delivery is None:
            return 0
        method, _, body = delivery
        take(body, native=body)
        self.acknowledge(method)
        return 1


class Subscriber(Receiver):
    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link)
        self.declare_exchange()
        queue = self.declare_queue("", self.settings["persistent"])
        self.channel.queue_bind(queue, self.name)
        self.consume(queue, self.settings["acknowledge"])


class Client(Receiver):
    """Receives replies on the channel that sends the requests. RabbitMQ requires that clients do not acknowledge
    replies."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link)
        self.consume(REPLIES_OF_THIS_CHANNEL, acknowledges=False)
        self._properties = BasicProperties(reply_to=REPLIES_OF_THIS_CHANNEL)

    def start(self, payload_bytes: int, fill: Fill) -> bool:
        return self.publish("", self.name, payload_bytes, fill, self._properties)


class Server(End):
    """Receives requests in a queue with the link's name."""

    def __init__(self, transport: Transport, link: Link) -> None:
        super().__init__(transport, link)
        self.consume(self.declare_queue(self.name, durable=False), self.settings["acknowledge"])

    def poll(self, timeout_s: float, handle: Handle) -> int:
        delivery = self.next_delivery(timeout_s)
        if delivery is None:
            return 0
        method, properties, body = delivery
        reply_to: Any = properties.reply_to
        handle(body, lambda size, fill: self.publish("", reply_to, size, fill) if reply_to else True)
        self.acknowledge(method)
        return 1


class Transport(BaseTransport):
    version = package_version("pika")
    path = "TCP through RabbitMQ"
    publisher = opens(Publisher)
    subscriber = opens(Subscriber)
    server = opens(Server)
    client = opens(Client)
