"""The scenario and the instrument know the same paces, and agree on which of them have a schedule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from hopmeter.model.paces import UNSCHEDULED, PaceKind

INSTRUMENT = Path(__file__).parents[2] / "instrument/src"


def passage(file: str, pattern: str) -> str:
    """The one passage of a source file that a pattern finds."""
    [found] = re.findall(pattern, (INSTRUMENT / file).read_text())
    return str(found)


def test_the_instrument_knows_the_paces_of_a_scenario() -> None:
    names = re.findall(r"\w+", passage("spec.rs", r"enum PaceKind \{([^}]*)\}"))
    assert tuple(map(str.lower, names)) == get_args(PaceKind)


def test_the_instrument_has_no_schedule_for_just_the_paces_that_have_none_in_a_scenario() -> None:
    names = re.findall(r"PaceKind::(\w+)", passage("pacer.rs", r"(PaceKind::.*) => return None,"))
    assert tuple(map(str.lower, names)) == UNSCHEDULED
