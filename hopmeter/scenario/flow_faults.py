"""Validates one flow of a workload, and its consistency with the participants and the other flows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hopmeter.manifest.discovery import GROUPS
from hopmeter.model.condition_values import PARAMETERS
from hopmeter.model.paces import SCHEDULED
from hopmeter.recordings.source import RecordingError, parse_recording
from hopmeter.scenario.pace_parameters import Fault, idle_parameters, missing_parameters
from hopmeter.scenario.workload import Flow, Participant
from hopmeter.system.toml_files import one_of


def flow_faults(name: str, flows: Mapping[str, Flow], participants: Mapping[str, Participant]) -> Iterator[Fault]:
    """Yield the errors of a flow."""
    flow, key = flows[name], f"flow.{name}"
    yield from _participant_faults(key, flow, participants)
    yield from _replay_faults(key, flow)
    yield from _pace_faults(key, flow)
    yield from _call_faults(key, flow, participants)
    yield from _cause_faults(key, flow, flows)
    yield from _return_faults(name, flow, flows)
    yield from _transport_faults(key, flow)


def receivers(flow: Flow) -> list[str]:
    """Return the participants that receive a flow's messages or reply to its calls."""
    return flow.to or flow.call or []


def causes(flow: Flow) -> list[str]:
    """Return the flows that cause a flow's messages, or whose latest message is sent along with them."""
    return [*(flow.after or []), *filter(None, (flow.latest, flow.during))]


def _participant_faults(key: str, flow: Flow, participants: Mapping[str, Participant]) -> Iterator[Fault]:
    if (flow.to is None) == (flow.call is None):
        yield "E-VALUES-CONFLICT", f"{key}: give either `to`, for messages, or `call`, for calls"
    named = [("from", flow.sender), *((word, each) for word in ("to", "call") for each in getattr(flow, word) or [])]
    for word, participant in named:
        if participant not in participants:
            yield "E-VALUE-CHOICE", f"{key}.{word}: participant {one_of(participant, participants)}"
    if flow.sender in receivers(flow):
        yield "E-VALUES-CONFLICT", f"{key}: `{flow.sender}` sends to itself; name another participant"
    if len(set(receivers(flow))) < len(receivers(flow)):
        yield "E-VALUES-CONFLICT", f"{key}: a participant is named twice"


def _replay_faults(key: str, flow: Flow) -> Iterator[Fault]:
    if flow.replay is None:
        if flow.speed != 1 or flow.loop:
            yield "E-VALUES-CONFLICT", f"{key}: `speed` and `loop` need `replay`"
        return
    timed = ("rate", "after", "during", "returns", "pace", *(each.key for each in PARAMETERS))
    for word in (*timed, "payload", "codec", "device", "share"):
        if getattr(flow, word) != Flow.model_fields[word].default:
            what = "times" if word in timed else "messages"
            yield "E-VALUES-CONFLICT", f"{key}.{word}: the {what} come from the recording of `replay`; omit `{word}`"
    if flow.touch == "none":
        yield "E-VALUES-CONFLICT", f"{key}.touch: the sender of a recording writes its bytes; omit `touch`"
    yield from _topic_faults(f"{key}.replay", flow.replay)


def _topic_faults(key: str, replay: str) -> Iterator[Fault]:
    from hopmeter.recordings.formats import check_topic  # imported lazily, because few scenarios need it

    try:
        check_topic(parse_recording(replay))
    except RecordingError as wrong:
        yield wrong.code, f"{key}: {wrong.what}; {wrong.remedy}"


def _pace_faults(key: str, flow: Flow) -> Iterator[Fault]:
    yield from missing_parameters(f"{key}.", [flow.pace], dict(flow))
    yield from idle_parameters(f"{key}.", [flow.pace], dict(flow))
    if flow.after or flow.during:
        wrong = [word for word in ("rate", "latest") if getattr(flow, word) is not None]
        if flow.pace != "open":
            wrong.append("pace")
        if wrong:
            yield "E-VALUES-CONFLICT", f"{key}.{wrong[0]}: a flow with `after` or `during` has no clock; omit it"
    elif not flow.returns:
        yield from _clock_faults(key, flow)
    if not flow.after and (flow.every > 1 or flow.join != "any"):
        yield "E-VALUES-CONFLICT", f"{key}: `every` and `join` need `after`"
    if not flow.after and flow.repeat > 1:
        yield "E-VALUES-CONFLICT", f"{key}.repeat: only a flow with `after` repeats; a clock has a `rate`"
    yield from _work_faults(key, flow)


def _clock_faults(key: str, flow: Flow) -> Iterator[Fault]:
    if flow.pace in ("closed", "max"):
        needs = '; "closed" needs `returns`, the flow that brings its messages back' if flow.pace == "closed" else ""
        said = one_of(flow.pace, SCHEDULED)
        yield "E-VALUE-CHOICE", f"{key}.pace: in a workload, {said}{needs}"
    elif flow.rate is None and not flow.replay:
        yield "E-MISSING-KEY", f'{key}.rate is missing; give a rate, such as rate = 30, or the cause: after = "FLOW"'


