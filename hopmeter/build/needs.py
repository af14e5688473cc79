"""Finds the adapters that a scenario needs, so that hopmeter builds only the needed adapters before the scenario
runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hopmeter.build.messages import MessageTarget, select_messages
from hopmeter.build.one_language import one_language_each, one_language_for_all
from hopmeter.build.targets import Target, choices, select_targets
from hopmeter.manifest import find_transports, select_transports
from hopmeter.plan.floors import FLOORS, LANGUAGE
from hopmeter.plan.workloads.workload_cells import participant_axes
from hopmeter.scenario import Ask, Scenario, asks, files
from hopmeter.scenario.flow_faults import receivers
from hopmeter.scenario.graph import has_own_transports
from hopmeter.schemas import CODECS, is_message, library_of


def needed_for(name: str) -> list[Target]:
    """Return the adapters that a scenario and its floors need. `name` is the name of a built-in scenario or the path of
    a scenario file."""
    scenario, _ = files.load(files.find(name))
    floors = [target for target in select_targets(languages=[LANGUAGE]) if target.transport in FLOORS.values()]
    targets_of = _targets_of_workload if scenario.flow else _targets_of_axes
    wanted = [target for ask in asks(scenario) for target in targets_of(scenario, ask)]
    return list({target.title: target for target in [*floors, *wanted]}.values())


def messages_of(name: str) -> list[MessageTarget]:
    """Return the codec libraries that a scenario needs and that are missing or out of date."""
    scenario, _ = files.load(files.find(name))
    if scenario.flow:
        wanted = [target for flow in scenario.flow.values() for target in _select([flow.payload], [flow.codec])]
    else:
        wanted = [target for ask in asks(scenario) for target in _messages_of(ask)]
    return [each for each in dict.fromkeys(wanted) if not library_of(each.payload, each.codec, each.language).facts]


def _messages_of(ask: Ask) -> list[MessageTarget]:
    words = [part for word in ask.axes["language"] for part in word.split(">")]
    languages = [] if {"one", "each", "pairs"} & set(words) else words
    return _select(ask.axes["payload"], ask.axes["codec"], languages)


def _select(payloads: Sequence[str], codecs: Sequence[str], languages: Sequence[str] = ()) -> list[MessageTarget]:
    """Return the codec libraries for those of the given payloads that are schema messages."""
    messages, known = [each for each in payloads if is_message(each)], [each for each in codecs if each in CODECS]
    return select_messages(messages, known, languages) if messages and known else []


def _targets_of_axes(_: Scenario, ask: Ask) -> Iterator[Target]:
    targets = select_targets(list(select_transports(ask.axes["transport"])))
    for word in ask.axes["language"]:
        if word == "one":
            found = list(one_language_each(targets, ask.axes))
        elif word in ("each", "pairs"):
            found = targets
        else:
            found = [target for target in targets if target.language in word.split(">")]
        yield from (each for target in found for each in _installations(target, ask))


def _installations(target: Target, ask: Ask) -> list[Target]:
    """Return one target for each installation of the transport's library that the settings name."""
    if not target.manifest.languages[target.offer.language].installations:
        return [target]
    chosen = choices(target.manifest, ask.settings.get(target.transport, {}))
    return [Target(each, each.offers[target.language]) for each in chosen]


def _targets_of_workload(scenario: Scenario, ask: Ask) -> Iterator[Target]:
    """Yield the adapters that each participant of a workload needs.

    All adapters of a participant have the same language, which supports all transports of the participant's flows.
    """
    own_alone = has_own_transports(scenario.flow)
    for each in ([] if own_alone else select_transports(ask.axes["transport"])) or [""]:
        for name, keys in scenario.participant.items():
            targets = select_targets(_transports_of(scenario, name, each))
            for word in [keys.language] if keys.language else ask.axes["language"]:
                if word == "one":
                    for wait in ask.axes["wait"]:
                        yield from one_language_for_all(targets, participant_axes(scenario, name, wait))
                else:
                    yield from (target for target in targets if target.language == word)


def _transports_of(scenario: Scenario, participant: str, axis: str) -> Sequence[str]:
    """Return the transports of a participant's flows. `axis` is the transport that a flow uses if the flow does not
    name a transport."""
    mine = [flow for flow in scenario.flow.values() if participant in (flow.sender, *receivers(flow))]
    return list(find_transports(dict.fromkeys(flow.transport or axis for flow in mine)))
