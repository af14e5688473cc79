"""A workload in words: the titles of its tables, its graph as text, and the answer about its deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hopmeter.analysis.groups import Group
from hopmeter.analysis.run_results import Row
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow, Participant, Path, Replay, Workload
from hopmeter.report import formatting

WHOLE = "the whole workload"


def title(group: Group) -> str:
    """Return the flow or the path that a table is about, with its messages; empty for an ordinary table."""
    cell = group.rows[0].cell
    if cell.workload is None:
        return ""
    if cell.flow:
        flow = cell.workload.flow(cell.flow)
        return f"bridge {flow.name} {_bridge_words(flow)}" if flow.bridged else f"flow {flow.name}: {_flow_words(flow)}"
    return f"path {cell.path}: {_path_words(cell.workload.path(cell.path))}" if cell.path else WHOLE


def graph_lines(workload: Workload) -> list[str]:
    """Return a line for each participant, flow, bridge and path of a workload."""
    longest = max(map(len, _names(workload)))
    lines = [f"{each.name:{longest}}  {_participant_words(each.name, workload)}" for each in workload.participants]
    lines += [f"{each.name:{longest}}  {_flow_words(each)}" for each in workload.flows]
    lines += [f"{each.name:{longest}}  bridge {_bridge_words(each)}" for each in workload.bridges]
    return lines + [f"{each.name:{longest}}  {_path_words(each)}" for each in workload.paths]


def _names(workload: Workload) -> list[str]:
    parts = (workload.participants, workload.flows, workload.bridges, workload.paths)
    return [each.name for part in parts for each in part]


def _participant_words(name: str, workload: Workload) -> str:
    one = workload.participant(name)
    cores = f"cores {','.join(map(str, one.core_list))}" if one.core_list else ""
    threads = "" if one.threads == "per-flow" else f"handles {one.threads} at once"
    fifo = f"SCHED_FIFO {one.fifo}" if one.fifo else ""
    split = f"{len(one.transports)} processes: {formatting.join(one.transports)}" if one.transports else ""
    return ", ".join(filter(None, [one.language, f"waits by {one.wait}", cores, threads, fifo, split]))


def _bridge_words(bridge: Flow) -> str:
    """Return what a bridge passes on, and why."""
    back = ", and back" if bridge.is_call else ""
    size = formatting.payload_bytes(bridge.payload_bytes)
    return f"at {bridge.source}: passes {bridge.bridged} on for {formatting.join(bridge.bridged_to)}{back}, {size}"


def most_split(cells: Iterable[Cell]) -> Cell | None:
    """Return the cell whose participants are the most processes; a flow's own transport may be that of a cell."""
    known = [cell for cell in cells if cell.workload]
    return max(known, key=lambda cell: sum(len(each.transports) for each in programs(cell)), default=None)


def programs(cell: Cell) -> tuple[Participant, ...]:
    """Return the participants of a cell; none of an ordinary one."""
    return cell.workload.participants if cell.workload else ()


def _flow_words(flow: Flow) -> str:
    verb = "calls" if flow.is_call else "→"
    ends = f"{flow.source} {verb} {formatting.join(flow.targets)}"
    over = [f"over {flow.carrier.name}"] if flow.carrier else []
    what = [*_codec_words(flow), *over, *_cause_words(flow), *_deadline_words(flow.deadline_s)]
    return ", ".join([ends, *_size_words(flow), *what])


def _size_words(flow: Flow) -> list[str]:
    if flow.replay:
        mean, most = map(formatting.payload_bytes, (flow.mean_bytes, flow.payload_bytes))
        return [flow.payload, f"{mean} on average", f"{most} at most"]
    named = [] if flow.payload.startswith("bytes:") else [flow.payload]
    return named + ([formatting.payload_bytes(flow.payload_bytes)] if flow.payload_bytes or not named else [])


def _codec_words(flow: Flow) -> Iterator[str]:
    if flow.has_codec:
        on = f" on the {flow.device.upper()}" if flow.device != "cpu" else ""
        yield f"as an object of {flow.codec}{on}{'' if flow.share == 'none' else f', shared by {flow.share}'}"