def _work_faults(key: str, flow: Flow) -> Iterator[Fault]:
    if flow.work != "none" and not (flow.after or flow.during or flow.call):
        yield (
            "E-VALUES-CONFLICT",
            f"{key}.work: a flow with a clock does no work before it sends; its receivers do `receiver_work`",
        )
    if flow.receiver_work != "none" and flow.call:
        yield "E-VALUES-CONFLICT", f"{key}.receiver_work: the work of the server of a call is `work`"


def _call_faults(key: str, flow: Flow, participants: Mapping[str, Participant]) -> Iterator[Fault]:
    if flow.after and flow.call and len(flow.call) > 1:
        yield "E-VALUES-CONFLICT", f"{key}.call: a call with `after` calls one participant"
    if flow.concurrency == 1:
        return
    if not flow.call or len(flow.call) > 1 or flow.during:
        yield (
            "E-VALUES-CONFLICT",
            f"{key}.concurrency: only calls to one participant, by a clock or with `after`, are under way at once",
        )
    sender = participants.get(flow.sender)
    if sender and sender.threads != "per-flow" and sender.threads < flow.concurrency:
        said = f"`{flow.sender}` handles {sender.threads} at once, too few for {flow.concurrency} concurrent calls"
        yield "E-VALUES-CONFLICT", f"{key}.concurrency: {said}; give it more `threads`, or omit them"


def _return_faults(name: str, flow: Flow, flows: Mapping[str, Flow]) -> Iterator[Fault]:
    """Check `returns`, the only allowed cycle: a flow waits until its messages come back as messages of another
    flow."""
    key = f"flow.{name}"
    if not flow.returns:
        return
    clock = [word for word in ("rate", "latest", "after", "during") if getattr(flow, word) is not None]
    if clock:
        yield "E-VALUES-CONFLICT", f"{key}.{clock[0]}: the next message is sent when one of `returns` arrives; omit it"
    elif flow.pace != "closed":
        yield "E-VALUES-CONFLICT", f'{key}.returns: only a flow with pace = "closed" waits for messages that return'
    elif flow.call:
        yield "E-VALUES-CONFLICT", f"{key}.returns: a call returns as its reply; use `to`, or give the calls a `rate`"
    elif flow.returns not in flows:
        yield "E-VALUE-CHOICE", f"{key}.returns: flow {one_of(flow.returns, flows)}"
    elif flow.sender not in receivers(flows[flow.returns]):
        arrives = ", ".join(receivers(flows[flow.returns]))
        said = f"`{flow.returns}` does not arrive at `{flow.sender}`; it arrives at {arrives}"
        yield "E-VALUES-CONFLICT", f"{key}.returns: {said}"
    elif name not in _all_causes(flow.returns, flows):
        said = f"messages of `{flow.returns}` are not caused by this flow, so they would not be its return"
        yield "E-VALUES-CONFLICT", f'{key}.returns: {said}; use after = "{flow.returns}"'


def _all_causes(name: str, flows: Mapping[str, Flow]) -> list[str]:
    """Return the flows that cause a flow's messages, directly or through other flows."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        told = flows[waiting.pop()]
        new = [each for each in told.after or [] if each in flows and each not in found]
        found += new
        waiting += new
    return found


def _cause_faults(key: str, flow: Flow, flows: Mapping[str, Flow]) -> Iterator[Fault]:
    if flow.after and flow.during:
        yield "E-VALUES-CONFLICT", f"{key}: give either `after` or `during`"
    if flow.during and not flow.call:
        yield "E-VALUES-CONFLICT", f"{key}.during: only a call happens during another call; use `after` for messages"
    for word in ("after", "latest", "during"):
        value = getattr(flow, word)
        for cause in value if isinstance(value, list) else filter(None, [value]):
            yield from _one_cause(f"{key}.{word}", flow, cause, flows, is_call=word == "during")


def _one_cause(key: str, flow: Flow, cause: str, flows: Mapping[str, Flow], is_call: bool) -> Iterator[Fault]:
    if cause not in flows:
        yield "E-VALUE-CHOICE", f"{key}: flow {one_of(cause, flows)}"
    elif flow.sender not in receivers(flows[cause]):
        arrives = ", ".join(receivers(flows[cause]))
        yield "E-VALUES-CONFLICT", f"{key}: `{cause}` does not arrive at `{flow.sender}`; it arrives at {arrives}"
    elif is_call and not flows[cause].call:
        yield "E-VALUES-CONFLICT", f"{key}: `{cause}` is no call"


def _transport_faults(key: str, flow: Flow) -> Iterator[Fault]:
    if flow.transport in GROUPS:
        yield (
            "E-VALUE-CHOICE",
            f'{key}.transport: "{flow.transport}" stands for several transports; name one, or omit it and set the '
            "transport of the scenario",
        )
    if flow.settings and flow.transport is None:
        yield (
            "E-VALUES-CONFLICT",
            f"{key}.settings: these are the settings of the flow's own transport; add its `transport`, or use "
            "[settings.TRANSPORT] of the scenario",
        )
