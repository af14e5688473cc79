"""Add lossless settings if the user requires that no message is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import select_transports
from hopmeter.plan.capabilities import Capabilities
from hopmeter.scenario.requirement import Requirement, parse


def add_lossless(
    toml: Mapping[str, Any], given: Mapping[str, Any], chosen: Iterable[str], capabilities: Capabilities
) -> dict[str, Any]:
    """Return the scenario. If the scenario requires that no message is lost, add the lossless settings of the chosen
    transports.

    A setting that is already in the scenario keeps its value.
    """
    wanted = parse_requirements(given.get("require") or toml.get("require") or [])
    if not any(each.metric == "lost" and each.limit == 0 for each in wanted):
        return dict(toml)
    return _with_settings(toml, given, chosen, capabilities)


def add_lossless_search(
    toml: Mapping[str, Any], given: Mapping[str, Any], capabilities: Capabilities
) -> dict[str, Any]:
    """Return the scenario. If the scenario repeats searches, add the lossless settings of its transports.

    A repeated search looks for the highest rate without lost messages, unless a requirement allows some loss.
    """
    wanted = parse_requirements(given.get("require") or toml.get("require") or [])
    if not toml.get("search", {}).get("rounds") or any(each.metric == "lost" and each.limit for each in wanted):
        return dict(toml)
    return _with_settings(toml, given, _transports(toml, given, capabilities), capabilities)


def _transports(toml: Mapping[str, Any], given: Mapping[str, Any], capabilities: Capabilities) -> list[str]:
    parts = [given] if given.get("transport") else [toml, *toml.get("case", [])]
    words = [str(word) for part in parts for word in _as_list(part.get("transport") or [])]
    return list(select_transports(words, dict(capabilities.manifests)))


def _with_settings(
    toml: Mapping[str, Any], given: Mapping[str, Any], chosen: Iterable[str], capabilities: Capabilities
) -> dict[str, Any]:
    receivers = max(_receivers(toml, given))
    settings = dict(toml.get("settings", {}))
    for name in chosen:
        lossless = capabilities.manifests[name].lossless
        if lossless and (lossless.max_receivers is None or receivers <= lossless.max_receivers):
            settings[name] = {**lossless.settings, **settings.get(name, {})}
    return {**toml, "settings": {name: values for name, values in settings.items() if values}}


def parse_requirements(texts: str | Iterable[str]) -> list[Requirement]:
    """Return the parsed requirements. Raises a UsageError that lists the allowed forms of a requirement."""
    try:
        return [parse(text) for text in _as_list(texts)]
    except RefusedValueError as cause:
        raise UsageError(cause.code, f"--require: {cause.what}") from cause


def _receivers(toml: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[int]:
    """Yield the possible numbers of receivers of a message in a scenario."""
    yield 1
    for part in (toml, *toml.get("case", []), given):
        yield from (int(each) for each in _as_list(part.get("sinks") or []))
    for flow in toml.get("flow", {}).values():
        yield len(_as_list(flow.get("to") or []))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
