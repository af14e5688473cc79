"""Applies the command line to a scenario, in which any condition can be set or replaced."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest.discovery import GROUPS, select_transports
from hopmeter.manifest.model import Manifest
from hopmeter.model.condition_values import PARAMETERS
from hopmeter.model.paces import PACES
from hopmeter.scenario import payload_cases
from hopmeter.scenario.model import Scenario
from hopmeter.scenario.resolve import DEFAULTS
from hopmeter.scenario.values import CHOICES_OF_LANGUAGE
from hopmeter.system.toml_files import one_of, validate

SOURCE = "the command line"
Table = dict[str, Any]
TOGETHER = ({"messages", "duration"}, {"trials", "budget"}, {"trials", "until"})
"""Keys that exclude each other: a key given on the command line replaces the others.

In a search, trials and budget do not exclude each other.
"""

BUDGET = {"budget", "until"}


def override(
    table: Table, given: Mapping[str, Any], settings: Sequence[str], manifests: Mapping[str, Manifest]
) -> Scenario:
    """Return the scenario with values overridden by the command line.

    If cases differ in a condition, a given value that occurs in some cases selects these cases. For example, `--payload
    timing` selects one case of a scenario that also has an image. Any other payload selects the case with the closest
    payload in size. Any other value replaces the values of every case.
    """
    changed = copy.deepcopy(table)
    if _fixes_length(given) and "search" not in table:
        _forget(changed, BUDGET)
    for key, value in given.items():
        _replace(changed, key, value)
    _forget_parameters(changed, given)
    asked = validate(Scenario, changed, SOURCE)
    if settings:
        _replace_settings(changed, _parse_settings(settings, _transports(asked, manifests)))
    return validate(Scenario, changed, SOURCE)


def _forget_parameters(table: Table, given: Mapping[str, Any]) -> None:
    """Remove the parameters of each pace that the command line replaces with another pace."""
    if "pace" in given:
        named = {PACES[each].parameter for each in _as_list(given["pace"]) if each in PACES}
        for part in (table, *table.get("case", [])):
            _forget(part, {each.key for each in PARAMETERS} - named - given.keys())


def _replace_settings(table: Table, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace the given settings in all cases. All other settings keep their values."""
    for name, values in settings.items():
        table.setdefault("settings", {}).setdefault(name, {}).update(values)
        for case in table.get("case", []):
            _forget(case.get("settings", {}).get(name, {}), values)


def shorten(table: Table, given: Mapping[str, Any]) -> Table:
    """Return the scenario with the values of its short form (`look`), except for values that the command line gives.

    The short form is ignored if the command line gives a number of trials or their duration, but no budget.
    """
    short = copy.deepcopy(table)
    look = short.pop("look", {})
    if not _fixes_length(given):
        _replace_settings(short, look.pop("settings", {}))
    for key, value in () if _fixes_length(given) else look.items():
        if not any(key in together and together & given.keys() for together in ({key}, *_excluding(table))):
            _replace(short, key, value)
    return short


def _fixes_length(given: Mapping[str, Any]) -> bool:
    """Return whether the command line gives the number or duration of trials, but no budget."""
    return "budget" not in given and bool({"duration", "trials"} & given.keys())


def lengthen(table: Table) -> Table:
    """Return the scenario without its short form (`look`)."""
    return {key: value for key, value in table.items() if key != "look"}


def _excluding(table: Table) -> Sequence[set[str]]:
    """Return the sets of keys that exclude each other. A search may have both trials and a budget."""
    return TOGETHER[:1] if "search" in table else TOGETHER


def _forget(table: Table, names: Iterable[str]) -> None:
    for name in names:
        table.pop(name, None)


def _replace(table: Table, key: str, value: Any) -> None:
    if key == "include":
        table[key] = list(dict.fromkeys([*_as_list(value), *table.get(key, [])]))
        return
    cases = table.get("case", [])
    selects = key in DEFAULTS  # only conditions select cells; the numbers of messages and trials do not
    whole = [{key: table[key], **case} if key in table else case for case in cases]
    chosen = [case for case in whole if key in case and _common(case[key], value)]
    differ = any(key in case for case in cases)
    if selects and differ and all(any(_common(case[key], each) for case in chosen) for each in _as_list(value)):
        table["case"] = [{**case, key: _common(case[key], value)} for case in chosen]
        return
    if key == payload_cases.KEY and (fitting := payload_cases.cases_for_payloads(whole, _as_list(value))):
        table["case"] = fitting
        return
    for part in (table, *cases):
        part.pop(key, None)
        for together in _excluding(table):
            if key in together:
                _forget(part, together)
    table[key] = value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _common(own: Any, asked: Any) -> list[Any]:
    """Return the requested values that a case contains.

    If the case names groups of transports or languages, all requested values are returned.
    """
    if any(word in GROUPS or word in CHOICES_OF_LANGUAGE for word in _as_list(own)):
        return _as_list(asked)
    return [value for value in _as_list(own) if value in _as_list(asked)]


def _transports(scenario: Scenario, manifests: Mapping[str, Manifest]) -> list[Manifest]:
    words = {word for part in (scenario, *scenario.case) for word in part.transport or []}
    return list(select_transports(sorted(words) or ["all"], dict(manifests)).values())


def _parse_settings(settings: Sequence[str], manifests: Sequence[Manifest]) -> dict[str, dict[str, list[Any]]]:
    """Parse `hwm=1,1000` or `zeromq.hwm=1`, and return the values by transport.

    A name without a transport applies to every transport of the run that has the setting.
    """
    found: dict[str, dict[str, list[Any]]] = {}
    for text in settings:
        key, equals, words = text.partition("=")
        if not equals or not key or not words:
            raise UsageError(
                "E-SETTING-VALUE",
                f'--set "{text}" is not a setting',
                "write NAME=VALUE or TRANSPORT.NAME=VALUE, such as hwm=1000",
            )
        transport, _, name = key.rpartition(".")
        owners = [each for each in manifests if name in each.settings and transport in ("", each.name)]
        if not owners:
            raise UsageError("E-UNKNOWN-SETTING", _nobody(key, transport, name, manifests))
        for owner in owners:
            found.setdefault(owner.name, {})[name] = [_value(owner, name, word) for word in words.split(",")]
    return found


def _nobody(key: str, transport: str, name: str, manifests: Sequence[Manifest]) -> str:
    listed = sorted({each for manifest in manifests for each in manifest.settings if transport in ("", manifest.name)})
    if transport and transport not in {manifest.name for manifest in manifests}:
        return f"--set {key}: transport {one_of(transport, [manifest.name for manifest in manifests])}"
    return f"--set {key}: setting {one_of(name, listed or ['none: these transports have no settings'])}"


def _value(manifest: Manifest, name: str, word: str) -> Any:
    try:
        return manifest.settings[name].parse(word)
    except RefusedValueError as cause:
        raise UsageError("E-SETTING-VALUE", f"--set {manifest.name}.{name}: {cause.what}") from cause