def _cause_words(flow: Flow) -> Iterator[str]:
    if flow.replay:
        yield from _replay_words(flow.replay, formatting.rate(flow.rate_hz))
    elif flow.rate_hz:
        yield formatting.rate(flow.rate_hz) + ("" if flow.pace == "open" else f" ({flow.pace})")
    if flow.after:
        every = "" if flow.every == 1 else f"every {flow.every}th "
        yield f"after {every}{(' and ' if flow.join == 'all' else ' or ').join(flow.after)}"
    if flow.repeat > 1:
        yield f"{flow.repeat} each time"
    if flow.returns:
        yield f"the next when {flow.returns} returns"
    if flow.latest:
        yield f"with the newest of {flow.latest}"
    if flow.during:
        yield f"during {flow.during}"
    if flow.concurrency > 1:
        yield f"up to {flow.concurrency} at once"
    yield from (f"work {each}" for each in (flow.work, flow.receiver_work) if each != "none")


def _replay_words(replay: Replay, rate: str) -> Iterator[str]:
    yield f"as recorded, {rate} on average"
    if replay.speed != 1:
        yield f"{replay.speed:g} times as fast"
    if replay.loop:
        yield "in a loop"
    if replay.ends_s is not None:
        yield f"ends with the recording after {replay.ends_s:.3g} s of {replay.duration_s:.3g} s"


def _path_words(path: Path) -> str:
    return ", ".join([" → ".join(path.flows), *_deadline_words(path.deadline_s)])


def _deadline_words(deadline_s: float | None) -> list[str]:
    return [] if deadline_s is None else [f"deadline {deadline_s * 1e3:g} ms"]


def is_whole(group: Group) -> bool:
    """Return whether a table is about a whole workload."""
    cell = group.rows[0].cell
    return cell.workload is not None and not cell.flow and not cell.path


def deadline_lines(group: Group) -> list[str]:
    """Return how well each transport keeps the deadlines of a whole workload, the best first."""
    rows = _by_misses(group.choices)
    if not rows:
        return ["The workload has no deadline; the tables below rank each flow and path."]
    best, *others = rows
    clear = [row for row in others if _is_clear(best, row)]
    open_ = [row for row in others if row not in clear]
    lines = [f"{group.label(best)} keeps the deadlines best: {_misses_text(best)}."]
    if open_:
        lines[0] = f"It is open which transport keeps the deadlines best: {_list_rows(group, [best, *open_])}."
    lines += [f"{group.label(row)} misses more: {_misses_text(row)}." for row in clear]
    known = _by_misses(row for row in group.references if row not in rows)
    return lines + ([f"For comparison, no library to install: {_list_rows(group, known)}."] if known else [])


def _by_misses(rows: Iterable[Row]) -> list[Row]:
    return sorted((row for row in rows if row["miss_share"] is not None), key=lambda row: float(row["miss_share"]))


def _list_rows(group: Group, rows: Iterable[Row]) -> str:
    return ", ".join(f"{group.label(row)} ({_misses_text(row)})" for row in rows)


def _is_clear(best: Row, row: Row) -> bool:
    """Return whether the intervals of two shares are apart."""
    high, low = best["miss_share_high"], row["miss_share_low"]
    return high is not None and low is not None and low > high


def _misses_text(row: Row) -> str:
    if row["misses"] == 0:
        most = row["miss_share_high"]
        return "no message missed its deadline" + (f", at most {formatting.percent(most)} may" if most else "")
    return f"{missed_text(row)} of the messages of {row['miss_part']} missed"


def missed_text(row: Row) -> str:
    """Return the share of missed deadlines with its interval: `18.6 % (12.5–26.1)`."""
    if row["miss_share"] is None:
        return ""
    ends = [row["miss_share_low"], row["miss_share_high"]]
    if None in ends:
        return f"{formatting.percent(row['miss_share'])} (?)"
    return f"{formatting.percent(row['miss_share'])} ({'–'.join(formatting.number(100 * end, 2) for end in ends)})"
