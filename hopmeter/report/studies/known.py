"""Published values and claims of studies, read from files in this package."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

Selector = dict[str, Any]
"""The required column values: a single value, a list of allowed values, or `!value` for any other value."""


class Strict(BaseModel):
    """Base class of the models for studies, published values and claims, which reject unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Study(Strict):
    """A published study, with values that hopmeter's scenarios can repeat."""

    name: str
    title: str
    source: str
    scenarios: tuple[str, ...]
    """The scenarios that repeat the study."""
    hardware: dict[str, str]
    """The meanings of the short hardware names in published.csv."""


class Published(Strict):
    """A published value, with the conditions under which it was measured. A condition is None if the study does not
    state the condition or if the condition does not matter."""

    study: str
    transport: str | None
    language: str | None
    pattern: str | None
    placement: str | None
    wait: str | None
    work: str | None
    relays: int | None
    sinks: int | None
    pairs: int | None
    dispatch: str | None
    payload: str | None
    rate_hz: float | None
    settings: str | None
    """The transport settings, as `name=value name=value`."""
    codec: str | None
    hardware: str
    statistic: str
    column: str | None
    """The result column with the same meaning, or None if no column has this meaning."""
    value: float | None
    unit: str
    note: str | None


class Claim(Strict):
    """A statement of a study, and the test that checks the statement against result columns.

    The test takes the value of `column` in the rows that match `of`, and divides this value by a reference value. The
    reference is `column` in the rows that match `than`, another column of the row (`than_column`), or `column` at the
    lower end of an axis (`along`). Without the keys `than`, `than_column` and `along`, the test applies to the value of
    `column` itself. The tested ratio or value must be between `at_least` and `at_most`. Two rows are compared if they
    belong to one run and agree in all conditions except those that the claim names or lists in `differ`.
    """

    study: str
    text: str
    said: Literal["text", "figures"]
    """Whether the statement comes from the study's text or is read from its figures."""
    reading: str
    """How the statement was converted to a test."""
    column: str = ""
    where: Selector = {}
    of: Selector = {}
    than: Selector | None = None
    than_column: str | None = None
    along: str | None = None
    differ: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """The settings that may differ between compared rows. If the list is empty, all settings may differ."""
    at_least: float | None = None
    at_most: float | None = None
    test: str = ""
    """The name of a test in `judging.TESTS`, used instead of `column` and its bounds."""

    @model_validator(mode="after")
    def _check_test(self) -> Claim:
        ways = [self.than is not None, self.than_column is not None, self.along is not None]
        if bool(self.test) == bool(self.column) or sum(ways) > 1:
            raise ValueError(
                "a claim needs either a named test, or a column and at most one of than, than_column and along"
            )
        if self.column and self.at_least is None and self.at_most is None:
            raise ValueError("a claim without at_least and at_most cannot fail")
        return self


@cache
def studies() -> dict[str, Study]:
    """Return all studies by name."""
    return {name: Study(name=name, **table) for name, table in tomllib.loads(_text("studies.toml")).items()}


@cache
def published_values() -> tuple[Published, ...]:
    """Return all published values in file order."""
    rows = csv.DictReader(_text("published.csv").splitlines())
    return tuple(Published.model_validate({key: value or None for key, value in row.items()}) for row in rows)


@cache
def claims() -> tuple[Claim, ...]:
    """Return all claims in file order."""
    return tuple(Claim.model_validate(table) for table in tomllib.loads(_text("claims.toml"))["claim"])


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
