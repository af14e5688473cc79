"""Defines the keys of conditions in a scenario and in a workload's flow, with the types that validate their values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from hopmeter.model.condition import Condition
from hopmeter.model.condition_values import OF_FLOWS
from hopmeter.model.conditions import CONDITIONS
from hopmeter.scenario.values import Axis, Codec, Cores, Duration, Language, Payload, WaitOrWaits, Work

FORMS: dict[str, Any] = {
    "language": Language,
    "wait": WaitOrWaits,
    "cores": Cores,
    "payload": Payload,
    "codec": Codec,
    "work": Work,
    "pause": Duration,
}
"""The validated types of text conditions, by `Condition.form`."""


def add_axes(name: str, base: type[BaseModel]) -> type[BaseModel]:
    """Return a model with a key for each condition. Each key accepts one value or a list."""
    keys: dict[str, Any] = {
        each.key: (Axis[_type(each, each.least)] | None, Field(None, description=each.meaning))  # type: ignore[misc]
        for each in CONDITIONS
    }
    return create_model(name, __base__=base, **keys)


def add_flow_keys(name: str, base: type[BaseModel]) -> type[BaseModel]:
    """Return a model with a key for each condition that belongs to a single flow."""
    return create_model(name, __base__=base, **{each.key: _flow_key(each) for each in OF_FLOWS})


def _flow_key(condition: Condition) -> Any:
    default = condition.default if condition.flow_default is ... else condition.flow_default
    kind = _type(condition, condition.least if condition.flow_least is None else condition.flow_least)
    described = Field(default, description=condition.flow_meaning or condition.meaning)
    return (kind | None if default is None else kind), described


def _type(condition: Condition, least: float | None) -> Any:
    if condition.choices:
        return Literal[condition.choices]
    if condition.form:
        return FORMS[condition.form]
    return condition.type if least is None else Annotated[condition.type, Field(ge=least, le=condition.most)]
