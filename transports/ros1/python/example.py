"""Sends messages with rospy: start `example.py receive`, then `example.py send` in a second terminal. The programs find
the rosmaster by the variable ROS_MASTER_URI.
"""

import contextlib
import queue
import sys
import time

import rospy
from std_msgs.msg import UInt8MultiArray

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
QUEUE = 100
NODELAY = False
BUFFER = 65536
PATIENCE_S = 10.0


def wait_for(publisher: rospy.Publisher, receivers: int) -> bool:
    """Wait until the publisher has this number of receivers. Return False after a timeout."""
    until = time.monotonic() + PATIENCE_S
    while publisher.get_num_connections() != receivers and time.monotonic() < until:
        time.sleep(0.01)
    return publisher.get_num_connections() == receivers


def send() -> None:
    publisher = rospy.Publisher(TOPIC, UInt8MultiArray, queue_size=QUEUE)
    if not wait_for(publisher, 1):  # messages that are sent before a receiver connects are lost
        sys.exit("no receiver has subscribed")
    message = UInt8MultiArray(data=bytes(PAYLOAD_BYTES))
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        publisher.publish(message)
    wait_for(publisher, 0)  # wait until the receiver has disconnected, because queued messages would be lost
    print(f"sent {COUNT} messages")


def receive() -> None:
    arrived: queue.Queue[UInt8MultiArray] = queue.Queue()
    options = {"queue_size": QUEUE, "buff_size": BUFFER, "tcp_nodelay": NODELAY}
    subscriber = rospy.Subscriber(TOPIC, UInt8MultiArray, arrived.put, **options)
    print("ready", flush=True)
    count = 0
    with contextlib.suppress(queue.Empty):
        while count < COUNT:
            count += len(arrived.get(timeout=PATIENCE_S).data) == PAYLOAD_BYTES
    subscriber.unregister()
    print(f"received {count} messages")


if __name__ == "__main__":
    rospy.init_node("example", anonymous=True, disable_signals=True)
    {"send": send, "receive": receive}[sys.argv[1]]()
