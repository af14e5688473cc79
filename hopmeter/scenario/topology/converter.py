"""Converts a topology of iRobot's ros2-performance to a workload. The module `nodes` reads the topology files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.scenario.topology.nodes import (
    ENDS,
    LONGEST_NAME,
    NODE_KEYS,
    End,
    Node,
    name_nodes,
    read_files,
    topology_error,
    unique_name,
)
from hopmeter.scenario.topology.qos import PREFIX, flow_policies, other_policies, settings_for

TOO_LATE_MS = 50
"""The maximum deadline. The benchmark's deadline is the message's period, but at most this many milliseconds."""
DURATION_S = 5
UNIT_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20}
END_KEYS = {*ENDS.values(), "msg_type", "srv_type", "msg_size", "period_ms", "freq_hz"}
"""The keys of publishers, subscribers, clients and servers that are converted."""
OWN = "own"
"""The name suffix of the additional participant that receives the messages that a node sends to itself."""
OTHER_SIDE = "name the file of the other side too, with a second --from"
ALONE = "none of its messages has both a sender and a receiver"


@dataclass
class Graph:
    """A workload's participants, flows and settings, and notes about parts of the topology that were changed or
    omitted."""

    participants: list[str] = field(default_factory=list)
    flows: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The quality of service of each flow."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_topology(paths: Sequence[Path]) -> Graph:
    """Return the workload for a topology's files. Raises UsageError if the files are not a valid topology."""
    written, notes = read_files(paths)
    try:
        graph = convert_nodes(name_nodes(written))
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        said = f"{cause.args[0]!r} is missing" if isinstance(cause, KeyError) else str(cause)
        raise topology_error(paths[0], said) from cause
    graph.notes += notes
    return graph


def convert_nodes(nodes: Sequence[Node]) -> Graph:
    """Return the workload for the given nodes.

    Raises KeyError, TypeError or ValueError if a node is incomplete or invalid.
    """
    graph = Graph()
    for node in nodes:
        for sender in node.ends("publishers"):
            _add_flow(graph, sender, "msg_type", _ends(nodes, "subscribers", sender.topic))
        for sender in node.ends("clients"):
            _add_call(graph, sender, _ends(nodes, "servers", sender.topic))
    if not graph.flows:
        raise ValueError("; ".join([*(note.rstrip(".") for note in graph.notes), f"{ALONE}; {OTHER_SIDE}"]))
    graph.settings, notes = settings_for(graph.policies)
    graph.notes += [*notes, *other_policies(nodes), *_rest(graph, nodes)]
    return graph


def _ends(nodes: Iterable[Node], kind: str, topic: str) -> list[End]:
    return [end for node in nodes for end in node.ends(kind) if end.topic == topic]


def _add_call(graph: Graph, sender: End, servers: list[End]) -> None:
    """Add a client's calls.

    If several servers exist, only the first one replies, because ROS 2 uses only the first reply.
    """
    if len(servers) > 1:
        named = ", ".join(end.node for end in servers)
        graph.notes.append(f"{sender.node} calls {sender.topic}, which {named} serve: {servers[0].node} alone answers.")
    _add_flow(graph, sender, "srv_type", servers[:1])


def _add_flow(graph: Graph, sender: End, type_key: str, receivers: list[End]) -> None:
    """Add a flow with a publisher's messages or a client's calls."""
    mine, topic = sender.node, sender.topic
    is_call = type_key == "srv_type"
    if not receivers:
        verb = "serves" if is_call else "receives"
        graph.notes.append(f"Not part of the workload: {topic} of {mine}, which no node {verb}.")
        return
    try:
        size = type_bytes(sender.keys[type_key], sender.keys.get("msg_size"))
    except ValueError as unknown:
        graph.notes.append(f"Not part of the workload: {topic} of {mine}: {unknown}.")
        return
    targets = [_target(graph, mine, end.node, topic) for end in receivers]
    graph.notes += [
        f"{target} subscribes to {topic} {many} times: it receives each message once."
        for target, many in Counter(targets).items()
        if many > 1
    ]
    targets, rate = list(dict.fromkeys(targets)), _rate(sender)
    name = _flow_name(graph, topic, mine)
    graph.flows[name] = {
        "from": mine,
        "call" if is_call else "to": targets[0] if len(targets) == 1 else targets,
        "payload": f"bytes:{size}",
        "rate": int(rate) if rate.is_integer() else rate,
        "deadline": f"{min(1000 / rate, TOO_LATE_MS):.9g}ms",
    }
    if not is_call:
        graph.policies[name] = flow_policies([sender, *receivers])
    if 1 / rate > DURATION_S:
        graph.notes.append(f"{name} sends one message in each trial: its period, {1 / rate:g} s, is longer.")
    graph.participants += [each for each in (mine, *targets) if each not in graph.participants]


