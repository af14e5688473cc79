"""Selects the case of a scenario for a payload that no case contains: the case with the closest payload in size.

Each case's rate and number of messages suit the size of its payload. A payload that no case contains therefore uses a
single case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hopmeter.errors import RefusedValueError
from hopmeter.model import units
from hopmeter.model.cell_parts import HEADER_BYTES
from hopmeter.system import humanize

Case = dict[str, Any]
KEY = "payload"
LENGTH = {"messages", "duration"}
"""The keys for a trial's length, of which a case may set only one."""
UNITS = {
    "rate": ("rate", " Hz"),
    "messages": ("messages of a trial", ""),
    "duration": ("duration of a trial", ""),
    "warmup": ("messages of the warm-up", ""),
    "trials": ("trials", ""),
}
"""The description and unit of each key that a case may set in addition to its payload."""


def cases_for_payloads(cases: Sequence[Case], payloads: Sequence[str]) -> list[Case]:
    """Return the cases that measure any of the payloads, each limited to the payloads that it measures.

    Return an empty list if all cases have the same payloads, or if a payload is invalid.
    """
    nearest = _nearest(cases, payloads)
    fitting = [{**case, KEY: [each for each in payloads if nearest.get(each) in own_payloads(case)]} for case in cases]
    return [case for case in fitting if case[KEY]]


def payload_notes(table: Mapping[str, Any], payloads: Sequence[str], given: Iterable[str] = ()) -> list[str]:
    """Return a sentence for each payload that no case contains, with the values that the payload takes from the closest
    case.

    Keys that are `given` on the command line are not mentioned.
    """
    cases = [{KEY: table.get(KEY), **case} for case in table.get("case", [])]
    return [
        f"{payload} is measured with {taken} of {own}, the payload of this scenario that is nearest in size"
        for payload, own in _nearest(cases, payloads).items()
        if payload != own and (taken := _case_values([case for case in cases if own in own_payloads(case)], given))
    ]


def _case_values(cases: Sequence[Case], given: Iterable[str]) -> str:
    """Return the values that cases set in addition to their payload, such as `the rate (30 Hz)`.

    Return an empty string if the cases set only their payload.
    """
    left_out = {KEY, *given, *(LENGTH if LENGTH & set(given) else ())}
    values: dict[str, list[Any]] = {}
    for case in cases:
        for key in case.keys() - left_out:
            values.setdefault(key, []).append(case[key])
    ordered = [*(key for key in UNITS if key in values), *(key for key in values if key not in UNITS)]
    return humanize.join([_value_text(key, values[key]) for key in ordered])


def _value_text(key: str, values: Sequence[Any]) -> str:
    name, unit = UNITS.get(key, (f"`{key}`", ""))
    distinct = list(dict.fromkeys(str(value) for value in values))
    return f"the {name} ({humanize.join(distinct, 'or')}{unit})"


def own_payloads(case: Mapping[str, Any]) -> list[str]:
    """Return a case's payloads as a list."""
    value = case.get(KEY)
    return value if isinstance(value, list) else [value] if value else []


def _nearest(cases: Sequence[Case], payloads: Sequence[str]) -> dict[str, str]:
    """Map each given payload to the payload of a case that is closest in size.

    Return an empty dict if all cases have the same payloads.
    """
    known = list(dict.fromkeys(each for case in cases for each in own_payloads(case)))
    if len({tuple(own_payloads(case)) for case in cases}) < 2:
        return {}
    try:
        return {each: min(known, key=lambda own: _distance(own, each)) for each in payloads}
    except RefusedValueError:
        return {}  # the validation of the whole scenario reports the error


def _distance(one: str, other: str) -> tuple[bool, float]:
    """Return a sort key for the difference between two payloads: the log ratio of their frame sizes.

    Payloads that are equal sort first.
    """
    sizes = [math.log(HEADER_BYTES + units.payload_bytes(each)) for each in (one, other)]
    return one != other, abs(sizes[0] - sizes[1])
