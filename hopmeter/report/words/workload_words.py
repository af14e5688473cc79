"""Text about a workload: the titles of the workload's tables, the graph as lines of text, and the values of the
rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hopmeter.analysis.results.groups import Group
from hopmeter.model.cell import WHOLE, Cell
from hopmeter.model.payload_words import name_payload
from hopmeter.model.workload import Flow, Participant, Path, Replay, Workload
from hopmeter.plan.workloads.workload_cells import whole_id
from hopmeter.report.words import formatting
from hopmeter.report.words.host_words import group_by_host
from hopmeter.report.words.pace_words import flow_pace

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row


def title(group: Group) -> str:
    """Return the title of a workload table, which names the flow or path if the table shows a single one. Return an
    empty string if the table does not belong to a workload."""
    cell = group.rows[0].cell
    if cell.workload is None:
        return ""
    if cell.flow:
        flow = cell.workload.flow(cell.flow)
        return f"bridge {flow.name} {_bridge_words(flow)}" if flow.bridged else f"flow {flow.name}: {_flow_words(flow)}"
    return f"path {cell.path}: {_path_words(cell.workload.path(cell.path))}" if cell.path else WHOLE


def graph_lines(workload: Workload) -> list[str]:
    """Return a text line for each participant, flow, bridge and path of a workload."""
    longest = max(map(len, _names(workload)))
    lines = list(_participant_lines(workload, longest))
    lines += [f"{each.name:{longest}}  {_flow_words(each)}" for each in workload.flows]
    lines += [f"{each.name:{longest}}  bridge {_bridge_words(each)}" for each in workload.bridges]
    return lines + [f"{each.name:{longest}}  {_path_words(each)}" for each in workload.paths]


def _participant_lines(workload: Workload, longest: int) -> Iterator[str]:
    """Yield a line for each participant, grouped by host."""
    for host, names in group_by_host((each.name, each.host) for each in workload.participants).items():
        if host:
            yield f"on {host}:"
        for name in names:
            yield f"{'  ' if host else ''}{name:{longest}}  {_participant_words(name, workload)}"


def _names(workload: Workload) -> list[str]:
    parts = (workload.participants, workload.flows, workload.bridges, workload.paths)
    return [each.name for part in parts for each in part]


def _participant_words(name: str, workload: Workload) -> str:
    one = workload.participant(name)
    cores = f"cores {','.join(map(str, one.core_list))}" if one.core_list else ""
    threads = "" if one.threads == "per-flow" else f"at most {formatting.plural(int(one.threads), 'message')} at once"
    fifo = f"SCHED_FIFO {one.fifo}" if one.fifo else ""
    split = f"{len(one.transports)} processes: {formatting.join(one.transports)}" if one.transports else ""
    return ", ".join(filter(None, [one.language, f"wait {one.wait}", cores, threads, fifo, split]))


def _bridge_words(bridge: Flow) -> str:
    """Return the flows that a bridge connects, and the size of the bridge's messages."""
    back = " and replies back" if bridge.is_call else ""
    size = formatting.payload_bytes(bridge.payload_bytes)
    return f"in {bridge.source}: passes {bridge.bridged} on to {formatting.join(bridge.bridged_to)}{back}, {size}"


def most_split(cells: Iterable[Cell]) -> Cell | None:
    """Return the workload cell with the most processes, or None if there is no workload cell."""
    known = [cell for cell in cells if cell.workload]
    return max(known, key=lambda cell: sum(len(each.transports) for each in programs(cell)), default=None)


def programs(cell: Cell) -> tuple[Participant, ...]:
    """Return the participants of a cell. Return an empty tuple if the cell is not a workload."""
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
    named = [name] if (name := name_payload(flow.payload)) else []
    return named + ([formatting.payload_bytes(flow.payload_bytes)] if flow.payload_bytes or not named else [])


def _codec_words(flow: Flow) -> Iterator[str]:
    if flow.has_codec:
        on = f" on the {flow.device.upper()}" if flow.device != "cpu" else ""
        yield f"as an object of {flow.codec}{on}{'' if flow.share == 'none' else f', shared by {flow.share}'}"


def _cause_words(flow: Flow) -> Iterator[str]:
    if flow.replay:
        yield from _replay_words(flow.replay, formatting.rate(flow.rate_hz))
    elif flow.rate_hz:
        yield flow_pace(flow)
        yield from _rare_words(flow)
    if flow.after:
        every = "" if flow.every == 1 else f"every {flow.every} messages of "
        yield f"after {every}{(' and ' if flow.join == 'all' else ' or ').join(flow.after)}"
    if flow.repeat > 1:
        yield f"{flow.repeat} messages each time"
    if flow.returns:
        yield f"next message when {flow.returns} returns"
    if flow.latest:
        yield f"with the newest message of {flow.latest}"
    if flow.during:
        yield f"during {flow.during}"
    if flow.concurrency > 1:
        yield f"up to {flow.concurrency} at once"
    yield from (f"work {each}" for each in (flow.work, flow.receiver_work) if each != "none")


def _rare_words(flow: Flow) -> Iterator[str]:
    """Yield notes on a flow that sends only few messages in a trial."""
    if not flow.warmup:
        yield "without warm-up"
    if flow.messages == 1:
        yield "one message in each trial"


