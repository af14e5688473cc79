"""Make a workload from a topology of iRobot's ros2-performance, a JSON file that describes the nodes of a robot.

Its root has a list `nodes`. A node has a `node_name`, a `number` of copies if there are several, and lists of
`publishers`, `subscribers`, `clients` and `servers`. These name a topic (`topic_name`) or a service (`service_name`),
and its type (`msg_type` or `srv_type`). Publishers and clients have a period (`period_ms`) or a rate (`freq_hz`), and a
`msg_size` if the type has no size of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.system.input_files import read_short_text

MOST_BYTES = 1 << 20
MOST_COPIES = 1000
TOO_LATE_MS = 50
"""The benchmark calls a message too late after its period, but at most after this time."""
NUMBER_BYTES = {"float32": 4, "int32": 4, "int64": 8}
UNIT_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20}
READ = {"node_name", "number", "publishers", "subscribers", "clients", "servers"}
"""The keys of a node that become part of the workload."""
Entity = Mapping[str, Any]


@dataclass
class Graph:
    """The participants and flows of a workload, and what of the topology they leave out."""

    participants: list[str] = field(default_factory=list)
    flows: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_topology(path: Path) -> Graph:
    """Return the workload of a topology file. Raises UsageError if the file is no topology."""
    try:
        found = json.loads(read_short_text(path, MOST_BYTES))
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}", "check the path") from cause
    except (ValueError, RecursionError) as cause:
        raise _topology_error(path, f"it is not JSON: {cause}") from cause
    try:
        return convert_nodes(_nodes(found))
    except (KeyError, TypeError, ValueError, AttributeError) as cause:
        said = f"{cause.args[0]!r} is missing" if isinstance(cause, KeyError) else str(cause)
        raise _topology_error(path, said) from cause


def _topology_error(path: Path, said: str) -> UsageError:
    what = f"{path} is no topology of ros2-performance: {said}"
    return UsageError("E-TOPOLOGY", what, "name a JSON file such as topology/sierra_nevada.json of that project")


def _nodes(found: Any) -> list[Entity]:
    """Return the nodes; copies of a node are nodes of their own."""
    nodes: list[Entity] = []
    for node in found["nodes"]:
        name, many = node["node_name"], node.get("number")
        if many is not None and not 1 <= many <= MOST_COPIES:
            raise ValueError(f"{name}: number = {many} is not from 1 to {MOST_COPIES}")
        nodes += [{**node, "node_name": f"{name}_{copy + 1}" if many else name} for copy in range(many or 1)]
    if not nodes:
        raise ValueError("`nodes` is empty")
    return nodes


def convert_nodes(nodes: Iterable[Entity]) -> Graph:
    """Return the workload of nodes. Raises KeyError or ValueError if a node has not what it needs."""
    nodes, graph = list(nodes), Graph()
    for node in nodes:
        for sender in node.get("publishers", []):
            _add_flow(graph, node, sender, nodes, ("topic_name", "msg_type", "subscribers"))
        for sender in node.get("clients", []):
            _add_flow(graph, node, sender, nodes, ("service_name", "srv_type", "servers"))
    if not graph.flows:
        raise ValueError("no message of it has both a sender and a receiver")
    _note_rest(graph, nodes)
    return graph


def _add_flow(graph: Graph, node: Entity, sender: Entity, nodes: Iterable[Entity], words: tuple[str, str, str]) -> None:
    """Add the messages of a publisher, or the calls of a client."""
    name, kind, receiving = words
    mine, topic = to_name(node["node_name"]), sender[name]
    takers = [to_name(each["node_name"]) for each in nodes if _has(each, receiving, name, topic)]
    if mine in takers:
        graph.notes.append(f"{mine} receives its own {topic}, which needs no transport")
    takers = [taker for taker in dict.fromkeys(takers) if taker != mine]
    if not takers:
        graph.notes.append(f"no other node receives {topic} of {mine}")
        return
    rate = _rate(sender)
    graph.flows[_flow_name(graph, topic, mine)] = {
        "from": mine,
        "to" if receiving == "subscribers" else "call": takers[0] if len(takers) == 1 else takers,
        "payload": f"bytes:{type_bytes(sender[kind], sender.get('msg_size'))}",
        "rate": int(rate) if rate == int(rate) else round(rate, 3),
        "deadline": f"{min(1000 / rate, TOO_LATE_MS):g}ms",
    }
    graph.participants += [each for each in (mine, *takers) if each not in graph.participants]


def _rate(sender: Entity) -> float:
    """Return the messages per second of a publisher or client. Raises KeyError or ValueError without one above 0."""
    given = "freq_hz" if "freq_hz" in sender else "period_ms"
    if not 0 < (value := float(sender[given])) < math.inf:
        raise ValueError(f"{given} = {value:g} is not above 0")
    return value if given == "freq_hz" else 1000 / value


def _has(node: Entity, entities: str, name: str, topic: str) -> bool:
    return any(each[name] == topic for each in node.get(entities, []))


def _flow_name(graph: Graph, topic: str, sender: str) -> str:
    """Return the name of a topic; if another node sends it too, with the sender's name."""
    name = to_name(topic)
    return name if name not in graph.flows else to_name(f"{name[:15]}-{sender[:15]}")


def to_name(name: str) -> str:
    """Return a name as scenarios have it. Raises ValueError if too little of it is left."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:31]
    if not re.match("[a-z]", plain):
        raise ValueError(f'"{name}" is no name that a workload can have')
    return plain


def type_bytes(kind: str, given: Any) -> int:
    """Return the size of a message's data, from its type's name or, for a vector, as given. Raises ValueError."""
    word = kind.rpartition("::")[2]
    if found := re.fullmatch(r"stamped(\d+)(b|kb|mb)", word):
        return int(found[1]) * UNIT_BYTES[found[2]]
    if found := re.fullmatch(r"stamped(\d*)_(float32|int32|int64)", word):
        return int(found[1] or 1) * NUMBER_BYTES[found[2]]
    if given is None:
        raise ValueError(f'the size of "{kind}" is unknown; give `msg_size`')
    return int(given)


def _note_rest(graph: Graph, nodes: Iterable[Entity]) -> None:
    """Note which nodes and keys are not part of the workload."""
    for node in nodes:
        if (name := to_name(node["node_name"])) not in graph.participants:
            graph.notes.append(f"{name} neither sends to nor receives from another node")
    if unread := sorted({key for node in nodes for key in node} - READ):
        graph.notes.append(f"the keys {', '.join(unread)} of nodes")


def format_scenario(graph: Graph, title: str, source: str) -> str:
    """Return the workload as the text of a scenario."""
    notes = [f"# Not part of the workload: {note}." for note in graph.notes]
    lines = [
        f"# Names, rates and sizes are those of {source}, a topology of iRobot's ros2-performance.",
        "# A payload has the size of a message's data without its header. The deadline is what the benchmark calls too",
        f"# late: a period, at most {TOO_LATE_MS} ms. A participant handles one message at a time.",
        *notes,
        f"title = {json.dumps(title, ensure_ascii=False)}",
        f"question = {json.dumps(f'Which middleware keeps the deadlines of {title}?', ensure_ascii=False)}",
        'transport = ["zeromq", "nng"]',
        'language = "one"',
        'wait = "block"',
        'duration = "5s"',
        'budget = "3m"',
        "",
        "[participant]",
        *(f"{name} = {{ threads = 1 }}" for name in graph.participants),
        "",
        "[flow]",
        *(f"{name} = {{ {_format_table(keys)} }}" for name, keys in graph.flows.items()),
    ]
    return "\n".join(lines) + "\n"


def _format_table(keys: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
