"""What the studies published, as the files beside this one hold it: figures and claims, a row each."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

Selector = dict[str, Any]
"""Columns and the values a row must have in them: one, one of a list, or with `!` before it any other."""


class Strict(BaseModel):
    """Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Study(Strict):
    """Where figures come from."""

    name: str
    title: str
    source: str
    scenarios: tuple[str, ...]
    """The scenarios that repeat it."""
    hardware: dict[str, str]
    """What the short names in published.csv stand for."""


class Published(Strict):
    """One published figure under its conditions; None where a study does not say or it makes no difference."""

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
    """`name=value name=value`, of the transport."""
    codec: str | None
    hardware: str
    statistic: str
    column: str | None
    """The column of ours that means the same; None where there is none."""
    value: float | None
    unit: str
    note: str | None


class Claim(Strict):
    """What a study says in words, and the test that decides it on our columns.

    The test compares `column` of rows that are `of` with that of rows that are `than`, with another column of the same
    row (`than_column`), or between the values of an axis (`along`, the higher against the lower); without any of these
    it takes the value itself. The ratio, or the value, has to lie between `at_least` and `at_most`. Two rows are
    compared where they are of one run and agree in all conditions but those that the claim names or lets `differ`.
    """

    study: str
    text: str
    said: Literal["text", "figures"]
    """Whether the study says it, or its figures do."""
    reading: str
    """How the words are made a test."""
    column: str = ""
    where: Selector = {}
    of: Selector = {}
    than: Selector | None = None
    than_column: str | None = None
    along: str | None = None
    differ: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """Where rows of different profiles are compared, the settings in which they may differ; all of them if empty."""
    at_least: float | None = None
    at_most: float | None = None
    test: str = ""
    """A named test (see `judging.TESTS`) in place of the above."""

    @model_validator(mode="after")
    def _decidable(self) -> Claim:
        ways = [self.than is not None, self.than_column is not None, self.along is not None]
        if bool(self.test) == bool(self.column) or sum(ways) > 1:
            raise ValueError("a claim has a column and at most one of than, than_column and along, or a named test")
        if self.column and self.at_least is None and self.at_most is None:
            raise ValueError("a claim without at_least and at_most cannot fail")
        return self


@cache
def studies() -> dict[str, Study]:
    """All studies by name."""
    return {name: Study(name=name, **table) for name, table in tomllib.loads(_text("studies.toml")).items()}


@cache
def published() -> tuple[Published, ...]:
    """All published figures, in the studies' order."""
    rows = csv.DictReader(_text("published.csv").splitlines())
    return tuple(Published.model_validate({key: value or None for key, value in row.items()}) for row in rows)


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the studies' order."""
    return tuple(Claim.model_validate(table) for table in tomllib.loads(_text("claims.toml"))["claim"])


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
