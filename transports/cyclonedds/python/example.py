"""Sends messages with Cyclone DDS: start `example.py receive`, then `example.py send` in a second terminal."""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import DDSStatus, WaitSet
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import byte, sequence
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
RELIABILITY = "reliable"  # or best-effort
HISTORY = "keep-last"  # or keep-all: if the queue is full, the writer waits instead of replacing a message
DEPTH = 10
PATIENCE_S = 10.0
DOMAIN = 7
LOOPBACK = """<CycloneDDS><Domain id='any'><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces></General><Discovery>
<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>"""
"""Restricts discovery to this machine, without multicast. By default, DDS searches the whole network for peers."""


@dataclass
@final
class Message(IdlStruct, typename="Message"):
    data: sequence[byte]


def quality() -> Qos:
    reliable = Policy.Reliability.Reliable(max_blocking_time=round(PATIENCE_S * 1e9))
    history = Policy.History.KeepLast(DEPTH) if HISTORY == "keep-last" else Policy.History.KeepAll
    return Qos(reliable if RELIABILITY == "reliable" else Policy.Reliability.BestEffort, history)


def send(topic: Topic) -> None:
    writer = DataWriter(topic.participant, topic, quality())
    until = time.monotonic() + PATIENCE_S
    while not writer.get_matched_subscriptions():  # samples that are written before a reader matches are lost
        if time.monotonic() > until:
            sys.exit("no receiver has subscribed")
        time.sleep(0.01)
    time.sleep(0.5)  # the reader discovers the writer a little later
    payload = [0] * PAYLOAD_BYTES
    begin = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        writer.write(Message(payload))
    writer.wait_for_acks(round(PATIENCE_S * 1e9))
    print(f"sent {COUNT} messages")


def receive(topic: Topic) -> None:
    reader = DataReader(topic.participant, topic, quality())
    reader.set_status_mask(DDSStatus.DataAvailable)
    waiting = WaitSet(topic.participant)
    waiting.attach(reader)
    print("ready", flush=True)
    count = 0
    while count < COUNT and waiting.wait(round(PATIENCE_S * 1e9)):
        samples = reader.take(DEPTH)
        count += sum(each.sample_info.valid_data and len(each.data) == PAYLOAD_BYTES for each in samples)
    print(f"received {count} messages")


if __name__ == "__main__":
    domain = Domain(DOMAIN, LOOPBACK)
    shared = Topic(DomainParticipant(DOMAIN), TOPIC, Message)
    {"send": send, "receive": receive}[sys.argv[1]](shared)