def _target(graph: Graph, sender: str, receiver: str, topic: str) -> str:
    """Return the participant that receives a node's messages.

    If a node sends to itself, a second participant receives, because a participant cannot send to itself.
    """
    if receiver != sender:
        return receiver
    own = f"{sender[: LONGEST_NAME - len(OWN) - 1]}-{OWN}"
    graph.notes.append(f"{sender} sends {topic} to itself: the participant {own} receives it.")
    return own


def _rate(sender: End) -> float:
    """Return the rate of a publisher or client in messages per second.

    Raises KeyError if the rate is missing, and ValueError if it is not positive.
    """
    given = "freq_hz" if "freq_hz" in sender.keys else "period_ms"
    if not 0 < (value := float(sender.keys[given])) < math.inf:
        raise ValueError(f"{given} = {value:g} is not above 0")
    return value if given == "freq_hz" else 1000 / value


def _flow_name(graph: Graph, topic: str, sender: str) -> str:
    """Return a flow name for a topic. If another node also sends on the topic, the name includes the sender."""
    name = unique_name(topic, ())
    return name if name not in graph.flows else unique_name(f"{name[:15]}-{sender[:15]}", graph.flows)


def type_bytes(kind: str, given: Any) -> int:
    """Return the size of a message's data in bytes, from its type name or, for a vector, from `given`.

    Raises ValueError if the size is unknown.
    """
    word = kind.rpartition("::")[2].removeprefix("stamped").strip("_")
    if found := re.fullmatch(r"(\d+)(b|kb|mb)", word):
        return int(found[1]) * UNIT_BYTES[found[2]]
    if found := re.fullmatch(r"(\d*)_?(?:float|int|uint)(8|16|32|64)", word):
        return int(found[1] or 1) * int(found[2]) // 8
    if given is None:
        raise ValueError(f'the size of "{kind}" is unknown; give `msg_size`')
    if int(given) < 0:
        raise ValueError(f"msg_size = {given} is below 0")
    return int(given)


def _rest(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """Return notes on the nodes and keys that are not part of the workload."""
    notes = [
        f"Not part of the workload: {node.name}, which exchanges no message with another node."
        for node in nodes
        if node.name not in graph.participants
    ]
    notes += [*_unsent(nodes, "publishers", "subscribers"), *_unsent(nodes, "clients", "servers"), *_executors(nodes)]
    unread = Counter(key for node in nodes for key in node.keys if key not in NODE_KEYS)
    ends = [end for node in nodes for kind in ENDS for end in node.ends(kind)]
    unread += Counter(key for end in ends for key in end.keys if key not in END_KEYS and not key.startswith(PREFIX))
    return notes + [f"Not part of the workload: the key `{key}`, {many} times." for key, many in unread.items()]


def _unsent(nodes: Sequence[Node], senders: str, receivers: str) -> list[str]:
    """Return notes on the topics or services that no node sends to."""
    sent = {end.topic for node in nodes for end in node.ends(senders)}
    waiting: dict[str, list[str]] = {}
    for end in (end for node in nodes for end in node.ends(receivers) if end.topic not in sent):
        waiting.setdefault(end.topic, []).append(end.node)
    verb = "publishes" if senders == "publishers" else "calls"
    return [
        f"Not part of the workload: {topic} at {', '.join(names)}, which no node {verb}."
        for topic, names in waiting.items()
    ]


def _executors(nodes: Sequence[Node]) -> list[str]:
    """Return a note on executors that several nodes share, because each node becomes a separate process."""
    named = Counter(node.keys["executor_id"] for node in nodes if "executor_id" in node.keys)
    shared = [str(name) for name, many in named.items() if many > 1]
    if not shared:
        return []
    return [
        f"Nodes that share an executor ({', '.join(shared)}) become separate participants, each with its own process."
    ]
