"""The scenario and the instrument support the same paces, and agree on which paces have a schedule."""

from __future__ import annotations

import re
from pathlib import Path

from hopmeter.model.paces import CHOICES, NAMES, PACES

INSTRUMENT = Path(__file__).parents[2] / "instrument/src"


def passage(file: str, pattern: str) -> str:
    [found] = re.findall(pattern, (INSTRUMENT / file).read_text())
    return str(found)


def test_the_instrument_knows_the_paces_of_a_scenario() -> None:
    names = re.findall(r"\w+", passage("spec/choices.rs", r"enum PaceKind \{([^}]*)\}"))
    assert tuple(map(str.lower, names)) == NAMES == tuple(PACES)


def test_a_scenario_may_name_all_paces_but_that_of_a_recording() -> None:
    assert (*CHOICES, "replay") == NAMES


def test_the_instrument_has_no_schedule_for_just_the_paces_that_have_none_in_a_scenario() -> None:
    names = re.findall(r"PaceKind::(\w+)", passage("pacer.rs", r"(PaceKind::.*) => return None,"))
    assert tuple(map(str.lower, names)) == tuple(name for name in PACES if not PACES[name].is_scheduled)


def test_the_instrument_awaits_the_return_of_messages_at_just_the_paces_that_say_so() -> None:
    names = re.findall(r"Self::(\w+)", passage("spec/choices.rs", r"fn awaits_return\(self\) -> bool \{([^}]*)\}"))
    assert list(map(str.lower, names)) == [name for name in PACES if PACES[name].awaits_return]
