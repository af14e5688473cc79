"""Text about the hosts of a run and the nodes on each host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hopmeter.model.cell import Cell
from hopmeter.plan.topology import topology
from hopmeter.report.words import formatting
from hopmeter.store.processes import process_names

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row


def nodes_by_host(cell: Cell) -> dict[str, list[str]]:
    """Return the names of the participants on each host; without a workload, return the names of one pair's nodes.
    Return an empty dict if all nodes run on one machine."""
    if not cell.nodes.hosts:
        return {}
    if cell.workload is not None:
        return group_by_host((each.name, each.host) for each in cell.workload.participants)
    ends = [each for each in topology(cell).endpoints if each.flow == 0]
    names = process_names([{"endpoints": [{"role": each.role}]} for each in ends])
    return group_by_host(zip(names, (each.host for each in ends), strict=True))


def group_by_host(placed: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names on each host; the hosts are in order of first appearance."""
    found: dict[str, list[str]] = {}
    for name, host in placed:
        found.setdefault(host, []).append(name)
    return found


def host_lines(cell: Cell) -> list[str]:
    """Return a line for each host with its nodes, such as `alpha  source, relays 3 and 6`."""
    placed = nodes_by_host(cell)
    longest = max(map(len, placed), default=0)
    return [f"{host:{longest}}  {join_numbered(names)}" for host, names in placed.items()]


def hosts_sentence(rows: Iterable[Row]) -> str:
    """Return a sentence on the nodes of each host, or an empty string if all nodes ran on one machine."""
    placed = [(str(row["hosts"]), row.cell) for row in rows if row["hosts"]]
    words = formatting.distinct(_placement(nodes_by_host(cell)) for _, cell in placed)
    if len(words) > 1:
        words = formatting.distinct(describe_placement(hosts) for hosts, _ in placed)
    return f"Hosts: {'; '.join(words)}." if words else ""


def _placement(placed: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{host} runs {join_numbered(names)}" for host, names in placed.items())


def describe_placement(hosts: str) -> str:
    """Return a value of the column `hosts` in words, such as `nodes one by one on a and b`."""
    if ":" not in hosts:
        return f"nodes one by one on {formatting.join(hosts.split('>'))}"
    pairs = (each.partition(":") for each in hosts.split(" "))
    placed = group_by_host((name, host) for name, _, host in pairs)
    return "; ".join(f"{formatting.join(names)} on {host}" for host, names in placed.items())


def name_hosts(hosts: str) -> str:
    """Return the host names in a value of the column `hosts`, such as `on a and b`."""
    names = hosts.split(">") if ":" not in hosts else [each.partition(":")[2] for each in hosts.split(" ")]
    return f"on {formatting.join(formatting.distinct(names))}"


def join_numbered(names: Sequence[str]) -> str:
    """Join names to a list in words that groups numbered names, such as `source, relays 3 and 6, sink`."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kind, _, number = name.rpartition(" ")
        kinds.setdefault(kind if number.isdecimal() else name, []).append(number if number.isdecimal() else "")
    words = [_count_kind(kind, list(filter(None, numbers))) for kind, numbers in kinds.items()]
    return formatting.join(words) if all(" " not in each for each in words) else ", ".join(words)


def _count_kind(kind: str, numbers: Sequence[str]) -> str:
    return f"{kind}{'s' if len(numbers) > 1 else ''} {formatting.join(numbers)}".strip()