def _replay_words(replay: Replay, rate: str) -> Iterator[str]:
    yield f"as recorded, {rate} on average"
    if replay.speed != 1:
        yield f"{replay.speed:g} times as fast"
    if replay.loop:
        yield "in a loop"
    if replay.ends_s is not None:
        yield f"the recording ends after {replay.ends_s:.3g} s of {replay.duration_s:.3g} s"


def _path_words(path: Path) -> str:
    return ", ".join([" → ".join(path.flows), *_deadline_words(path.deadline_s)])


def _deadline_words(deadline_s: float | None) -> list[str]:
    return [] if deadline_s is None else [f"deadline {deadline_s * 1e3:g} ms"]


def is_whole(group: Group) -> bool:
    """Return whether a table is about a whole workload."""
    return group.rows[0].cell.is_whole_workload


def workload_name(group: Group) -> str:
    """Return the title of the workload that a run measured."""
    run = group.rows[0].run
    return run.text("title") or run.text("scenario_name") or WHOLE


def is_part(group: Group) -> bool:
    """Return whether a table is about a single flow or path of a workload."""
    return group.rows[0].cell.workload is not None and not is_whole(group)


def missed_text(row: Row) -> str:
    """Return the share of missed deadlines with its interval, such as `18.6 % (12.5–26.1)`. Return an empty string if
    the row has no deadlines."""
    share, low, high = missed_share(row)
    return f"{share_percent(share)} {share_bracket(low, high)}" if share is not None else ""


def missed_share(row: Row) -> tuple[float | None, float | None, float | None]:
    """Return the share of missed deadlines and both interval bounds."""
    return row["missed_share"], row["missed_share_low"], row["missed_share_high"]


def share_percent(share: float | None) -> str:
    """Return a share such as `98.4 %`. A share close to 0 or 1 is shown with more decimals, such as `99.98 %`."""
    return formatting.NOTHING if share is None else f"{_percent_digits(share)}{formatting.THIN}%"


def share_bracket(low: float | None, high: float | None) -> str:
    """Return the interval of a share, such as `(97.5–99.0)`, or `(?)` if the interval is unknown."""
    ends = None if low is None or high is None else f"{_percent_digits(low)}–{_percent_digits(high)}"
    return f"({formatting.NO_INTERVAL if ends is None else ends})"


def _percent_digits(share: float) -> str:
    """Format a share as a percentage, with more decimals if the percentage is close to 0 or 100. Return `>0` or `<100`
    for percentages that need more than three decimals."""
    if share in (0, 1):
        return str(round(100 * share))
    missing = 100 * min(share, 1 - share)
    places = min(3, max(1, 1 - math.floor(math.log10(missing))))
    text = f"{100 * share:.{places}f}"
    return {0.0: ">0", 100.0: "<100"}.get(float(text), text)


def worst_text(row: Row) -> str:
    """Return the worst p99 ratio of a workload's flows, such as `1.82× (1.50–2.10) the lowest p99, in flow
    commands`."""
    ratio = row["worst_p99_ratio"]
    if ratio is None:
        return ""
    if ratio == 1:
        return "the lowest p99 in every flow"
    ends = formatting.ratio_bracket(row["worst_p99_ratio_low"], row["worst_p99_ratio_high"])
    return f"{formatting.times(ratio)} {ends} the lowest p99, in flow {row['worst_flow']}"


def cpu_text(row: Row) -> str:
    """Return the CPU use of all participants, such as `12 % of a core (11–13)`, or an empty string if unknown."""
    share = row["cpu_core_percent"]
    if share is None:
        return ""
    ends = formatting.bracket(row["cpu_core_percent_low"], row["cpu_core_percent_high"])
    return f"{formatting.number(share)}{formatting.THIN}% of a core {ends}"


def parts_of(row: Row) -> list[Row]:
    """Return the rows of all flows and paths that belong to the whole workload of a row."""
    return [each for each in row.run.rows if each is not row and whole_id(each.cell) == row.id]


def behind_text(row: Row) -> str:
    """Return which receivers fall behind, such as `the reader of frames falls behind by 320 ms/s`. Return an empty
    string if no receiver falls behind."""
    return ", ".join(f"the reader of {each['flow']} falls behind by {growth_text(each)}" for each in slow_flows(row))


def slow_flows(row: Row) -> list[Row]:
    """Return those flows of a whole workload that have a receiver which falls behind."""
    return [each for each in parts_of(row) if each["backlog_ms_per_s"]]


def growth_text(row: Row) -> str:
    """Return how fast the age of a flow's messages grows, such as `320 ms/s`."""
    return f"{formatting.number(row['backlog_ms_per_s'])}{formatting.THIN}ms/s"


def part_missed_text(row: Row) -> str:
    """Return which flow or path misses the most deadlines, such as `frames misses 4.1 %`. Return an empty string if no
    deadline was missed."""
    worst = next((each for each in parts_of(row) if row["missed_part"] in (each["flow"], each["path"])), None)
    if not row["missed_part"] or worst is None:
        return ""
    return f"{row['missed_part']} misses {formatting.percent(worst['missed_share'])}"
