"""Which case of a scenario measures a payload that no case has: the one whose own payload is nearest in size.

A case with a payload of its own also has the rate and the messages that suit it, so another payload takes one case, not
all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hopmeter.errors import RefusedValueError
from hopmeter.model import units
from hopmeter.model.cell_parts import HEADER_BYTES

Case = dict[str, Any]
KEY = "payload"


def cases_for_payloads(cases: Sequence[Case], payloads: Sequence[str]) -> list[Case]:
    """Return the cases with the payloads that each of them measures, without cases that measure none.

    The result is empty if the payloads of the cases do not differ, or if a payload is not valid.
    """
    nearest = _nearest(cases, payloads)
    fitting = [{**case, KEY: [each for each in payloads if nearest.get(each) in own_payloads(case)]} for case in cases]
    return [case for case in fitting if case[KEY]]


def payload_notes(table: Mapping[str, Any], payloads: Sequence[str]) -> list[str]:
    """Return a sentence for each payload that no case of the scenario has."""
    cases = [{KEY: table.get(KEY), **case} for case in table.get("case", [])]
    return [
        f"{payload} is measured as {own} is: of this scenario's payloads, this is the nearest in size"
        for payload, own in _nearest(cases, payloads).items()
        if payload != own
    ]


def own_payloads(case: Mapping[str, Any]) -> list[str]:
    """Return the payloads of a case as a list."""
    value = case.get(KEY)
    return value if isinstance(value, list) else [value] if value else []


def _nearest(cases: Sequence[Case], payloads: Sequence[str]) -> dict[str, str]:
    """Return, for each payload, that of the cases which is nearest in size; nothing if they do not differ."""
    known = list(dict.fromkeys(each for case in cases for each in own_payloads(case)))
    if len({tuple(own_payloads(case)) for case in cases}) < 2:
        return {}
    try:
        return {each: min(known, key=lambda own: _distance(own, each)) for each in payloads}
    except RefusedValueError:
        return {}  # the check of the whole scenario reports it


def _distance(one: str, other: str) -> tuple[bool, float]:
    """Return how many times larger one frame is than the other, as a logarithm; the same payload is always nearest."""
    sizes = [math.log(HEADER_BYTES + units.payload_bytes(each)) for each in (one, other)]
    return one != other, abs(sizes[0] - sizes[1])
