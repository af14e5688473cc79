"""Which adapters a scenario needs, so that nothing else has to be built before it can run."""

from __future__ import annotations

from collections.abc import Iterator

from hopmeter.build.targets import Target, chosen, one_language_each
from hopmeter.manifest import selected
from hopmeter.plan.floors import FLOORS, LANGUAGE
from hopmeter.scenario import Ask, asks, files


def needed_for(name: str) -> list[Target]:
    """The adapters for a scenario, given by name or file, and those its floors are measured with."""
    scenario, _ = files.load(files.find(name))
    floors = [target for target in chosen(languages=[LANGUAGE]) if target.transport in FLOORS.values()]
    wanted = [target for ask in asks(scenario) for target in _needed(ask)]
    return list({target.title: target for target in [*floors, *wanted]}.values())


def _needed(ask: Ask) -> Iterator[Target]:
    targets = list(_offered(ask.axes["transport"]))
    for word in ask.axes["language"]:
        if word == "one":
            yield from one_language_each(targets)
        elif word in ("each", "pairs"):
            yield from targets
        else:
            yield from (target for target in targets if target.language in word.split(">"))


def _offered(transports: list[str]) -> Iterator[Target]:
    yield from chosen(list(selected(transports)))
