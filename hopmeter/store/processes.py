"""Create the rows of `processes.parquet`, each with the resource use of one process. docs/metrics.md describes each
column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Node = dict[str, Any]
SENDERS = ("source", "client")


def rows(trial: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each process of a trial that reported its resource use: first the nodes, then the broker."""
    nodes: list[Node] = trial["nodes"]
    names, messages = process_names(nodes), _messages(nodes)
    for number, node in enumerate(nodes):
        if used := node.get("resources"):
            told = {"cell": trial["cell"], "trial": trial["trial"], "good": trial["good"], "process": number}
            yield {**told, "name": names[number], "messages": messages, **_who(node), **_resource_columns(node, used)}


def _who(node: Node) -> dict[str, Any]:
    roles = dict.fromkeys(str(each["role"]) for each in node.get("endpoints", []))
    named = {"roles": "+".join(roles) or "broker", "participant": node.get("participant"), "host": node.get("host")}
    return named | {"language": node.get("language"), "pid": node.get("pid")}


def _resource_columns(node: Node, used: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resource readings of a node as columns, with None for missing readings."""
    shared, interval = used.get("shared_mappings"), used.get("interval_ns")
    counts = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
    return {
        "interval_s": interval / 1e9 if interval else None,
        "user_us": used.get("user_us"),
        "system_us": used.get("system_us"),
        "spun_us": sum(each.get("pacing_ns", 0) for each in node.get("endpoints", [])) / 1000,
        **{name: used.get(name) for name in counts},
        "rss_peak_mb": _mb(used.get("rss_peak_bytes")),
        "pss_mb": _mb(used.get("pss_bytes")),
        "shared_mapped_mb": None if shared is None else _mb(sum(size for _, size in shared)),
    }


def _mb(size: int | None) -> float | None:
    return None if size is None else size / 1e6


def _messages(nodes: list[Node]) -> int:
    """Return the number of messages that the sources of a trial offered. A scatter message counts once, although the
    client sends it to several servers."""
    each = [one for node in nodes for one in node.get("endpoints", [])]
    many = Counter(one["role"] for one in each)
    offered = sum(one.get("sent", 0) + one.get("abandoned", 0) for one in each if one["role"] in SENDERS)
    return int(offered // max(1, many["server"] // (many["client"] or 1)))


def process_names(nodes: list[Node]) -> list[str]:
    """Return the names of a trial's processes, such as `source`, `relay 2`, `source, 20 relays and sink` or
    `nats-server`.

    If several processes have a role, their names are numbered. In a workload, processes have the names of their
    participants instead of roles.
    """
    many = Counter(each["role"] for node in nodes for each in node.get("endpoints", []))
    seen: Counter[str] = Counter()
    programs = Counter(node.get("participant") for node in nodes)
    return [_name_in_workload(node, programs) or _name(node, many, seen) for node in nodes]


def _name_in_workload(node: Node, programs: Counter[Any]) -> str:
    """Return the process name of a participant, such as `detector`, or `detector (zeromq)` if the participant has
    several processes. Return an empty string if the cell is not a workload."""
    name = node.get("participant") or ""
    return f"{name} ({node['carrier']})" if name and programs[name] > 1 else name


def _name(node: Node, many: Counter[str], seen: Counter[str]) -> str:
    here = Counter(each["role"] for each in node.get("endpoints", []))
    if not here:
        return str(node.get("facts", {}).get("broker") or "broker")
    seen.update(here)
    words = [_count_roles(role, count, many[role], seen[role]) for role, count in here.items()]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _count_roles(role: str, here: int, all_of_them: int, last: int) -> str:
    if here > 1:
        return f"{here} {role}s"
    return role if all_of_them == 1 else f"{role} {last}"
