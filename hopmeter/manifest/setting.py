"""A setting of a transport: its default, and which values it allows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.choices import Language, Placement, Value, Wait
from hopmeter.manifest.strict import Strict
from hopmeter.system.toml_files import one_of


class Setting(Strict):
    """One setting of a transport: its default, and the other allowed values."""

    default: Value
    help: str
    choices: list[str] | None = None
    min: float | None = None
    max: float | None = None
    languages: list[Language] | None = None
    """The languages in which the setting has an effect; all by default. The next three keys have the same form."""
    waits: list[Wait] | None = None
    patterns: list[Literal["pubsub", "rpc"]] | None = None
    placements: list[Placement] | None = None
    where: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    """Other settings, with those of their values for which this setting has an effect."""

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Setting:
        self.check(self.default)
        return self

    def check(self, value: Value) -> Value:
        """Convert the value to the type of the default. Raises ValueError with the allowed values."""
        value = float(value) if isinstance(self.default, float) and type(value) is int else value
        if type(value) is not type(self.default):
            raise RefusedValueError(
                "E-VALUE-FORM", f"{value!r} is no {_kind(self.default)}; the default is {self.default!r}"
            )
        if self.choices is not None and value not in self.choices:
            raise RefusedValueError("E-VALUE-CHOICE", one_of(value, self.choices))
        if self.min is not None and not isinstance(value, str) and value < self.min:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is below the minimum, {self.min:g}")
        if self.max is not None and not isinstance(value, str) and value > self.max:
            raise RefusedValueError("E-VALUE-RANGE", f"{value} is above the maximum, {self.max:g}")
        return value

    def parse(self, word: str) -> Value:
        """Convert a word of the command line to a value. Raises ValueError with the allowed values."""
        if isinstance(self.default, bool):
            words = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
            if word.lower() not in words:
                raise RefusedValueError("E-VALUE-CHOICE", one_of(word, ["true", "false"]))
            return words[word.lower()]
        try:
            return self.check(type(self.default)(word))
        except ValueError as cause:
            if isinstance(cause, RefusedValueError) and cause.code != "E-VALUE-FORM":
                raise
            raise RefusedValueError("E-VALUE-FORM", f'"{word}" is no {_kind(self.default)}') from cause


def _kind(value: Value) -> str:
    return {"bool": "true or false", "int": "whole number", "float": "number", "str": "word"}[type(value).__name__]
