"""Reads the nodes of a topology of iRobot's ros2-performance: JSON files that describe a robot's processes.

The root of a file contains the list `nodes`. A node has a `node_name`, optionally a `node_namespace` and a `number` of
copies, and lists of `publishers`, `subscribers`, `clients` and `servers`. Each list entry names a topic (`topic_name`)
or a service (`service_name`), and its type (`msg_type` or `srv_type`). Publishers and clients have a period
(`period_ms`) or a rate (`freq_hz`), and a `msg_size` if the type does not determine the size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.system.input_files import read_short_text

MOST_BYTES = 1 << 20
MOST_COPIES = 1000
LONGEST_NAME = 31
ENDS = {"publishers": "topic_name", "subscribers": "topic_name", "clients": "service_name", "servers": "service_name"}
"""The lists of a node, each with the key that names an entry's topic or service."""
NODE_KEYS = {"node_name", "node_namespace", "number", "executor_id", *ENDS}
Keys = Mapping[str, Any]


@dataclass(frozen=True)
class End:
    """A publisher, subscriber, client or server of a node."""

    node: str
    """The name of the node's participant."""
    topic: str
    """The full name of the topic or service."""
    keys: Keys


@dataclass(frozen=True)
class Node:
    """A node with the name of its participant."""

    name: str
    namespace: str
    keys: Keys

    def ends(self, kind: str) -> list[End]:
        """Return the node's publishers, subscribers, clients or servers, as selected by `kind`."""
        return [End(self.name, self._full(each[ENDS[kind]]), each) for each in self.keys.get(kind, [])]

    def _full(self, topic: str) -> str:
        """Return the full name of a topic or service, including its namespace."""
        if topic.startswith("~"):
            return f"{self.namespace}/{self.keys['node_name']}{topic[1:]}".strip("/")
        return (topic if topic.startswith("/") else f"{self.namespace}/{topic}").strip("/")


def read_files(paths: Iterable[Path]) -> tuple[list[Keys], list[str]]:
    """Return the nodes in all files, and notes on any other content of the files. Raises UsageError if a file is not a
    topology."""
    nodes: list[Keys] = []
    notes: list[str] = []
    for path in paths:
        found = _read_json(path)
        try:
            nodes += found["nodes"]
        except (KeyError, TypeError) as cause:
            raise topology_error(path, "it has no list `nodes`") from cause
        notes += [f"Not part of the workload: the key `{key}` of {path.name}." for key in found if key != "nodes"]
    return nodes, notes


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_short_text(path, MOST_BYTES))
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}", "check the path") from cause
    except (ValueError, RecursionError) as cause:
        raise topology_error(path, f"it is not JSON: {cause}") from cause


def topology_error(path: Path, said: str) -> UsageError:
    """Return the error for a file that cannot be converted to a workload."""
    what = f"{path} is not a topology of ros2-performance: {said}"
    return UsageError("E-TOPOLOGY", what, "name a JSON file such as topology/sierra_nevada.json of that project")


def name_nodes(written: Sequence[Keys]) -> list[Node]:
    """Return the nodes. Each copy of a node is a separate node.

    Raises KeyError, TypeError or ValueError if a node is invalid.
    """
    nodes: list[Node] = []
    for keys in written:
        for suffix in _suffixes(keys):
            namespace = f"{keys['node_namespace']}{suffix}" if "node_namespace" in keys else ""
            name = unique_name(f"{keys['node_name']}{suffix}", {node.name for node in nodes})
            nodes.append(Node(name, namespace.strip("/"), {**keys, "node_name": f"{keys['node_name']}{suffix}"}))
    if not nodes:
        raise ValueError("`nodes` is empty")
    return nodes


def _suffixes(keys: Keys) -> list[str]:
    many = keys.get("number")
    if many is None:
        return [""]
    if not isinstance(many, int) or not 1 <= many <= MOST_COPIES:
        raise ValueError(f"{keys['node_name']}: number = {many} is not from 1 to {MOST_COPIES}")
    return [f"_{copy + 1}" for copy in range(many)]


def to_name(name: str) -> str:
    """Convert a name to a form that scenarios allow. Raises ValueError if no allowed character is left."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:LONGEST_NAME]
    if not re.match("[a-z]", plain):
        raise ValueError(f'"{name}" is not a valid name in a workload')
    return plain


def unique_name(name: str, used: Collection[str]) -> str:
    """Convert a name to a form that scenarios allow, and append a number if the name is already used."""
    plain = to_name(name)
    numbered = (f"{plain[: LONGEST_NAME - 5]}-{number}" for number in range(2, 10_000))
    return plain if plain not in used else next(each for each in numbered if each not in used)
