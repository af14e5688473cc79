"""Add lossless settings if the user requires that no message is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.plan.capabilities import Capabilities
from hopmeter.scenario.requirement import Requirement, parse


def add_lossless(
    toml: Mapping[str, Any], given: Mapping[str, Any], chosen: Iterable[str], capabilities: Capabilities
) -> dict[str, Any]:
    """Return the scenario, with the lossless settings of the chosen transports if the scenario requires that no message
    is lost.

    A setting that is already in the scenario keeps its value.
    """
    wanted = parse_requirements(given.get("require") or toml.get("require") or [])
    if not any(each.metric == "lost" and each.limit == 0 for each in wanted):
        return dict(toml)
    receivers = max(_receivers(toml, given))
    settings = dict(toml.get("settings", {}))
    for name in chosen:
        lossless = capabilities.manifests[name].lossless
        if lossless and (lossless.max_receivers is None or receivers <= lossless.max_receivers):
            settings[name] = {**lossless.settings, **settings.get(name, {})}
    return {**toml, "settings": {name: values for name, values in settings.items() if values}}


def parse_requirements(texts: str | Iterable[str]) -> list[Requirement]:
    """Return the parsed requirements. Raises a UsageError that lists the allowed forms."""
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
