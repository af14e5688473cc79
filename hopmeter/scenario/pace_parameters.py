"""Checks that each pace's parameter is given if and only if the scenario uses the pace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hopmeter.model.paces import PACES

Fault = tuple[str, str]
"""An error code and a description."""
NEEDED = {pace.parameter: name for name, pace in PACES.items() if pace.needs_parameter}
"""The paces that require a parameter, by the parameter's key."""


def missing_parameters(where: str, paces: Sequence[str], keys: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield an error for each parameter that one of the paces requires and `keys` lacks.

    `where` is the key prefix, such as `flow.a.`.
    """
    for key, pace in NEEDED.items():
        if pace in paces and keys.get(key) is None:
            yield "E-MISSING-KEY", f'{where}{key} is missing; the pace "{pace}" needs it, such as {key} = 1000'


def idle_parameters(where: str, paces: Sequence[str], keys: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield an error for each parameter in `keys` that belongs to none of the paces."""
    for key, pace in NEEDED.items():
        if pace not in paces and keys.get(key) is not None:
            yield (
                "E-VALUES-CONFLICT",
                f'{where}{key}: only the pace "{pace}" has it; add pace = "{pace}", or omit {key}',
            )
