"""`hopmeter ask`: coordinates servers that were started with `hopmeter serve`. The coordinator runs one trial with the
servers on their hosts and the client on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from hopmeter import manifest, plan
from hopmeter.api.measuring import Consoles
from hopmeter.api.planning import check_measurable, local_capabilities
from hopmeter.hosts.coordinator.connection import naming_damage
from hopmeter.hosts.coordinator.session import HostSession, naming
from hopmeter.hosts.protocol import value_checks
from hopmeter.images import decoded
from hopmeter.images.source import Size
from hopmeter.interactive.asker_results import Answers
from hopmeter.interactive.frame_times import read_calls
from hopmeter.interactive.frames_scenario import HERE, Frames, Server, brokers, check_work, make_scenario
from hopmeter.interactive.meeting import Peer, connect_to_peer, join_hosts
from hopmeter.interactive.meeting_point import MeetingPoint
from hopmeter.messages import split_code, with_remedy
from hopmeter.model import units
from hopmeter.plan import Cell, Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.runtime.executor import Executor
from hopmeter.runtime.inputs.frames import decode_payloads
from hopmeter.runtime.signals import Alarm
from hopmeter.store.run_folder import RunFolder
from hopmeter.system.scratch_dir import ScratchDir

LONGEST_WORD = 100
STOPPED = "E-STOPPED"
TOO_SLOW = "not all frames were sent in time, because a server is slower than its work requires"
WAITING = "another `hopmeter ask` is calling this server; waiting until it ends (Ctrl-C stops waiting)"


def ask(asked: Frames, points: Mapping[str, MeetingPoint], within_s: float, say: Callable[[str], object]) -> Answers:
    """Send frames to the servers at the given meeting points, and return the servers' replies. The function `say`
    prints the progress until the first frame is sent.

    Raises HopmeterError if a server cannot be used, and InterruptedRunError if the user presses Ctrl-C before the first
    frame.
    """
    with Alarm() as alarm, _meet(points, within_s, alarm, say) as peers:
        servers = [read_offer(name, peers[name].offer) for name in points]
        session = join_hosts(peers, HERE)
        capabilities = local_capabilities(session)
        # The endpoints of a scatter are placed on the hosts in the order of the names in `hosts`.
        capabilities = replace(capabilities, hosts={name: capabilities.hosts[name] for name in (HERE, *points)})
        made = plan.make("ask", make_scenario(asked, servers), capabilities)
        check_measurable(made)
        limited = [cell.with_values(limit_s=asked.limit_s(servers)) for cell in made.runnable]
        return _measure(replace(made, cells=limited), capabilities, session, Answers(asked, servers, _size(asked)), say)


@contextmanager
def _meet(
    points: Mapping[str, MeetingPoint], within_s: float, alarm: Alarm, say: Callable[[str], object]
) -> Iterator[dict[str, Peer]]:
    """Connect to all servers in the order of their names, so that two commands with the same servers do not
    deadlock."""
    with ExitStack() as stays:
        connecting = {
            name: connect_to_peer(points[name], name, {}, within_s, alarm, partial(say, f"{name} is busy: {WAITING}"))
            for name in sorted(points)
        }
        yield {name: stays.enter_context(peer) for name, peer in connecting.items()}


def read_offer(name: str, offer: Mapping[str, Any]) -> Server:
    """Return the server that an offer from `hopmeter serve` describes. Raises HostError if the offer is invalid."""
    with naming(name), naming_damage(name):
        transport = value_checks.word(offer, "transport", manifest.every())
        work, broker = (
            value_checks.printable({"broker": "", **offer}, key, LONGEST_WORD) for key in ("work", "broker")
        )
        return Server(name, transport, check_work(work), broker)


def _size(asked: Frames) -> Size:
    size = units.frame_size(asked.payload)
    if size is None:
        told = units.payload(asked.payload)
        size = int(told["width"]), int(told["height"])
    return size


def _measure(
    made: Plan, capabilities: Capabilities, session: HostSession, found: Answers, say: Callable[[str], object]
) -> Answers:
    with decode_payloads(made) as pictures, ScratchDir() as ground:
        folder = RunFolder.create(ground.directory, "ask", {})
        more: dict[str, Any] = {"pictures": pictures, "hosts": session.remote, "brokers": brokers(found.servers)}
        executor = Executor(made, capabilities, folder, Consoles.silent().progress, keeps_cut=True, **more)
        say(f"calling {found.names}; press Ctrl-C to stop")
        complete = executor.run()
        described = "".join(decoded.describe(each.facts) for each in pictures.values())
        return read_trial(replace(found, pictures=described, interrupted=not complete), folder, made.cells[0])


def read_trial(found: Answers, folder: RunFolder, cell: Cell) -> Answers:
    """Return `found` with the trial's results added. Return `found` unchanged if Ctrl-C ended the trial before its
    start."""
    for trial in folder.trials:
        clients = [one for node in trial.nodes for one in node["endpoints"] if one["role"] == "client"]
        is_cut = split_code(trial.reason)[1] == STOPPED
        failure = "" if trial.good or is_cut else with_remedy(trial.reason, trial.remedy)
        failure = failure or (TOO_SLOW if any(each["limit_reached"] for each in clients) else "")
        wrong = sum(each["content_errors"] + each["malformed"] for each in clients)
        found = replace(found, wrong=wrong, failure=failure, interrupted=found.interrupted or is_cut)
        if trial.samples:
            calls, unanswered = read_calls(folder.path / trial.samples, cell, found.servers)
            found = replace(found, calls=calls, unanswered=unanswered)
    return found
