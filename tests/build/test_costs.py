"""A build reports its cost before it starts."""

from __future__ import annotations

import pytest

from hopmeter.build import costs, needs, one_language, targets
from hopmeter.manifest import Readiness, every
from hopmeter.plan.language_choice import is_interpreted
from hopmeter.system import humanize


@pytest.mark.parametrize(
    ("seconds", "megabytes", "words"),
    [
        (0.2, 0.4, ("1 s", "400 kB")),
        (35, 25.4, ("35 s", "25 MB")),
        (89, 999, ("89 s", "999 MB")),
        (220, 1400, ("4 min", "1.4 GB")),
        (5400, 1400, ("1.5 h", "1.4 GB")),
    ],
)
def test_amounts_are_told_in_the_unit_that_a_person_reads(
    seconds: float, megabytes: float, words: tuple[str, str]
) -> None:
    assert (humanize.time(seconds), humanize.size(megabytes)) == words


def test_one_adapter_is_told_alone_and_many_together() -> None:
    known = {target.title: target for target in targets.select_targets()}
    zenoh = known["zenoh (rust)"]
    assert zenoh.offer.build_cost is not None
    assert costs.format_costs([zenoh]).startswith(
        f"a first build takes up to {humanize.time(zenoh.offer.build_cost.seconds)}, "
    )
    both = costs.format_costs([zenoh, known["unix (c++)"]])
    assert f"including zenoh (rust) {humanize.time(zenoh.offer.build_cost.seconds)}" in both
    assert costs.format_costs([known["libxr (c++)"]]) == "", "nobody but its user can know"


def test_the_quick_scenario_is_built_in_four_minutes_and_compiled_where_that_suffices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(one_language, "readiness", lambda one, word: Readiness(one.name, word, ready=False))
    monkeypatch.setattr(one_language.system, "rights", list)
    found = needs.needed_for("quick")
    assert sum(each.offer.build_cost.seconds for each in found if each.offer.build_cost) <= 240
    interpreted = {each.transport for each in found if is_interpreted(each.language)}
    longest = {"zenoh"}  # a build of zenoh in Rust takes five minutes
    assert interpreted == longest | {name for name, one in every().items() if list(one.offers) == ["python"]} & {
        each.transport for each in found
    }


def test_every_adapter_that_registries_have_says_what_it_takes() -> None:
    silent = {
        f"{name} ({language})"
        for name, one in every().items()
        for language, offer in one.offers.items()
        if offer.user is None and offer.build_cost is None and (offer.pip or language != "python")
    }
    assert silent == set()
