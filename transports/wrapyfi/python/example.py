"""Sends arrays with Wrapyfi through its broker: start `example.py broker`, then `example.py receive`, then
`example.py send`, each in a terminal.
"""

import logging
import sys
import time
from typing import Any

import numpy as np
from wrapyfi.connect.wrapper import MiddlewareCommunicator
from wrapyfi.middlewares.zeromq import ZeroMQMiddlewarePubSub

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:5555"
SENDER_PORT = "5556"  # senders connect to the broker at this port, receivers at ADDRESS
HWM = 1000
PATIENCE_S = 10.0
HOST, RECEIVER_PORT = ADDRESS.split(":")
OPTIONS = {
    "socket_ip": HOST,
    "socket_pub_port": int(RECEIVER_PORT),
    "socket_sub_port": int(SENDER_PORT),
    "start_proxy_broker": False,
    "start_pubsub_monitor_broker": False,
    "should_wait": False,
    "zeromq_kwargs": {"zeromq_post_kwargs": {"SNDHWM": HWM, "RCVHWM": HWM}},
}
logging.getLogger().setLevel(logging.ERROR)


class Messages(MiddlewareCommunicator):
    # A ZeroMQ subscription matches all topics with the given prefix; the slash marks the end of the topic.
    @MiddlewareCommunicator.register("NativeObject", "zeromq", "Messages", f"/{TOPIC}/", **OPTIONS)
    def exchange(self, message: Any = None) -> tuple[Any]:
        """Publish a message, or return the received message."""
        return (message,)


def broker() -> None:
    """Run until Ctrl-C."""
    ZeroMQMiddlewarePubSub.proxy_thread(f"tcp://{HOST}:{RECEIVER_PORT}", f"tcp://{HOST}:{SENDER_PORT}")


def send() -> None:
    messages = Messages()
    messages.activate_communication(messages.exchange, mode="publish")
    payload = np.zeros(PAYLOAD_BYTES, np.uint8)
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        messages.exchange(payload)  # the first call connects, and waits until the broker knows the publisher
    messages.close()
    print(f"sent {COUNT} messages")


def receive() -> None:
    messages = Messages()
    messages.activate_communication(messages.exchange, mode="listen")
    messages.exchange()  # the first call connects
    print("ready", flush=True)
    count, until = 0, time.monotonic() + PATIENCE_S
    while count < COUNT and time.monotonic() < until:
        (message,) = messages.exchange()
        if message is None:
            time.sleep(0.001)  # Wrapyfi has no call that waits with a timeout
        else:
            count += message.nbytes == PAYLOAD_BYTES
            until = time.monotonic() + PATIENCE_S
    messages.close()
    print(f"received {count} messages")


if __name__ == "__main__":
    {"broker": broker, "send": send, "receive": receive}[sys.argv[1]]()
