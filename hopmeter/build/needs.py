"""Find the adapters that a scenario needs, so that nothing else must be built before it can run."""

from __future__ import annotations

from collections.abc import Iterator

from hopmeter.build.targets import Target, one_language_each, select_targets
from hopmeter.manifest import select_transports
from hopmeter.plan.floors import FLOORS, LANGUAGE
from hopmeter.scenario import Ask, asks, files


def needed_for(name: str) -> list[Target]:
    """Return the adapters that a scenario (a name or a file) and its floors need."""
    scenario, _ = files.load(files.find(name))
    floors = [target for target in select_targets(languages=[LANGUAGE]) if target.transport in FLOORS.values()]
    wanted = [target for ask in asks(scenario) for target in _targets_of(ask)]
    return list({target.title: target for target in [*floors, *wanted]}.values())


def _targets_of(ask: Ask) -> Iterator[Target]:
    targets = list(_all_targets(ask.axes["transport"]))
    for word in ask.axes["language"]:
        if word == "one":
            yield from one_language_each(targets)
        elif word in ("each", "pairs"):
            yield from targets
        else:
            yield from (target for target in targets if target.language in word.split(">"))


def _all_targets(transports: list[str]) -> Iterator[Target]:
    yield from select_targets(list(select_transports(transports)))
