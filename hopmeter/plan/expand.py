"""Expand the conditions of a scenario to cells: one for each requested combination, even if it cannot be measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import Manifest, find_transports, select_transports
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.messages import tag
from hopmeter.model import units
from hopmeter.model.cell import AXES, Cell
from hopmeter.model.cell_parts import waits_of
from hopmeter.model.condition_values import DECLARED, PARAMETERS, rates_of_keys, sending_s
from hopmeter.model.conditions import AT_ONCE, CONDITIONS, NOTHING
from hopmeter.model.paces import MOST_UNSCHEDULED_MESSAGES, PACES
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.language_choice import preferred_language
from hopmeter.plan.placement.cores import Machine, NoCoresError
from hopmeter.scenario import Ask, Scenario
from hopmeter.schemas import is_message
from hopmeter.system.toml_files import one_of

PATIENCE_S = 30.0
"""The maximum time of a trial with the pace `closed` or `max` if the scenario gives only a number of messages."""


IN_NAME = ("transport", "language")
DISPATCH, PAUSE = DECLARED["dispatch"], DECLARED["pause"]


def expand(scenario: Scenario, ask: Ask, capabilities: Capabilities) -> Iterator[Cell]:
    """Yield the cells of one case of the scenario. The cells have no ids yet. Cells that need unavailable cores are
    already marked as dropped."""
    names = [name.removesuffix("_hz") for name in AXES]
    transports = transports_of(ask, capabilities)
    for values in itertools.product(*(ask.axes[name] for name in names)):
        axes = dict(zip(names, values, strict=True))
        for manifest in transports:
            for language in _languages(manifest, ask.axes["language"], axes, capabilities):
                for settings in settings_of(manifest, ask):
                    cell = cell_of(scenario, ask, manifest, language, settings, axes, capabilities.machine)
                    yield from (cell.with_values(no_idle_states=each) for each in idle_states(scenario, capabilities))


def idle_states(scenario: Scenario, capabilities: Capabilities) -> list[bool]:
    """Return the values of the option `no_idle_states` that the run measures: one value, or first true and then
    false."""
    if scenario.no_idle_states == "both":
        return [True, False] if capabilities.may_keep_awake and scenario.budget_s else [False]
    return [scenario.no_idle_states]


def transports_of(ask: Ask, capabilities: Capabilities) -> list[Manifest]:
    """Return the transports that a case of the scenario names. Raises UsageError if a setting is unknown or a value is
    invalid."""
    _check_settings(ask, capabilities)
    return list(select_transports(ask.axes["transport"], dict(capabilities.manifests)).values())


def _check_settings(ask: Ask, capabilities: Capabilities) -> None:
    for name, settings in ask.settings.items():
        manifest = find_transports([name], dict(capabilities.manifests))[name]
        for key, values in settings.items():
            if key not in manifest.settings:
                raise UsageError("E-UNKNOWN-SETTING", f"settings.{name}: {one_of(key, manifest.settings)}")
            for value in values:
                try:
                    manifest.settings[key].check(value)
                except RefusedValueError as cause:
                    raise UsageError("E-SETTING-VALUE", f"settings.{name}.{key}: {cause.what}") from cause


def _languages(manifest: Manifest, asked: list[str], axes: Mapping[str, Any], capabilities: Capabilities) -> list[str]:
    offered = list(manifest.offers)
    found: list[str] = []
    for word in asked:
        if word == "one":
            found.append(preferred_language([manifest], axes, capabilities.ready))
        elif word == "each":
            found += offered
        elif word == "pairs":
            found += [f"{one}>{other}" if one != other else one for one in offered for other in offered]
        else:
            found.append(word)
    return list(dict.fromkeys(found))


def settings_of(manifest: Manifest, ask: Ask) -> Iterator[dict[str, Any]]:
    """Yield the settings of the transport for each combination of setting values in a case of the scenario."""
    given = ask.settings.get(manifest.name, {})
    for values in itertools.product(*given.values()):
        chosen = dict(zip(given, values, strict=True))
        yield {name: manifest.settings[name].check(value) for name, value in chosen.items()}


def cell_of(
    scenario: Scenario,
    ask: Ask,
    manifest: Manifest,
    language: str,
    given: dict[str, Any],
    axes: dict[str, Any],
    machine: Machine,
) -> Cell:
    """Return the cell that measures one combination of conditions."""
    parts = language_parts(language, axes["relays"])
    offer = manifest.offers.get(parts[0])
    relay = manifest.offers.get(parts[1] if axes["relays"] else parts[0])
    axes = {**axes, "wait": resolve_wait(axes["wait"], manifest.offers.get(parts[-1]))}
    core_list, no_cores = _cores(machine, axes["cores"])
    cell = Cell.of(
        id="",
        transport=manifest.name,
        language=join_languages(parts),
        payload_bytes=units.payload_bytes(axes["payload"]),
        **_conditions(axes, manifest, parts),
        trials=ask.trials,
        profile=profile_of(manifest, given),
        settings=manifest.resolve_settings(given),
        acknowledged_by=manifest.acknowledged_by(manifest.resolve_settings(given)),
        core_list=core_list,
        dropped=no_cores,
        forward=relay.forward if relay else "copy",
        send=offer.send if offer else manifest.send,
        rpc=manifest.rpc or "duplex",
        system_copies=manifest.system_copies,
        own_encoders=axes["codec"] != "none" and bool(offer and offer.objects),
        own_types=any(each.types for each in manifest.offers.values()),
        ranked=manifest.ranked,
        installable=manifest.installable,
        **length(ask, axes),
        **_manner(scenario),
    )
    return cell if ask.duration else cell.with_values(limit_s=cell.schedule.limit_s + _worked_s(cell))


def resolve_wait(asked: str, receiver: Offer | None) -> str:
    """Return the kinds of `wait` that the user's words stand for in the adapter of a receiver. If the adapter lacks the
    event loop that the user named, the name stays in the cell, which is dropped for this reason later."""
    return "+".join(receiver.wait_for(each) for each in waits_of(asked)) if receiver else asked


def _conditions(axes: Mapping[str, Any], manifest: Manifest, parts: tuple[str, str, str]) -> dict[str, Any]:
    """Return the conditions of a cell, except transport, language and rate. A condition that has no effect in this cell
    gets its default value."""
    values = {each.name: axes[each.key] for each in CONDITIONS if each.name not in (*IN_NAME, "rate_hz")}
    idle = [each for each in PARAMETERS if each.key != PACES[axes["pace"]].parameter]
    idle += [PAUSE] if axes["restart"] == NOTHING else []
    values |= {each.name: each.default for each in (*idle, *([] if axes["pattern"] == "scatter" else [DISPATCH]))}
    # Objects are not touched separately: encoding touches an object at the source, and decoding touches it at the sink.
    has_object = axes["codec"] != "none" or is_message(axes["payload"])
    touch = "none" if has_object else axes["touch"]
    return values | {"placement": _placement(axes["placement"], manifest, parts), "touch": touch}


def _worked_s(cell: Cell) -> float:
    """Return the total work time of an unpaced trial in seconds, or 0 for a paced trial."""
    return 0.0 if cell.axes.rate_hz else (cell.schedule.messages + cell.schedule.warmup) * (cell.axes.ideal_s or 0.0)


def _manner(scenario: Scenario) -> dict[str, Any]:
    """Return those values of a cell that are equal in all cells of a scenario."""
    return {
        "reply": scenario.reply,
        "checksum": scenario.checksum,
        "spin_us": scenario.spin_us,
        "drain_s": units.seconds(scenario.drain),
        "retry_s": units.seconds(scenario.retry),
        "patience_s": units.seconds(scenario.patience),
        "timeout_s": units.seconds(scenario.timeout),
        "fifo": scenario.fifo,
        "mlock": scenario.mlock,
        "background": scenario.background.text if scenario.background else "",
    }


def length(ask: Ask, axes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial's number of messages, warm-up, rate and time limit."""
    rates = rates_of_keys(axes)
    span = units.seconds(ask.duration) if ask.duration else None
    if ask.messages is not None:
        messages = ask.messages
    else:
        asked = (span or 0) * rates.mean_hz if rates else min(MOST_UNSCHEDULED_MESSAGES, (span or 0) * 1_000_000)
        messages = max(ask.least, round(asked))
    warmup = max(2, min(1000, messages // 10)) if ask.warmup is None else ask.warmup
    limit = (span or PATIENCE_S) if rates is None else 1.5 * sending_s(rates, messages, warmup) + 3
    if axes["begin"] == AT_ONCE:
        # The first message counts, so there is no warm-up. A receiver that gets no message waits until the limit.
        warmup, limit = 0, sending_s(rates, messages, 0) + 1 if rates else limit
    if axes["restart"] != NOTHING and rates:
        limit = sending_s(rates, messages, warmup) + 1  # a receiver that does not recover waits until the limit
    timed = rates is None and span is not None
    return {
        "rate_hz": rates and rates.first_hz,
        "messages": messages,
        "warmup": warmup,
        "limit_s": limit,
        "timed": timed,
    }


def _cores(machine: Machine, word: str) -> tuple[tuple[int, ...], str]:
    try:
        return machine.core_list(word), ""
    except NoCoresError as absent:
        return (), tag("D-NO-CORES", f"cores {word}: {absent}")


def _placement(word: str, manifest: Manifest, parts: tuple[str, str, str]) -> str:
    if word != "apart":
        return word
    offer = manifest.offers.get(parts[0])
    placements = offer.placements if offer else manifest.placements
    return "process" if "process" in placements else "thread"


def profile_of(manifest: Manifest, given: Mapping[str, Any]) -> str:
    """Return the settings that differ from their defaults, as `name=value name=value`."""
    settings = manifest.settings
    differing = ((name, value) for name, value in sorted(given.items()) if value != settings[name].default)
    return " ".join(f"{name}={settings[name].label(value)}" for name, value in differing)


def language_parts(language: str, relays: int) -> tuple[str, str, str]:
    """Split a value such as `rust>python` into the languages of the source, the relays and the sink. If the value names
    only two languages, the relays use the language of the source."""
    parts = language.split(">")
    if len(parts) == 1:
        return parts[0], parts[0], parts[0]
    return parts[0], parts[1] if len(parts) == 3 and relays else parts[0], parts[-1]


def join_languages(parts: tuple[str, str, str]) -> str:
    """Join the languages of the source, the relays and the sink to a value such as `rust>python`. If all three
    languages are equal, the value is a single word."""
    if len(set(parts)) == 1:
        return parts[0]
    return ">".join(parts) if parts[1] != parts[0] else f"{parts[0]}>{parts[2]}"
