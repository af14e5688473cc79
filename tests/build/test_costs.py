"""What a build takes is told before it begins."""

from __future__ import annotations

import pytest

from hopmeter.build import costs, targets
from hopmeter.manifest import every
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


def test_every_adapter_that_registries_have_says_what_it_takes() -> None:
    silent = {
        f"{name} ({language})"
        for name, one in every().items()
        for language, offer in one.offers.items()
        if offer.user is None and offer.build_cost is None and (offer.pip or language != "python")
    }
    assert silent == set()
